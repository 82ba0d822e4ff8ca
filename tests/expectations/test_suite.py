"""Suites in JSON: what is wrong with one is told before a scan, all at once, and without the package."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from packlint.errors import ConfigError
from packlint.expectations.suite import TAIL_WEIGHT_HOLDOUT, load_suite, parse_suite
from packlint.finding import Severity
from tests.expectations.builds import TEAM_SUITE, entry, suite_of

KL = "column_kl_divergence_to_be_less_than"


def refusal(table: object) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_suite(table, "suite.json")
    return str(caught.value)


def refused(*entries: object) -> str:
    return refusal({"name": "team", "expectations": list(entries)})


def test_a_suite_is_read_in_its_order() -> None:
    suite = parse_suite(TEAM_SUITE, "suite.json")

    assert [e.number for e in suite.expectations] == list(range(10))
    assert [e.type for e in suite.expectations] == [e["type"] for e in TEAM_SUITE["expectations"]]
    assert [e.severity for e in suite.of("packs")] == [
        Severity.WARNING,
        Severity.ERROR,
        Severity.ERROR,
        Severity.WARNING,
    ]


def test_a_suite_that_great_expectations_wrote_itself_is_read() -> None:
    written = {
        "name": "team",
        "expectations": [
            {
                **entry("column_to_exist", "packs", column="pack"),
                "id": "1",
                "rendered_content": [],
                "notes": "n",
            }
        ],
        "id": "2",
        "meta": {"great_expectations_version": "1.24.1"},
        "notes": None,
        "suite_parameters": {},
    }

    assert parse_suite(written, "suite.json").expectations[0].texts == {"notes": "n"}


def test_an_unknown_type_is_refused_with_what_may_be_meant() -> None:
    message = refused(entry("column_values_to_be_within_set", "packs", column="pack", value_set=[1]))

    assert message.startswith(
        "suite.json: expectation 0: unknown type expect_column_values_to_be_within_set;"
    )
    assert "did you mean expect_column_values_to_be_in_set" in message


def test_all_faults_are_told_at_once() -> None:
    message = refusal(
        {
            "name": "",
            "expectations": [
                entry("nonsense", "packs"),
                3,
                {**entry("column_to_exist", "rows"), "kwarg": {}},
            ],
            "expectation": [],
        }
    )

    for part in (
        "unknown key expectation; did you mean expectations",
        '"name" must be a text',
        "expectation 0: unknown type expect_nonsense",
        "expectation 1: must be an object",
        "expectation 2: unknown key kwarg; did you mean kwargs",
        "expectation 2: meta table = 'rows'; allowed are packs, samples",
    ):
        assert part in message


@pytest.mark.parametrize(
    ("kwargs", "table"),
    [
        ({"column": "padding_fraction"}, "packs"),
        ({"column": "is_first"}, "samples"),
        ({"column_A": "n_tokens", "column_B": "n_segments"}, "packs"),
        ({"column_list": ["pack", "segment"]}, "samples"),
        ({"column_list": ["domain", "segment"]}, "samples"),
    ],
)
def test_a_table_follows_from_columns_that_only_one_has(kwargs: dict[str, Any], table: str) -> None:
    (expectation,) = suite_of(entry("column_to_exist", **kwargs)).expectations

    assert expectation.table == table


@pytest.mark.parametrize("kwargs", [{"column": "n_tokens"}, {"column": "domain"}, {"min_value": 1}])
def test_a_table_that_may_be_either_must_be_told(kwargs: dict[str, Any]) -> None:
    assert 'may be of either table; say which: "meta": {"table": "packs"}' in refused(
        entry("column_to_exist", **kwargs)
    )


def test_columns_of_two_tables_are_no_expectation() -> None:
    message = refused(entry("column_pair_values_to_be_equal", column_A="segment", column_B="n_segments"))

    assert "no table has all of segment, n_segments" in message


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ([], "no suite"),
        ({"name": "team"}, "no suite"),
        ({"name": "team", "expectations": []}, "it would pass on any data"),
        ({"expectation_suite_name": "old", "expectations": []}, "Great Expectations 0.x"),
        (
            {"name": "old", "expectations": [{"expectation_type": "expect_column_to_exist"}]},
            "Great Expectations 0.x",
        ),
        (
            {"name": "team", "expectations": [{**entry("column_to_exist"), "severity": "bad"}]},
            "severity = 'bad'",
        ),
        ({"name": "team", "expectations": [{"kwargs": {}}]}, '"type" must be a text'),
        (
            {"name": "team", "expectations": [{"type": "expect_column_to_exist", "kwargs": 1}]},
            '"kwargs" must be',
        ),
        ({"name": "team", "expectations": [{"type": "expect_column_to_exist", "meta": 1}]}, '"meta" must be'),
    ],
)
def test_what_is_no_suite(table: object, part: str) -> None:
    assert part in refusal(table)


@pytest.mark.parametrize(("text", "part"), [("{", "not valid JSON"), ("[" * 100_000, "not valid JSON")])
def test_what_is_no_json(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "suite.json"
    path.write_text(text)

    with pytest.raises(ConfigError, match=part):
        load_suite(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_suite(tmp_path / "none.json")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(TEAM_SUITE))

    assert load_suite(path).name == "team"
    assert load_suite(path).source == "suite.json"


@pytest.mark.parametrize(
    ("kwargs", "supplied"),
    [
        ({"partition_object": {"values": ["a"], "weights": [1.0]}}, True),
        ({"partition_object": {"bins": [0, 1], "weights": [1.0]}}, True),
        ({"partition_object": {"values": ["a"], "weights": [1.0]}, "tail_weight_holdout": 0}, False),
        ({"partition_object": {"bins": [0, 1], "weights": [1.0], "tail_weights": [0, 0]}}, False),
        ({"partition_object": {"bins": [-math.inf, 0, math.inf], "weights": [0.5, 0.5]}}, False),
        ({}, False),
    ],
)
def test_a_divergence_gets_weight_for_what_no_one_has_seen(kwargs: dict[str, Any], supplied: bool) -> None:
    (expectation,) = suite_of(entry(KL, "samples", column="domain", threshold=0.1, **kwargs)).expectations

    assert (expectation.kwargs.get("tail_weight_holdout") == TAIL_WEIGHT_HOLDOUT) is supplied
    assert bool(expectation.supplied) is supplied
