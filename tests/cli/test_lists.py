"""`packlint formats`, `packlint trainers`, `packlint demo`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from packlint.readers.discover import load_readers
from packlint.trainers import CONTRACTS
from tests.cli.conftest import Run


def test_formats_lists_every_reader(run: Run) -> None:
    out = run("formats").out

    for reader in load_readers():
        assert f"\n{reader.format} " in f"\n{out}"


def test_trainers_lists_every_contract(run: Run) -> None:
    lines = run("trainers").out.splitlines()

    assert all(any(line.split(" ")[0] == name for line in lines) for name in CONTRACTS)


@pytest.mark.parametrize("width", [60, 100, 200])
def test_trainers_fit(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))

    assert max(map(len, run("trainers").out.splitlines())) <= width


def test_one_trainer_in_full(run: Run) -> None:
    out = run("trainers", "TRL").out

    assert out.startswith("trl\n")
    assert "isolates_by" in out
    assert "huggingface/trl" in out


def test_trainers_as_json(run: Run) -> None:
    everything = json.loads(run("trainers", "--format", "json").out)

    assert [table["name"] for table in everything] == sorted(CONTRACTS)
    assert json.loads(run("trainers", "trl", "--format", "json").out)["isolates_by"] == ["seq_lens"]


def test_demo_shows_its_faults_and_exits_0(run: Run) -> None:
    result = run("demo")

    assert result.code == 0
    for code in ("ISO001", "TGT010", "TGT008", "SMP007"):
        assert code in result.out
    assert "would have exited with 1" in result.out


def test_demo_keeps_its_data(run: Run, tmp_path: Path) -> None:
    result = run("demo", "--keep", tmp_path / "kept")
    shown = next(line.split() for line in result.out.splitlines() if line.startswith("  packlint show "))

    assert result.code == 0
    assert run(*shown[1:]).code == 0


def test_demo_is_the_same_every_time(run: Run, tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        run("demo", "--keep", tmp_path / name)
        texts.append(
            {p.relative_to(tmp_path / name): p.read_bytes() for p in (tmp_path / name).rglob("*.parquet")}
        )

    assert texts[0] == texts[1]


def test_demo_does_not_write_into_a_full_folder(run: Run, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")

    assert run("demo", "--keep", tmp_path).code == 2
