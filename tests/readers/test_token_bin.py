"""`.bin` files with a header of llm.c or Automodel: samples, a writer, tables of starts, and damage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.readers.discover import open_shards
from packlint.readers.shard import Role, Settings
from packlint.readers.source import Source
from packlint.readers.token_bin import TokenBinReader
from tests.readers.stream_checks import (
    SAMPLES,
    Lists,
    chained,
    open_one,
    read,
    reference,
    survives_damage,
    tokens_of,
    windows,
)

READER = TokenBinReader()
GPT2, LLAMA3, AUTOMODEL = 20240520, 20240801, 278895051
KINDS = [(GPT2, 1, "<u2"), (LLAMA3, 7, "<u4"), (AUTOMODEL, 1, "<u2"), (AUTOMODEL, 1, "<u4")]


def write(
    path: Path,
    documents: Lists,
    magic: int = GPT2,
    version: int = 1,
    dtype: str = "<u2",
    starts: bool = False,
) -> Path:
    """Write what llm.c's `write_datafile` or Automodel's processor writes."""
    tokens = np.array(chained(documents), dtype)
    size = tokens.itemsize if magic == AUTOMODEL else 0
    path.write_bytes(struct.pack("<256i", magic, version, tokens.size, size, *[0] * 252) + tokens.tobytes())
    if starts:
        begins = np.cumsum([0, *map(len, documents)])[:-1]
        path.with_suffix(".bos.idx").write_bytes(begins.astype("<i4").tobytes())
    return path


def small_file(folder: Path) -> list[Path]:
    path = write(folder / "toy.bin", [[2, 5, 6], [2, 7], [2, 8, 9]], AUTOMODEL, starts=True)
    return [path, path.with_suffix(".bos.idx")]


@pytest.mark.parametrize(
    "name", ["llmc_gpt2_bin/toy_train_000001.bin", "automodel_nanogpt_bin/shard_000000.bin"]
)
def test_samples(name: str) -> None:
    path = SAMPLES / name
    shard = open_one(READER, path, Settings(eos_ids=(2,)))
    documents = [[2, *document[:-1]] for document in reference()]
    rows = tokens_of(shard)
    assert rows == (documents if "automodel" in name else [chained(documents)])
    assert shard.layout.trainer == ("automodel-nanogpt" if "automodel" in name else "llm-c")
    assert (Role.DOCUMENT_STARTS in shard.layout.columns) == ("automodel" in name)
    assert shard.n_bytes == sum(f.stat().st_size for f in path.parent.glob("[!R]*"))


def test_blocks_begin_with_the_prepended_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packlint.readers.stream.rows.BLOCK_ROW_TOKENS", 16)
    monkeypatch.setattr("packlint.readers.stream.shard.BLOCK_ROW_TOKENS", 16)
    path = SAMPLES / "llmc_gpt2_bin" / "toy_train_000001.bin"
    rows = tokens_of(open_one(READER, path, Settings(eos_ids=(2,))))
    assert len(rows) > 10
    assert all(row[0] == 2 for row in rows)


def test_a_table_of_starts_is_no_shard(tmp_path: Path) -> None:
    small_file(tmp_path)
    shards, errors = open_shards([str(tmp_path / "*")], Settings())
    assert ([shard.format for shard in shards], errors) == (["token-bin"], [])


@settings(deadline=None)
@given(
    documents=st.lists(st.lists(st.integers(0, 60000), min_size=1, max_size=6), max_size=8),
    kind=st.sampled_from(KINDS),
    starts=st.booleans(),
    window=st.none() | st.integers(1, 7),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    documents: Lists,
    kind: tuple[int, int, str],
    starts: bool,
    window: int | None,
) -> None:
    magic, version, dtype = kind
    path = write(tmp_path_factory.mktemp("set") / "toy.bin", documents, magic, version, dtype, starts)
    shard = open_one(READER, path, Settings(max_seq_len=window))
    _, columns, faults = read(shard)
    rows = columns.get(Role.INPUT_IDS, [])
    assert faults == []
    if window:
        assert rows == windows(documents, window)[0]
    else:
        assert rows == (documents if starts else [chained(documents)] if documents else [])
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == np.dtype(dtype).name


@pytest.mark.parametrize(
    ("starts", "expected", "code"),
    [
        ([1, 3], [[2], [5, 6], [2, 7, 2, 8, 9]], None),
        ([0, 3, 8], [[2, 5, 6], [2, 7, 2, 8, 9]], "SHD006"),
        ([0, 3, -1], [[2, 5, 6], [2, 7, 2, 8, 9]], "SHD006"),
        ([0, 5, 3], [[2, 5, 6, 2, 7, 2, 8, 9]], "SHD001"),
    ],
)
def test_tables_of_starts(tmp_path: Path, starts: list[int], expected: Lists, code: str | None) -> None:
    path, table = small_file(tmp_path)
    table.write_bytes(np.array(starts, "<i4").tobytes())
    _, columns, faults = read(open_one(READER, path))
    assert columns[Role.INPUT_IDS] == expected
    assert [fault.code for fault in faults] == ([code] if code else [])


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (0, 20240522, "evaluation set"),
        (1, 2, "version 2 at byte 4, expected 1"),
        (2, -1, "-1 tokens declared"),
        (3, 3, "3 bytes per token at byte 12"),
    ],
)
def test_hostile_fields(tmp_path: Path, at: int, value: int, message: str) -> None:
    path = small_file(tmp_path)[0]
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, 4 * at, value)
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match=message):
        open_one(READER, path)


@pytest.mark.parametrize(("declared", "code"), [(2**31 - 1, "SHD001"), (5, "MAN003")])
def test_a_wrong_count_costs_nothing(tmp_path: Path, declared: int, code: str) -> None:
    path = write(tmp_path / "toy.bin", [[2, 5, 6], [2, 7], [2, 8, 9]])
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, 8, declared)
    path.write_bytes(data)
    _, columns, [fault] = read(open_one(READER, path))
    assert len(chained(columns[Role.INPUT_IDS])) == min(declared, 8)
    assert fault.code == code
    assert f"declares {declared} tokens, the file holds 8" in fault.message


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)

    def open_it() -> object:
        head = files[0].read_bytes()[:4096]
        return (
            READER.open(Source(str(files[0])), "toy", Settings())
            if READER.sniff(Source(str(files[0])), head)
            else ()
        )

    survives_damage(files, open_it)  # type: ignore[arg-type]
