"""LITPKDS chunks: the TinyLlama sample, a writer, filling, and damage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.readers.litpkds import LitpkdsReader
from packlint.readers.shard import PaddingMark, Role, Settings
from packlint.readers.source import Source
from tests.readers.stream_checks import (
    SAMPLES,
    chained,
    open_one,
    read,
    reference,
    survives_damage,
    tokens_of,
)

READER = LitpkdsReader()
CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def write(path: Path, tokens: list[int], dtype: str = "uint16", declared: int | None = None) -> Path:
    n_tokens = len(tokens) if declared is None else declared
    head = b"LITPKDS" + struct.pack("<QBQ", 1, CODES[dtype], n_tokens)
    path.write_bytes(head + np.array(tokens, dtype).tobytes())
    return path


def small_file(folder: Path) -> list[Path]:
    return [write(folder / "train_0000000000.bin", [5, 6, 2, 7, 2] + [1] * 20)]


def test_sample() -> None:
    folder = SAMPLES / "tinyllama_litpkds"
    shards = [open_one(READER, path, Settings(eos_ids=(2,))) for path in sorted(folder.glob("*.bin"))]
    assert [len(chained(tokens_of(shard))) for shard in shards] == [198] * 3
    stream = [token for shard in shards for token in chained(tokens_of(shard))]
    assert stream == chained(reference()) + [1] * 94
    assert [shard.spec.pad_id and shard.spec.pad_id.value for shard in shards] == [None, None, 1]
    assert {shard.layout.padding for shard in shards} == {PaddingMark.UNKNOWN}
    assert {shard.layout.trainer for shard in shards} == {"litgpt"}


@settings(deadline=None)
@given(
    tokens=st.lists(st.integers(0, 120), max_size=40),
    dtype=st.sampled_from(sorted(CODES)),
    window=st.none() | st.integers(1, 9),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[int], dtype: str, window: int | None
) -> None:
    path = write(tmp_path_factory.mktemp("set") / "toy.bin", tokens, dtype)
    shard = open_one(READER, path, Settings(max_seq_len=window))
    rows = tokens_of(shard)
    assert chained(rows) == tokens
    if window:
        assert {len(row) for row in rows[:-1]} <= {window + 1}
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == dtype


@pytest.mark.parametrize(
    ("offset", "fmt", "value", "message"),
    [(7, "<Q", 2, "version 2"), (15, "<B", 6, "dtype code 6"), (15, "<B", 9, "dtype code 9")],
)
def test_hostile_fields(tmp_path: Path, offset: int, fmt: str, value: int, message: str) -> None:
    [path] = small_file(tmp_path)
    data = bytearray(path.read_bytes())
    struct.pack_into(fmt, data, offset, value)
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match=message):
        open_one(READER, path)


@pytest.mark.parametrize(("declared", "code"), [((1 << 64) - 1, "SHD001"), (2, "MAN003")])
def test_a_wrong_count_costs_nothing(tmp_path: Path, declared: int, code: str) -> None:
    path = write(tmp_path / "toy.bin", [5, 6, 7], declared=declared)
    _, columns, [fault] = read(open_one(READER, path))
    assert chained(columns[Role.INPUT_IDS]) == [5, 6, 7][:declared]
    assert fault.code == code


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    survives_damage(
        files, lambda: READER.open(Source(str(files[0])), "toy", Settings(eos_ids=(2,))), n_flips=1500
    )
