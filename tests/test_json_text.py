"""JSON with an indent: the same text as the standard library's, whatever the data."""

from __future__ import annotations

import json
import math
from enum import IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packlint.finding import BaselineState, Confidence, Finding, Location, Severity
from packlint.json_text import indented
from packlint.report import InputReport, ProfileReport, Report
from tests.reporters.reports import clean_report, hostile_report, known_report, mixed_report


class Word(StrEnum):
    ONE = "one\n"


class Number(IntEnum):
    ONE = 1


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=6)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT
    | st.sampled_from([Word.ONE, Number.ONE, "\n", '",\n "', "]\n}", ""])
)
DATA = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(ANY_TEXT, inner, max_size=4)
    ),
    max_leaves=24,
)
COUNTS = st.integers(0, 1 << 40)
PLACES = st.builds(
    Location,
    shard=ANY_TEXT,
    pack=st.integers(-1, 1 << 40),
    start=COUNTS,
    context=st.lists(COUNTS, max_size=3).map(tuple),
    note=ANY_TEXT,
)
FINDINGS = st.builds(
    Finding,
    code=ANY_TEXT,
    name=ANY_TEXT,
    severity=st.sampled_from(Severity),
    confidence=st.sampled_from(Confidence),
    shard=ANY_TEXT,
    message=ANY_TEXT,
    n_hits=COUNTS,
    measured=st.dictionaries(ANY_TEXT, COUNTS | st.floats() | ANY_TEXT, max_size=3),
    locations=st.lists(PLACES, max_size=3).map(tuple),
    baseline=st.sampled_from(BaselineState),
)
REPORTS = st.builds(
    Report,
    version=ANY_TEXT,
    exit_code=st.integers(0, 2),
    profile=st.builds(ProfileReport, name=ANY_TEXT, source=ANY_TEXT, why=ANY_TEXT),
    inputs=st.lists(
        st.builds(
            InputReport, path=ANY_TEXT, format=ANY_TEXT, evidence=st.lists(ANY_TEXT, max_size=2).map(tuple)
        ),
        max_size=3,
    ).map(tuple),
    findings=st.lists(FINDINGS, max_size=4).map(tuple),
    measures=st.dictionaries(ANY_TEXT, COUNTS | st.floats(), max_size=3),
    internal_errors=st.lists(ANY_TEXT, max_size=2).map(tuple),
)


def standard(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)


@given(DATA)
def test_any_data_have_the_text_of_the_standard_library(value: Any) -> None:
    assert indented(value) == standard(value)


@given(REPORTS)
def test_any_report_has_the_text_of_the_standard_library(report: Report) -> None:
    assert report.to_json() == standard(report.to_dict()) + "\n"


def test_reports_of_the_reporters_too() -> None:
    for report in (clean_report(), mixed_report(), known_report(), hostile_report()):
        assert report.to_json() == standard(report.to_dict()) + "\n"


@pytest.mark.parametrize("value", [{}, [], (), {"a": {}}, [[]], [{}, []], {"a": [], "b": 1}, "a", 1, None])
def test_empty_and_single(value: object) -> None:
    assert indented(value) == standard(value)


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": {"b": -math.inf}}])
def test_no_json_has_nan(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        indented(value)


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="set is not JSON serializable"):
        indented({"a": {1}})
