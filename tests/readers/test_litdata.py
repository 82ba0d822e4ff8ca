"""litdata chunks: the sample, a writer, compression, an index that lies, and damage."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.readers.discover import open_shards
from packlint.readers.litdata import LitdataReader
from packlint.readers.shard import Role, Settings, Shard
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

READER = LitdataReader()
TORCH = {"uint8": 11, "int8": 12, "int16": 14, "int32": 16, "int64": 18, "uint16": 20}
NUMPY = {"int8": 0, "int16": 1, "int32": 2, "int64": 3, "uint8": 4, "uint16": 5, "uint32": 6, "uint64": 7}


def write(
    folder: Path, chunks: Sequence[Lists], data_format: str, dtype: str, compression: str | None = None
) -> list[Path]:
    """Write what `optimize` with a TokensLoader writes, and return the chunks and the index."""
    entries, paths = [], []
    for number, items in enumerate(chunks):
        arrays = [np.array(item, dtype) for item in items]
        sizes = [array.nbytes for array in arrays]
        offsets = (4 * (len(items) + 2) + np.cumsum([0, *sizes])).astype("<u4")
        head = np.array(len(items), "<u4").tobytes() + offsets.tobytes()
        content = head + b"".join(array.tobytes() for array in arrays)
        middle = f".{compression}" if compression else ""
        paths.append(folder / f"chunk-0-{number}{middle}.bin")
        paths[-1].write_bytes(pa.Codec("zstd").compress(content, asbytes=True) if compression else content)
        n_tokens = sum(len(item) for item in items)
        entries.append(
            {
                "chunk_bytes": len(content),
                "chunk_size": len(items),
                "dim": n_tokens,
                "filename": paths[-1].name,
            }
        )
    config = {"compression": compression, "data_format": [data_format], "encryption": None}
    (folder / "index.json").write_text(json.dumps({"chunks": entries, "config": config}))
    return [*paths, folder / "index.json"]


def small_file(folder: Path, compression: str | None = None) -> list[Path]:
    return write(folder, [[[5, 6, 2], [7, 2], [8, 9, 2]]], "no_header_tensor:20", "uint16", compression)


def change_index(folder: Path, **changes: Any) -> None:
    path = folder / "index.json"
    index = json.loads(path.read_text())
    for key, value in changes.items():
        (index["config"] if key in index["config"] else index["chunks"][0])[key] = value
    path.write_text(json.dumps(index))


def test_sample() -> None:
    shards, errors = open_shards([str(SAMPLES / "litdata_tokens")], Settings())
    assert errors == []
    assert {(shard.format, shard.layout.trainer) for shard in shards} == {("litdata", "litgpt")}
    assert [row for shard in shards for row in tokens_of(shard)] == reference()
    assert [len(tokens_of(shard)) for shard in shards] == [7, 8, 9]


@settings(deadline=None)
@given(
    chunks=st.lists(
        st.lists(st.lists(st.integers(0, 120), max_size=6), min_size=1, max_size=6), min_size=1, max_size=3
    ),
    kind=st.sampled_from(
        [(f"no_header_tensor:{code}", dtype) for dtype, code in TORCH.items()]
        + [(f"no_header_numpy:{code}", dtype) for dtype, code in NUMPY.items()]
    ),
    compression=st.sampled_from([None, "zstd", "zstd:4"]),
    window=st.none() | st.integers(1, 7),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    chunks: list[Lists],
    kind: tuple[str, str],
    compression: str | None,
    window: int | None,
) -> None:
    paths = write(tmp_path_factory.mktemp("set"), chunks, *kind, compression)
    for path, items in zip(paths, chunks, strict=False):
        shard = open_one(READER, path, Settings(max_seq_len=window))
        _, columns, faults = read(shard)
        rows, starts = windows(items, window + 1) if window else (items, [[0]] * len(items))
        assert faults == []
        assert columns.get(Role.INPUT_IDS, []) == rows
        assert columns.get(Role.DOCUMENT_STARTS, []) == starts
        assert shard.spec.token_dtype is not None
        assert shard.spec.token_dtype.value == kind[1]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"dim": 9}, "MAN003", "declares 9 tokens (dim), chunk-0-0.bin holds 8"),
        ({"chunk_size": 2}, "MAN003", "declares 2 items, chunk-0-0.bin holds 3"),
        ({"chunk_bytes": 1}, "SHD006", "declares 1 bytes, chunk-0-0.bin has 36"),
        ({"filename": "chunk-0-7.bin"}, "SHD006", "not listed in index.json"),
    ],
)
def test_an_index_that_lies(tmp_path: Path, changes: dict[str, Any], code: str, message: str) -> None:
    path = small_file(tmp_path)[0]
    change_index(tmp_path, **changes)
    _, columns, [fault] = read(open_one(READER, path))
    assert columns[Role.INPUT_IDS] == [[5, 6, 2], [7, 2], [8, 9, 2]]
    assert fault.code == code
    assert message in fault.message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data_format": ["jpeg", "int"]}, "no tokens for TokensLoader"),
        ({"data_format": ["no_header_tensor:0"]}, "no code of an integer type"),
        ({"data_format": ["no_header_numpy:99999999999"]}, "no code of an integer type"),
        ({"data_format": ["no_header_tensor:x"]}, "no code of an integer type"),
        ({"compression": "lz4"}, "'lz4' is not known"),
        ({"encryption": {"algorithm": "fernet"}}, "encrypted"),
    ],
)
def test_what_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = small_file(tmp_path)[0]
    change_index(tmp_path, **changes)
    with pytest.raises(UnreadableError, match=message):
        open_one(READER, path)


def test_missing_chunks_are_reported_once(tmp_path: Path) -> None:
    items = [[5, 2], [6, 2]]
    paths = write(tmp_path, [items] * 7, "no_header_tensor:20", "uint16")
    for missing in (0, 1, 3, 6):
        paths[missing].unlink()
    shards, _ = open_shards([str(tmp_path)], Settings())
    found = [[(fault.code, fault.n_hits) for fault in read(shard)[2]] for shard in shards]
    assert found == [[("SHD006", 3)], [], [("SHD006", 1)]]


def test_names_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    paths = write(tmp_path, [[[5, 2]], [[6, 2]]], "no_header_tensor:20", "uint16")
    paths[-1].write_text(paths[-1].read_text().replace("chunk-0-1.bin", "../chunk-0-1.bin"))
    _, _, [fault] = read(open_one(READER, paths[0]))
    assert (fault.code, fault.n_hits) == ("SHD006", 1)


def test_a_chunk_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = small_file(tmp_path, "zstd")[0]
    content = np.array([1, 12, 0xFFFFFFFC], "<u4").tobytes() + bytes(1 << 28)
    path.write_bytes(pa.Codec("zstd").compress(content, asbytes=True))
    shard = open_one(READER, path)
    with pytest.raises(UnreadableError, match="hold more than"):
        read(shard)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"chunks": 1, "config": {}}', "[" * 10000, '{"shards": []}']
)
def test_other_indices_are_not_claimed(tmp_path: Path, text: str) -> None:
    path = small_file(tmp_path)[0]
    (tmp_path / "index.json").write_text(text)
    assert not READER.sniff(Source(str(path)), path.read_bytes())


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_damage(tmp_path: Path, compression: str | None) -> None:
    files = small_file(tmp_path, compression)

    def open_it() -> Sequence[Shard]:
        head = files[0].read_bytes()[:4096]
        return (
            READER.open(Source(str(files[0])), "toy", Settings())
            if READER.sniff(Source(str(files[0])), head)
            else ()
        )

    survives_damage(files, open_it)
