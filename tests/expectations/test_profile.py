"""Suites made of data: it passes them, drifted data does not, and the same data gives the same text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from packlint.errors import UsageError
from packlint.expectations.gx import preload
from packlint.expectations.profile import MAX_CATEGORIES, make_suite, suite_text
from packlint.expectations.suite import Suite, parse_suite
from packlint.expectations.validate import validate
from packlint.summaries.tables import TableRows
from packlint.testing import make_batches
from tests.expectations.builds import build, tables_of


@pytest.fixture(scope="module", autouse=True)
def _gx() -> None:
    preload().join()


def profile(rows: TableRows) -> dict[str, Any]:
    return make_suite(tables_of(rows), "team")


def read(suite: dict[str, Any]) -> Suite:
    return parse_suite(json.loads(suite_text(suite)), "suite.json")


@pytest.mark.parametrize("seed", range(4))
def test_data_passes_the_suite_made_of_it(seed: int) -> None:
    rows = build(seed, n_packs=3 + 20 * seed)

    suite = read(profile(rows))

    assert len(suite.of("packs")) >= 8
    assert len(suite.of("samples")) >= 10
    assert validate(tables_of(rows), suite) == ()


def test_another_draw_of_the_same_data_keeps_its_categories_and_limits() -> None:
    suite = read(profile(build(0, n_packs=300)))

    failed = validate(tables_of(build(1, n_packs=300)), suite)

    assert {f.expectation.type for f in failed} <= {"expect_column_values_to_be_between"}


def test_drift_is_found() -> None:
    suite = read(profile(build(0, n_packs=300)))

    failed = validate(tables_of(build(1, n_packs=300, shares=(0.6, 0.2, 0.2))), suite)

    assert "expect_column_kl_divergence_to_be_less_than" in {f.expectation.type for f in failed}


def test_rows_that_are_samples_give_a_suite_for_samples() -> None:
    (batch,) = make_batches({"input_ids": [[1, 11, 2], [1, 2]], "layout": {"unit": "sample"}})
    rows = TableRows.of(batch)

    suite = read(profile(rows))

    assert suite.of("packs") == ()
    assert validate(tables_of(rows), suite) == ()


def test_the_same_data_gives_the_same_text() -> None:
    rows = build()
    turned = TableRows(rows.packs[::-1], rows.samples[::-1])

    text = suite_text(profile(rows))

    assert suite_text(profile(turned)) == text
    assert json.loads(text) == profile(rows)
    assert text.count("\n") == len(profile(rows)["expectations"]) + 6


def test_every_part_is_asked_for() -> None:
    asked = {
        (e["meta"]["table"], e["type"], e["kwargs"].get("column")) for e in profile(build())["expectations"]
    }

    assert {
        ("packs", "expect_column_mean_to_be_between", "padding_fraction"),
        ("packs", "expect_column_mean_to_be_between", "target_fraction"),
        ("packs", "expect_column_values_to_be_between", "n_tokens"),
        ("samples", "expect_column_quantile_values_to_be_between", "n_tokens"),
        ("samples", "expect_column_quantile_values_to_be_between", "target_fraction"),
        ("samples", "expect_column_to_exist", "domain"),
        ("samples", "expect_column_values_to_not_be_null", "domain"),
        ("samples", "expect_column_values_to_be_in_set", "domain"),
        ("samples", "expect_column_kl_divergence_to_be_less_than", "domain"),
    } <= asked


def test_identities_are_no_categories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packlint.expectations.profile.MAX_CATEGORIES", 2)

    kinds = {e["type"] for e in profile(build())["expectations"] if e["kwargs"].get("column") == "domain"}

    assert kinds == {"expect_column_to_exist", "expect_column_values_to_not_be_null"}
    assert MAX_CATEGORIES > 2


def test_no_samples_give_no_suite() -> None:
    with pytest.raises(UsageError, match="no samples"):
        profile(TableRows())
