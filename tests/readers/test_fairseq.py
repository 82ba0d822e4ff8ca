"""fairseq's mapped data sets: the sample, a writer, the look-alike of Megatron, and damage."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.readers.discover import open_shards
from packlint.readers.fairseq_mmap import FairseqReader
from packlint.readers.shard import Role, Settings
from packlint.readers.source import Source
from tests.readers.stream_checks import (
    SAMPLES,
    Lists,
    open_one,
    read,
    reference,
    survives_damage,
    tokens_of,
    windows,
)

READER = FairseqReader()
CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8, "uint32": 9, "uint64": 10}


def write(path: Path, sequences: Lists, dtype: str = "uint16") -> Path:
    """Write what `MMapIndexedDatasetBuilder` writes, and return the `.idx`."""
    arrays = [np.array(sequence, dtype) for sequence in sequences]
    lengths = np.array([array.size for array in arrays], "<i4")
    pointers = np.append(0, np.cumsum([array.nbytes for array in arrays]))[: len(arrays)].astype("<i8")
    head = struct.pack("<9sQBQ", b"MMIDIDX\0\0", 1, CODES[dtype], len(arrays))
    path.with_suffix(".bin").write_bytes(b"".join(array.tobytes() for array in arrays))
    path.write_bytes(head + lengths.tobytes() + pointers.tobytes())
    return path


def small_file(folder: Path) -> list[Path]:
    path = write(folder / "train.idx", [[5, 6, 2], [7, 2], [8, 9, 2]])
    return [path, path.with_suffix(".bin")]


@pytest.mark.parametrize("given_name", ["", "train.idx", "train.bin"])
def test_sample(given_name: str) -> None:
    shards, errors = open_shards([str(SAMPLES / "fairseq_mmap" / given_name)], Settings())
    assert [(shard.format, shard.layout.trainer) for shard in shards] == [("fairseq", "fairseq")]
    assert errors == []
    assert tokens_of(shards[0]) == reference()


@settings(deadline=None)
@given(
    sequences=st.lists(st.lists(st.integers(0, 120), max_size=6), max_size=8),
    dtype=st.sampled_from(sorted(CODES)),
    window=st.none() | st.integers(1, 7),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, sequences: Lists, dtype: str, window: int | None
) -> None:
    path = write(tmp_path_factory.mktemp("set") / "toy.idx", sequences, dtype)
    shard = open_one(READER, path, Settings(max_seq_len=window))
    _, columns, faults = read(shard)
    rows, starts = windows(sequences, window) if window else (sequences, [[0]] * len(sequences))
    assert faults == []
    assert columns.get(Role.INPUT_IDS, []) == rows
    assert columns.get(Role.DOCUMENT_STARTS, []) == starts
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == dtype


def test_megatron_is_left_to_its_own_reader() -> None:
    path = SAMPLES / "megatron_uint16_eod" / "toy_text_document.idx"
    assert not READER.sniff(Source(str(path)), path.read_bytes()[:4096])


@pytest.mark.parametrize(
    ("offset", "fmt", "value", "message"),
    [
        (9, "<Q", 2, "version 2"),
        (17, "<B", 6, "dtype code 6"),
        (26, "<i", -1, "sequence 0 has the length -1"),
        (26, "<i", 2, "sequence 1 begins at byte 6, expected byte 4"),
        (38, "<q", 2, "sequence 0 begins at byte 2, expected byte 0"),
        (46, "<q", 2**63 - 1, "sequence 1 begins at byte 9223372036854775807"),
        (34, "<i", 2**31 - 1, r"train\.bin has 16 bytes, the index needs"),
    ],
)
def test_hostile_fields(tmp_path: Path, offset: int, fmt: str, value: int, message: str) -> None:
    path = small_file(tmp_path)[0]
    data = bytearray(path.read_bytes())
    struct.pack_into(fmt, data, offset, value)
    path.write_bytes(data)
    with pytest.raises(UnreadableError, match=message):
        open_one(READER, path)


def test_the_bin_must_be_there_and_long_enough(tmp_path: Path) -> None:
    path, tokens = small_file(tmp_path)
    tokens.write_bytes(tokens.read_bytes() + b"\0\0\0")
    _, columns, [fault] = read(open_one(READER, path))
    assert columns[Role.INPUT_IDS] == [[5, 6, 2], [7, 2], [8, 9, 2]]
    assert (fault.code, fault.message) == ("SHD006", "train.bin has 19 bytes, the index ends at byte 16")
    tokens.unlink()
    with pytest.raises(UnreadableError, match=r"train\.bin is missing beside train\.idx"):
        open_one(READER, path)


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    survives_damage(files, lambda: READER.open(Source(str(files[0])), "toy", Settings()), n_flips=600)
