"""`packlint expectations`, and the options of `packlint check` that concern tables and suites."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from packlint.cli.tables import tables_wanted
from packlint.errors import ConfigError, UsageError
from packlint.expectations.suite import load_suite
from packlint.reporters import REPORTERS
from tests.cli.conftest import Run

SUITE: dict[str, Any] = {
    "name": "team",
    "expectations": [{"type": "expect_column_to_exist", "kwargs": {"column": "padding_fraction"}}],
}


def test_a_suite_of_packed_data(run: Run, demo: Path, tmp_path: Path) -> None:
    result = run("expectations", demo / "trl", "--name", "team")

    assert result.code == 0
    assert result.err == "packlint: 17 expectations from 72 packs and 342 segments\n"
    (tmp_path / "suite.json").write_text(result.out)
    suite = load_suite(tmp_path / "suite.json")
    assert (suite.name, len(suite.of("packs")), len(suite.of("samples"))) == ("team", 9, 8)


def test_a_suite_of_unpacked_samples(run: Run, tmp_path: Path) -> None:
    lines = [json.dumps({"input_ids": [1, *range(10, 12 + n), 2]}) for n in range(9)]
    (tmp_path / "samples.jsonl").write_text("\n".join(lines) + "\n")

    result = run("expectations", tmp_path / "samples.jsonl")

    assert result.code == 0
    assert len(json.loads(result.out)["expectations"]) >= 6


def test_threads_do_not_show(run: Run, demo: Path) -> None:
    one, two = (run("expectations", demo, "--jobs", jobs, "--quiet") for jobs in (1, 2))

    assert one.out == two.out
    assert one.err == two.err == ""


def test_damaged_data_gives_no_suite(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"input_ids": [1, 2]}\n{"input_ids": [1\n')

    result = run("expectations", tmp_path / "a.jsonl")

    assert (result.code, result.out) == (2, "")
    assert "a suite would be made of a part of the data" in result.err


def test_no_input_is_exit_code_3(run: Run, tmp_path: Path) -> None:
    assert run("expectations", tmp_path / "*.jsonl").code == 3


def test_nothing_is_wanted_by_default() -> None:
    assert tables_wanted(None, None, None) is None


def test_data_docs_need_a_suite(run: Run, demo: Path, tmp_path: Path) -> None:
    result = run("check", demo / "trl", "--data-docs", tmp_path)

    assert result.code == 2
    assert "give --expectations SUITE" in result.err


def test_a_wrong_suite_is_told_before_the_scan(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps({**SUITE, "expectations": [{"type": "expect_nothing"}]}))

    with pytest.raises(ConfigError, match="unknown type expect_nothing"):
        tables_wanted(None, str(tmp_path / "suite.json"), None)


def test_folders_are_made_before_the_scan(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    (tmp_path / "file").write_text("")

    wanted = tables_wanted(str(tmp_path / "a" / "b"), str(tmp_path / "suite.json"), str(tmp_path / "docs"))

    assert wanted is not None
    assert (wanted.folder, wanted.data_docs) == (tmp_path / "a" / "b", tmp_path / "docs")
    assert (tmp_path / "a" / "b").is_dir()
    with pytest.raises(UsageError, match="--tables"):
        tables_wanted(str(tmp_path / "file"), None, None)


def test_failures_are_shown_in_every_format(run: Run, demo: Path, tmp_path: Path) -> None:
    limit = {"column": "longest_segment", "max_value": 5}
    failing = {"type": "expect_column_max_to_be_between", "kwargs": limit, "severity": "warning"}
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({**SUITE, "expectations": [*SUITE["expectations"], failing]}))
    outputs = [part for name in REPORTERS for part in ("--output", f"{name}={tmp_path / name}")]

    result = run(
        "check",
        *(demo / "trl", "--select", "EXP", "--expectations", suite, "--tables", tmp_path / "tables"),
        *outputs,
    )

    assert result.code == 0, result.err
    for name in REPORTERS:
        text = (tmp_path / name).read_text()
        assert "EXP001" in text
        assert "observed 70" in " ".join(text.split()), name
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"packs.parquet", "samples.parquet"}
    (finding,) = json.loads((tmp_path / "json").read_text())["findings"]
    assert (finding["severity"], finding["measured"]["observed"]) == ("warning", 70)


def test_an_expectation_that_cannot_be_judged_is_exit_code_2(run: Run, demo: Path, tmp_path: Path) -> None:
    asks = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "language"}}
    suite = tmp_path / "suite.json"
    suite.write_text(json.dumps({"name": "team", "expectations": [{**asks, "meta": {"table": "samples"}}]}))

    result = run("check", demo / "trl", "--select", "EXP", "--expectations", suite)

    assert result.code == 2
    assert "the table samples has no column language" in result.out + result.err
