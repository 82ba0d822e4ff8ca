"""`packlint drift`: which rules run, what it needs, what it saves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packlint.config import RunConfig
from packlint.report import Report
from packlint.summaries.composition import Composition
from packlint.summaries.composition_file import read_composition
from tests.cli.conftest import Run
from tests.reporters.reports import clean_report


@pytest.fixture
def build(tmp_path: Path) -> tuple[Path, Path]:
    """Return packs and their samples: two samples a pack, ids unlike each other."""
    rng = np.random.default_rng(0)
    samples = [rng.integers(10, 9000, 40).tolist() for _ in range(200)]
    packs = [a + b for a, b in zip(samples[::2], samples[1::2], strict=True)]
    packed = pa.table({"input_ids": packs, "seq_lengths": [[40, 40]] * 100})
    reference = pa.table({"input_ids": samples, "domain": ["web", "code"] * 100})
    pq.write_table(packed, tmp_path / "packed.parquet")
    pq.write_table(reference, tmp_path / "samples.parquet")
    return tmp_path / "packed.parquet", tmp_path / "samples.parquet"


def test_the_same_data_is_clean(run: Run, build: tuple[Path, Path]) -> None:
    packed, samples = build
    result = run("drift", packed, "--reference", samples, "--by", "domain", "--trainer", "trl", "--eos-id", 2)

    assert result.code == 0
    assert "Drift" in result.out
    assert "TGT001" not in result.out


def test_something_to_compare_with_is_needed(run: Run, build: tuple[Path, Path]) -> None:
    result = run("drift", build[0])

    assert result.code == 2
    assert "--reference" in result.err


class Session:
    """Stand in for the session: keep what it was asked for, and hand over a composition."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}

    def __call__(self, paths: tuple[str, ...], config: RunConfig, **asked: Any) -> Report:
        self.asked = {**asked, "paths": paths, "config": config}
        if "on_composition" in asked:
            composition = Composition()
            composition.add_samples(np.array([3, 4]))
            asked["on_composition"](composition)
        return replace(clean_report(), inputs=())


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    """Return the stand-in."""
    stand_in = Session()
    monkeypatch.setattr("packlint.session.check_paths", stand_in)
    return stand_in


def test_rules_that_compare_unless_others_are_chosen(run: Run, session: Session) -> None:
    run("drift", "a", "--reference", "b")
    families = session.asked["config"].select

    assert {"DRF", "SHD"} <= set(families) <= {"DRF", "SMP", "ORD", "SHD"}
    run("drift", "a", "--reference", "b", "--select", "drf001")
    assert session.asked["config"].select == ("DRF001",)


def test_references_and_columns_reach_the_session(run: Run, session: Session) -> None:
    for command in ("drift", "check"):
        run(
            command,
            "a",
            "--reference",
            "b",
            "--reference",
            "c/*.parquet",
            "--by",
            "domain, language",
            "--by",
            "x",
        )

        assert session.asked["config"].reference == ("b", "c/*.parquet")
        assert session.asked["config"].by == ("domain", "language", "x")
        assert "on_composition" not in session.asked


def test_the_configuration_may_name_the_reference(
    run: Run, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "packlint.toml").write_text('reference = ["samples.jsonl"]\nby = ["domain"]\n')

    assert run("drift", "a").code == 0
    assert session.asked["config"].reference == (str(tmp_path / "samples.jsonl"),)
    assert session.asked["config"].by == ("domain",)


def test_what_packs_are_made_of_is_saved(run: Run, session: Session, tmp_path: Path) -> None:
    file = tmp_path / "summary.json"

    assert run("drift", "a", "--save-summary", file).code == 0
    assert read_composition(file).n_tokens == 7


@pytest.mark.parametrize("file", ["none/summary.json", "."])
def test_a_summary_that_cannot_be_written_is_told_before_the_scan(
    run: Run, session: Session, tmp_path: Path, file: str
) -> None:
    result = run("drift", "a", "--save-summary", tmp_path / file)

    assert result.code == 2
    assert "--save-summary" in result.err
    assert session.asked == {}
