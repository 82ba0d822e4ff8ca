"""JUnit: failures, skips and errors by rule and shard, read back by an independent parser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import junitparser
import pytest

from packlint.finding import Severity
from packlint.reporters.junit import render
from packlint.reporters.presentation import Presentation
from tests.reporters.reports import (
    HOSTILE,
    MARKUP,
    clean_report,
    hostile_report,
    known_report,
    large_report,
    mixed_report,
)

SHARD = "packed/train-00000-of-00007.parquet"


def suites_of(report: Any, fail_on: str = "error") -> dict[str, Any]:
    document = junitparser.JUnitXml.fromstring(render(report, Presentation(fail_on=fail_on)).encode())
    return {suite.name: suite for suite in document}


def case_of(suite: Any, code: str) -> Any:
    (case,) = [case for case in suite if case.name.startswith(code)]
    return case


def test_a_suite_per_shard_and_a_case_per_rule() -> None:
    report = mixed_report()
    suites = suites_of(report)
    codes = [rule.code for rule in report.rules if rule.status != "off"]

    assert list(suites) == ["whole data set", *sorted(entry.path for entry in report.inputs)]
    assert [case.name for case in suites.pop("whole data set")] == ["FIL001 padding-waste"]
    for suite in suites.values():
        assert [case.name.split()[0] for case in suite] == [code for code in codes if code != "FIL001"]


def test_nothing_passes_in_a_shard_that_was_not_read() -> None:
    suite = suites_of(mixed_report())["packed/broken.parquet"]

    assert case_of(suite, "SHD001").is_failure
    assert case_of(suite, "TGT001").is_skipped
    assert not any(case.is_passed for case in suite)


def test_errors_fail_and_warnings_do_not() -> None:
    suites = suites_of(mixed_report())
    failed = case_of(suites[SHARD], "TGT001")

    assert [type(r) for r in failed.result] == [junitparser.Failure]
    assert "the loss asks for 9 padding tokens" in failed.result[0].message
    assert "at pack 17, tokens 120:124" in failed.result[0].text
    warned = case_of(suites["whole data set"], "FIL001")
    assert warned.is_passed
    assert "12.5 % of all slots" in warned.system_out


def test_fail_on_moves_the_limit() -> None:
    suites = suites_of(mixed_report(), "warning")

    assert case_of(suites["whole data set"], "FIL001").is_failure


def test_not_checked_is_never_passed() -> None:
    suite = suites_of(mixed_report())[SHARD]

    for code, reason in (("ISO004", "dense_mask: none is stored"), ("BND001", "checked only in part")):
        case = case_of(suite, code)
        assert case.is_skipped
        assert case.result[0].message.startswith(reason)


def test_known_findings_pass_and_are_told() -> None:
    suites = suites_of(known_report())
    known = case_of(suites["packed/train-00005-of-00007.parquet"], "TGT001")

    assert known.is_passed
    assert known.system_out.startswith("error (known): ")
    assert case_of(suites[SHARD], "TGT001").is_failure


def test_internal_errors_are_errors() -> None:
    suite = suites_of(hostile_report())["whole data set"]
    case = case_of(suite, "internal error 1")

    assert [type(r) for r in case.result] == [junitparser.Error]


def test_a_rule_that_raised_passes_nowhere() -> None:
    report = replace(clean_report(), internal_errors=("TGT001 raised KeyError on a.parquet: 1",))

    assert case_of(suites_of(report)["a.parquet"], "TGT001").is_skipped


@pytest.mark.parametrize("report", [clean_report(), mixed_report(), known_report(), hostile_report()])
def test_totals_are_those_of_the_cases(report: Any) -> None:
    root = ElementTree.fromstring(render(report, Presentation()))
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}

    for element in (root, *root.iter("testsuite")):
        for name, tag in tags.items():
            assert int(element.attrib[name]) == len(list(element.iter(tag))), name


@pytest.mark.parametrize("text", [HOSTILE, MARKUP])
def test_hostile_strings_stay_text(text: str) -> None:
    root = ElementTree.fromstring(render(hostile_report(text), Presentation()).encode())
    tags = {element.tag for element in root.iter()}

    assert tags == {"testsuites", "testsuite", "testcase", "failure", "skipped", "error"}
    failure = next(root.iter("failure"))
    expected = r"a\x1b[31mred" if text is HOSTILE else "<script>alert(1)</script>"
    assert expected in failure.attrib["message"]


def test_100_000_findings_are_bounded_and_none_is_lost() -> None:
    report = large_report(10, 10_000)
    text = render(report, Presentation())
    root = ElementTree.fromstring(text)
    names = [suite.attrib["name"] for suite in root.iter("testsuite")]

    assert len(list(root.iter("testcase"))) <= 51_000
    assert len(text) < 30_000_000
    assert names[-1] == "5,001 more shards"
    assert len(names) == 4_999 + 1
    last = list(root.iter("testsuite"))[-1]
    assert "and 4,981 more findings" in "".join(last.itertext())


def test_faulty_shards_keep_a_suite_of_their_own() -> None:
    report = large_report(10, 6_000)
    faulty = tuple(f for f in report.findings if f.shard.endswith("05999.parquet"))
    suites = suites_of(replace(report, findings=faulty))

    assert faulty[0].severity is Severity.ERROR
    assert suites["packed/part-5/train-00005999.parquet"].failures == 10
