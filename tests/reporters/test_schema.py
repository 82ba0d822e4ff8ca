"""The JSON form against its schema."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from packlint import check
from packlint.report import Report
from packlint.reporters import render
from packlint.reporters.presentation import Presentation
from tests.reporters.reports import clean_report, hostile_report, known_report, mixed_report

SCHEMA: dict[str, Any] = json.loads(
    (files("packlint.reporters") / "schema" / "report-v1.json").read_text("utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def real_report() -> Report:
    rows = [[1, 11, 12, 2, 1, 21, 2], [1, 31, 2, 1, 41, 42, 2]]
    packs = {"input_ids": rows, "labels": rows, "seq_lens": [[4, 3], [3, 4]]}
    return check(packs, trainer="torchtune", spec={"vocab_size": 40})


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "make", [clean_report, mixed_report, known_report, real_report], ids=lambda make: make.__name__
)
def test_reports_validate(make: Any) -> None:
    report = make()

    VALIDATOR.validate(report.to_dict())
    VALIDATOR.validate(json.loads(render("json", report, Presentation())))


def test_hostile_strings_stay_json() -> None:
    text = render("json", hostile_report(), Presentation())

    VALIDATOR.validate(json.loads(text))


def objects(node: Any) -> Any:
    if isinstance(node, dict):
        if node.get("type") == "object":
            yield node
        for value in node.values():
            yield from objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from objects(value)


def test_schema_is_strict_and_described() -> None:
    for node in objects(SCHEMA):
        assert "additionalProperties" in node, node
        assert set(node.get("required", [])) == set(node.get("properties", {})), node
        for name, entry in node.get("properties", {}).items():
            assert "description" in entry or "$ref" in entry, name


@pytest.mark.parametrize("change", [{"verdict": "fine"}, {"extra": 1}, {"exit_code": 3}])
def test_schema_refuses(change: dict[str, Any]) -> None:
    assert not VALIDATOR.is_valid({**mixed_report().to_dict(), **change})
