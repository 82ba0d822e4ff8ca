"""`packlint show`: one pack, token by token."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture(autouse=True)
def inside(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo)


def test_head_names_shard_pack_and_counts(run: Run) -> None:
    lines = run("show", "trl/train-00000.parquet", "--pack", 2).out.splitlines()

    assert lines[0] == "trl/train-00000.parquet · pack 2 of 24"
    assert "segments · 0 padding · " in lines[1]
    assert lines[2] == "  trainer trl: samples are kept apart by seq_lens"


def test_targets_are_marked_without_color(run: Run) -> None:
    lines = run("show", "trl/train-00000.parquet", "--width", 60).out.splitlines()
    tokens = next(line for line in lines if line.startswith("  │ 1 3 "))
    marks = lines[lines.index(tokens) + 1]

    assert set(marks) == {" ", "│", "▔"}
    assert "1 3" not in "".join(t for t, m in zip(tokens, marks, strict=False) if m == "▔")


def test_every_target_is_marked_once(run: Run, demo: Path) -> None:
    import pyarrow.parquet as pq

    row = pq.read_table(demo / "trl" / "train-00000.parquet").slice(3, 1).to_pylist()[0]
    lines = run("show", "trl/train-00000.parquet", "--pack", 3).out.splitlines()
    marked = [word for line in lines if "▔" in line and line.startswith("  │") for word in line[3:].split()]

    expected = [
        len(str(i)) for i, label in zip(row["input_ids"], row["labels"], strict=True) if label != -100
    ]
    assert [len(word) for word in marked] == expected


def test_padding_is_folded_unless_full(run: Run) -> None:
    folded = run("show", "llama-factory/train.parquet").out
    full = run("show", "llama-factory/train.parquet", "--full").out

    assert "· padding" in folded
    assert " tokens …" in folded
    assert " tokens …" not in full


def test_findings_of_the_pack_are_listed(run: Run) -> None:
    result = run("show", "llama-factory/train.parquet")

    assert result.code == 0
    assert "ISO001 cross-sample-attention" in result.out
    assert "every token sees all tokens of the pack before it" in result.out


def test_trainer_decides_what_sees_what(run: Run) -> None:
    out = run("show", "llama-factory/train.parquet", "--trainer", "transformers-flattening").out

    assert "samples are kept apart by position_ids" in out


def test_text(run: Run) -> None:
    pytest.importorskip("tokenizers")
    with_text = run("show", "trl/train-00000.parquet", "--tokenizer", "tokenizer").out
    with_ids = run("show", "trl/train-00000.parquet", "--tokenizer", "tokenizer", "--ids").out

    assert "<s> <user>" in with_text
    assert "<s>" not in with_ids


@pytest.mark.parametrize("width", [40, 60, 100, 160])
def test_lines_fit(run: Run, width: int) -> None:
    out = run("show", "trl/train-00000.parquet", "--width", width).out
    drawn = [line for line in out.splitlines() if "│" in line]

    assert drawn
    assert all(len(line) <= width for line in drawn)


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["trl/train-00000.parquet", "--pack", "24"], 2, "it has 24, from 0 to 23"),
        (["trl"], 2, "holds 3 shards"),
        (["nowhere"], 3, "no such file"),
        (["trl/train-00000.parquet", "--text"], 2, "--tokenizer"),
    ],
)
def test_user_errors(run: Run, args: list[str], code: int, said: str) -> None:
    result = run("show", *args)

    assert result.code == code
    assert said in result.err
