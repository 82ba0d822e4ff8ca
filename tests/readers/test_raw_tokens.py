"""Headerless files of tokens: the nanoGPT sample, a writer, and what must be told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.readers.discover import open_shards
from packlint.readers.raw_tokens import RawTokensReader
from packlint.readers.shard import Role, Settings
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

READER = RawTokensReader()
TOLD = Settings(token_dtype="uint16", eos_ids=(2,))


def write(path: Path, tokens: list[int], dtype: str = "<u2") -> Path:
    path.write_bytes(np.array(tokens, dtype).tobytes())
    return path


def small_file(folder: Path) -> list[Path]:
    return [write(folder / "train.bin", [5, 6, 2, 7, 2, 8, 9, 10, 2])]


def test_sample() -> None:
    folder = SAMPLES / "nanogpt_bin"
    files = [open_one(READER, folder / name, TOLD) for name in ("train.bin", "val.bin")]
    assert [shard.layout.trainer for shard in files] == ["nanogpt", "nanogpt"]
    rows = [tokens_of(shard) for shard in files]
    assert [len(chained(row)) for row in rows] == [400, 100]
    assert chained([*rows[0], *rows[1]]) == chained(reference())
    assert all(Role.DOCUMENT_STARTS not in shard.layout.columns for shard in files)


def test_a_folder_is_read_without_its_pickle() -> None:
    shards, errors = open_shards([str(SAMPLES / "nanogpt_bin")], TOLD)
    assert [shard.name for shard in shards] == ["nanogpt_bin/train.bin", "nanogpt_bin/val.bin"]
    assert errors == []


def test_the_type_must_be_told() -> None:
    _, errors = open_shards([str(SAMPLES / "nanogpt_bin")], Settings())
    assert len(errors) == 2
    assert '[spec] token_dtype, for instance "uint16"' in str(errors[0][1])


@settings(deadline=None)
@given(
    tokens=st.lists(st.integers(0, 120), min_size=1, max_size=40),
    dtype=st.sampled_from(["uint8", "int8", "uint16", "int32", "uint32", "int64", "uint64"]),
    window=st.none() | st.integers(1, 9),
    suffix=st.sampled_from([".bin", ".npy"]),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, tokens: list[int], dtype: str, window: int | None, suffix: str
) -> None:
    path = write(tmp_path_factory.mktemp("set") / f"toy{suffix}", [1, *tokens], dtype)
    [shard] = READER.open(Source(str(path)), "toy", Settings(token_dtype=dtype, max_seq_len=window))
    rows = tokens_of(shard)
    assert chained(rows) == [1, *tokens]
    assert shard.layout.unit is (Unit.PACK if window else Unit.DOCUMENT)
    assert shard.layout.trainer == {".bin": "nanogpt", ".npy": "olmo-core"}[suffix]
    if window:
        assert {len(row) for row in rows[:-1]} <= {window}
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == dtype


@pytest.mark.parametrize("told", ["float32", "object", "U8", "datetime64[s]", "no type", "u2,u2", "bool"])
def test_a_type_that_is_none(tmp_path: Path, told: str) -> None:
    [path] = small_file(tmp_path)
    with pytest.raises(UnreadableError, match="must be uint8"):
        READER.open(Source(str(path)), "toy", Settings(token_dtype=told))


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("a.bin", b"PK\x03\x04"),
        ("a.bin", b"\x80\x02\x8a\x0a"),
        ("a.npy", b"\x93NUMPY\x01\x00"),
        ("a.bin", b"plain text\n"),
        ("a.bin", b""),
        ("a.dat", b"\0\1"),
    ],
)
def test_what_is_not_claimed(name: str, head: bytes) -> None:
    assert not READER.sniff(Source(name), head)


def test_an_odd_byte_is_reported(tmp_path: Path) -> None:
    [path] = small_file(tmp_path)
    path.write_bytes(path.read_bytes() + b"\0")
    _, columns, [fault] = read(open_one(READER, path, TOLD))
    assert len(chained(columns[Role.INPUT_IDS])) == 9
    assert (fault.code, "1 bytes after the last" in fault.message) == ("SHD001", True)


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    survives_damage(files, lambda: READER.open(Source(str(files[0])), "toy", TOLD))
