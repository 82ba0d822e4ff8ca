"""JSON lines: one finding each, as the JSON form v1 has it."""

from __future__ import annotations

import json

import jsonschema
import pytest

from packlint.report import Report
from packlint.reporters.jsonl import render
from packlint.reporters.presentation import Presentation
from tests.reporters.reports import MARKUP, clean_report, hostile_report, known_report, mixed_report
from tests.reporters.test_schema import SCHEMA

FINDING = jsonschema.Draft202012Validator(
    {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/finding"},
)


@pytest.mark.parametrize(
    "report", [clean_report(), mixed_report(), known_report(), hostile_report(), hostile_report(MARKUP)]
)
def test_lines_are_the_findings_of_the_report(report: Report) -> None:
    lines = [json.loads(line) for line in render(report, Presentation()).splitlines()]

    assert all(line.pop("schema") == "packlint/finding/v1" for line in lines)
    assert lines == json.loads(json.dumps(report.to_dict()["findings"]))
    for line in lines:
        FINDING.validate(line)
