"""Suites on real tables: the traps of Great Expectations that would turn a failure into silence, or noise."""

from __future__ import annotations

import json
import logging
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from packlint.errors import UsageError
from packlint.expectations import TablesWanted, judge_expectations
from packlint.expectations import suite as suites
from packlint.expectations.gx import known_types, load, preload, quiet_context
from packlint.expectations.suite import Suite, parse_suite
from packlint.expectations.tables import to_frame
from packlint.expectations.validate import MAX_UNEXPECTED, FailedExpectation, validate
from packlint.finding import Finding, Severity
from packlint.summaries.columns import Values
from packlint.summaries.tables import TableRows
from packlint.testing import make_batches
from tests.expectations.builds import SHARDS, TEAM_SUITE, build, entry, suite_of, tables_of


@pytest.fixture(scope="module", autouse=True)
def _gx() -> None:
    """Import the package once, as a run does: in a thread; warnings are errors here."""
    preload().join()


@pytest.fixture(scope="module")
def rows() -> TableRows:
    return build()


@pytest.fixture(scope="module")
def failed(rows: TableRows) -> dict[int, FailedExpectation]:
    found = validate(tables_of(rows), parse_suite(TEAM_SUITE, "suite.json"))
    return {one.expectation.number: one for one in found}


@pytest.fixture(scope="module")
def findings(rows: TableRows) -> tuple[Finding, ...]:
    return judge_expectations(rows, parse_suite(TEAM_SUITE, "suite.json"), SHARDS)


def refusal(rows: TableRows, suite: Suite) -> str:
    with pytest.raises(UsageError) as caught:
        validate(tables_of(rows), suite)
    return str(caught.value)


def domains(rows: TableRows) -> list[str | None]:
    column: Any = tables_of(rows)["samples"].columns()["domain"]
    return [column.names[code] if code >= 0 else None for code in column.codes]


def test_failures_come_in_the_order_of_the_suite(failed: dict[int, FailedExpectation]) -> None:
    assert [*failed] == [0, 1, 3, 4, 5, 7, 8, 9]


def test_rows_are_counted_and_kept(rows: TableRows, failed: dict[int, FailedExpectation]) -> None:
    one = failed[0]
    values = domains(rows)

    assert one.n_unexpected == values.count("wiki") > 0
    assert one.n_missing == values.count(None) > 0
    assert one.n_rows == len(values) - values.count(None)
    assert {*one.unexpected} == {"wiki"}
    wrong = [place for place, value in enumerate(values) if value == "wiki"]
    columns = tables_of(rows)["samples"].columns()
    for row, place in zip(one.rows, wrong, strict=False):
        told = {"pack": row.pack, "segment": row.segment, "start": row.start, "n_tokens": row.n_tokens}
        for name, value in told.items():
            column = columns[name]
            assert isinstance(column, Values)
            assert column.values[place] == value
    assert one.rows


def test_unexpected_values_are_capped_and_counts_are_not() -> None:
    rows = build(n_packs=120)
    suite = suite_of(entry("column_values_to_be_between", "samples", column="start", max_value=-1))

    (one,) = validate(tables_of(rows), suite)

    assert one.n_unexpected == tables_of(rows)["samples"].n_rows > MAX_UNEXPECTED
    assert len(one.rows) == len(one.unexpected) == MAX_UNEXPECTED


def test_answers_are_plain_data(failed: dict[int, FailedExpectation]) -> None:
    for one in failed.values():
        json.dumps([one.observed, one.unexpected, dict(one.details), [row.values for row in one.rows]])


def test_a_new_category_makes_no_infinite_divergence(failed: dict[int, FailedExpectation]) -> None:
    assert 0.1 < failed[5].observed < 10
    assert failed[5].expectation.supplied


def test_a_divergence_that_the_suite_lets_be_infinite_is_said_to_be(rows: TableRows) -> None:
    suite = suite_of(
        entry(
            "column_kl_divergence_to_be_less_than",
            "samples",
            column="domain",
            partition_object={"values": ["code"], "weights": [1.0]},
            threshold=0.1,
            tail_weight_holdout=0,
        )
    )

    (finding,) = judge_expectations(rows, suite, SHARDS)

    assert "divergence is infinite: code " in finding.message
    assert "web " in finding.message


def test_an_unknown_type_is_refused_even_if_the_first_look_missed_it(
    rows: TableRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suites, "known_types", frozenset)
    suite = suite_of(
        entry("column_to_exist", "packs", column="pack"),
        entry("nonsense", "packs"),
        entry("rubbish", "packs"),
    )

    message = refusal(rows, suite)

    assert "expectation 1 (expect_nonsense)" in message
    assert "expectation 2 (expect_rubbish)" in message


def test_known_types_are_those_of_the_package() -> None:
    from great_expectations.expectations.registry import list_registered_expectation_implementations

    assert {*list_registered_expectation_implementations()} <= known_types()


def test_wrong_arguments_are_refused_all_at_once(rows: TableRows) -> None:
    message = refusal(
        rows,
        suite_of(
            entry("column_values_to_be_between", "packs", column="pack", maximum=3),
            entry("column_values_to_be_in_set", "packs", column="pack"),
        ),
    )

    assert (
        "expectation 0 (expect_column_values_to_be_between): maximum: extra fields not permitted" in message
    )
    assert "expectation 1 (expect_column_values_to_be_in_set): value_set: field required" in message


@pytest.mark.parametrize(
    "one",
    [
        entry("column_values_to_not_be_null", "samples", column="language"),
        entry("column_mean_to_be_between", "samples", column="language", min_value=1),
        entry("column_pair_values_to_be_equal", "samples", column_A="pack", column_B="language"),
        entry("compound_columns_to_be_unique", "samples", column_list=["pack", "language"]),
    ],
)
def test_a_missing_column_is_no_finding(rows: TableRows, one: dict[str, Any]) -> None:
    message = refusal(rows, suite_of(one))

    assert "the table samples has no column language: no input has it" in message
    assert "; it has shard, pack, segment," in message


def test_a_column_that_nothing_is_known_of_says_why() -> None:
    (batch,) = make_batches({"input_ids": [[11, 12]]})
    suite = suite_of(entry("column_max_to_be_between", column="padding_fraction", max_value=0.1))

    assert "has no column padding_fraction: nothing tells padding" in refusal(TableRows.of(batch), suite)


def test_a_missing_column_of_a_condition_is_no_finding(rows: TableRows) -> None:
    condition = {"row_condition": "language == 'de'", "condition_parser": "pandas"}
    suite = suite_of(entry("column_values_to_be_between", "samples", column="pack", min_value=0, **condition))

    assert "expectation 0 (expect_column_values_to_be_between): name 'language'" in refusal(rows, suite)


def test_conditions_of_rows_are_kept(rows: TableRows) -> None:
    condition = {"row_condition": "domain == 'wiki'", "condition_parser": "pandas"}
    suite = suite_of(
        entry("column_values_to_be_between", "samples", column="pack", max_value=-1, **condition)
    )

    (one,) = validate(tables_of(rows), suite)

    assert one.n_unexpected == domains(rows).count("wiki")
    wrong = [place for place, value in enumerate(domains(rows)) if value == "wiki"]
    packs: Any = tables_of(rows)["samples"].columns()["pack"]
    assert [row.pack for row in one.rows] == packs.values[wrong].tolist()[: len(one.rows)]


def test_what_needs_a_database_is_refused(rows: TableRows) -> None:
    suite = parse_suite(
        {
            "name": "team",
            "expectations": [
                {
                    "type": "unexpected_rows_expectation",
                    "kwargs": {"unexpected_rows_query": "SELECT * FROM {batch}"},
                    "meta": {"table": "packs"},
                }
            ],
        },
        "suite.json",
    )

    assert "No provider found" in refusal(rows, suite)


def test_nothing_to_look_at_is_not_passed() -> None:
    suite = suite_of(entry("column_values_to_be_between", "packs", column="pack", min_value=0))
    (samples,) = make_batches({"input_ids": [[11, 12]], "layout": {"unit": "sample"}})

    assert "the table packs has no rows" in refusal(TableRows(), suite)
    assert "rows of the inputs are samples, not packs" in refusal(TableRows.of(samples), suite)


def test_a_column_without_values_in_the_rows_asked_for_is_not_passed(rows: TableRows) -> None:
    condition = {"row_condition": "domain.isna()", "condition_parser": "pandas"}
    suite = suite_of(
        entry("column_values_to_be_in_set", "samples", column="domain", value_set=["web"], **condition)
    )

    assert "domain has no value in the table samples" in refusal(rows, suite)


def test_the_same_expectation_twice_is_two(rows: TableRows) -> None:
    one = entry("column_max_to_be_between", column="longest_segment", max_value=1)

    assert [f.expectation.number for f in validate(tables_of(rows), suite_of(one, one))] == [0, 1]


def test_parameters_of_a_suite(rows: TableRows) -> None:
    table = {
        "name": "team",
        "expectations": [
            entry("column_max_to_be_between", column="longest_segment", max_value={"$PARAMETER": "most"})
        ],
    }

    (one,) = validate(tables_of(rows), parse_suite({**table, "suite_parameters": {"most": 1}}, "suite.json"))
    assert one.observed > 1
    assert "most" in refusal(rows, parse_suite(table, "suite.json"))


def test_findings_show_what_was_observed(findings: tuple[Finding, ...]) -> None:
    assert {(f.code, f.name, f.shard) for f in findings} == {("EXP001", "failed-expectation", "")}
    words = (
        "rows are unexpected",
        "observed 0.",
        "quantile 0.5 is",
        "no column language",
        "divergence is",
        "observed 40",
        "unexpected: web, wiki and missing: law",
        "observed 12",
    )
    for finding, part in zip(findings, words, strict=True):
        assert part in finding.message
        assert "\n" not in finding.message
        assert not finding.message.endswith(".")
        assert all(isinstance(value, int | float | str) for value in finding.measured.values())


def test_severities_are_those_of_the_suite(findings: tuple[Finding, ...]) -> None:
    told = {f.measured["expectation_number"]: f.severity for f in findings}

    assert told[4] is Severity.INFO
    assert told[1] is told[9] is Severity.WARNING
    assert told[0] is told[8] is Severity.ERROR


def test_places_lead_to_packs_and_segments(rows: TableRows, findings: tuple[Finding, ...]) -> None:
    finding = findings[0]

    assert finding.n_hits == finding.n_segments == finding.measured["n_unexpected"]
    assert finding.locations
    for place in finding.locations:
        assert (place.shard, place.note) == (SHARDS[0], "domain = wiki")
        assert place.stop > place.start >= 0


def test_the_process_is_left_as_it_was(
    rows: TableRows, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from great_expectations.data_context.data_context.context_factory import project_manager

    log = logging.getLogger("great_expectations")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other processes use the common one
    before = (warnings.showwarning, list(warnings.filters), log.level)
    with quiet_context() as mine:
        project_manager.set_project(mine)
        validate(tables_of(rows), parse_suite(TEAM_SUITE, "suite.json"))
        assert project_manager.get_current_project() is mine

    assert (warnings.showwarning, list(warnings.filters), log.level) == before
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")
    with pytest.warns(UserWarning, match="still shown"):
        warnings.warn("still shown", stacklevel=1)


def test_preloading_again_does_no_harm() -> None:
    thread = preload()
    thread.join()

    assert isinstance(thread, threading.Thread)
    assert load().__name__ == "great_expectations"


def test_frames_have_no_tokens_and_no_objects(rows: TableRows) -> None:
    for table in tables_of(rows).values():
        kinds = {str(kind) for kind in to_frame(table).dtypes}
        assert kinds <= {"int64", "float64", "bool", "category"}


def test_data_docs_are_built_and_are_the_same_every_time(rows: TableRows, tmp_path: Path) -> None:
    suite = parse_suite(TEAM_SUITE, "suite.json")
    for name in ("one", "other"):
        wanted = TablesWanted(suite=suite, folder=tmp_path / "tables", data_docs=tmp_path / name)
        wanted.begin()
        assert len(wanted.finish(rows, SHARDS)) == 8

    one, other = (
        {
            str(path.relative_to(tmp_path / name)): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "other")
    )
    assert one == other
    pages = {name for name in one if name.endswith(".html")}
    assert "index.html" in pages
    assert len(pages) == 5
    text = one[next(name for name in pages if "validations" in name and "samples" in name)].decode()
    assert "wiki" in text
    assert "logo-long.png?d=" not in text
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"packs.parquet", "samples.parquet"}
