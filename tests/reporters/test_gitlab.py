"""GitLab code quality: the fields it needs, each fingerprint once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from packlint.reporters.gitlab import render
from packlint.reporters.presentation import Presentation
from tests.reporters.reports import MARKUP, clean_report, hostile_report, large_report, mixed_report


def issues_of(report: Any) -> list[dict[str, Any]]:
    issues: list[dict[str, Any]] = json.loads(render(report, Presentation()))
    return issues


@pytest.mark.parametrize("report", [clean_report(), mixed_report(), hostile_report(), hostile_report(MARKUP)])
def test_fields(report: Any) -> None:
    for issue in issues_of(report):
        assert {*issue} == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert issue["location"]["path"]
        assert issue["location"]["lines"] == {"begin": 1}


def test_issues() -> None:
    issues = issues_of(mixed_report())

    assert [issue["severity"] for issue in issues] == ["major"] * 7 + ["minor"]
    assert issues[-1]["description"].startswith("FIL001 padding-waste: 12.5 % of all slots")


def test_every_fingerprint_once() -> None:
    report = mixed_report()
    report = replace(report, findings=(*report.findings, replace(report.findings[-1], message="more")))
    names = [issue["fingerprint"] for issue in issues_of(report)]

    assert len(set(names)) == len(names) == 8


def test_internal_errors_block() -> None:
    assert issues_of(hostile_report())[0]["severity"] == "blocker"


def test_100_000_findings_are_bounded() -> None:
    issues = issues_of(large_report(10, 10_000))

    assert len(issues) == 10
    assert "in 10,000 shards, for instance packed/part-0/train-00000006.parquet: " in issues[0]["description"]
