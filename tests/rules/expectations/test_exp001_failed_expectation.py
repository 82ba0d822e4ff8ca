"""EXP001: raised where a suite is validated; here, that the rule explains what is reported."""

from __future__ import annotations

from packlint.expectations import findings
from packlint.rule import documentation
from packlint.summaries.columns import COLUMNS
from packlint_rules.expectations.exp001_failed_expectation import FailedExpectation


def test_code_and_name_are_those_of_the_findings() -> None:
    assert (FailedExpectation.meta.code, FailedExpectation.meta.name) == (findings.CODE, findings.NAME)


def test_the_page_names_every_column() -> None:
    page = documentation(FailedExpectation)["What it checks"]

    assert [name for columns in COLUMNS.values() for name in columns if name not in page] == []
