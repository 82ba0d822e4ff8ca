"""fms-fsdp Arrow files: the sample, a writer, counts that lie, and damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.readers.discover import open_shards
from packlint.readers.fms_arrow import FmsArrowReader
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

READER = FmsArrowReader()


def write(path: Path, documents: Lists, dtype: str = "uint32", column: str = "tokens") -> Path:
    schema = pa.schema([(column, pa.from_numpy_dtype(np.dtype(dtype)))])
    with pa.ipc.new_file(str(path), schema) as writer:
        for document in documents:
            writer.write(pa.record_batch([pa.array(document, schema.field(0).type)], schema=schema))
    return path


def small_file(folder: Path) -> list[Path]:
    return [write(folder / "shard0.arrow", [[5, 6], [7], [8, 9, 10]])]


def write_counts(folder: Path, line: str) -> None:
    (folder / "meta").mkdir()
    (folder / "meta" / "toy_counts.csv").write_text(f"dataset/filename,documents,tokens,size\n{line}\n")


def test_sample() -> None:
    shards, errors = open_shards([str(SAMPLES / "fms_fsdp_arrow")], Settings())
    assert errors == []
    [shard] = shards
    assert (shard.format, shard.layout.trainer) == ("fms-arrow", "fms-fsdp")
    assert tokens_of(shard) == [document[:-1] for document in reference()]
    assert "toy_counts.csv declares 24 documents and 476 tokens" in shard.layout.evidence


@settings(max_examples=50, deadline=None)
@given(
    documents=st.lists(st.lists(st.integers(0, 120), max_size=6), max_size=8),
    dtype=st.sampled_from(["uint16", "int32", "uint32", "int64"]),
    window=st.none() | st.integers(1, 7),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, documents: Lists, dtype: str, window: int | None
) -> None:
    path = write(tmp_path_factory.mktemp("set") / "toy.arrow", documents, dtype)
    shard = open_one(READER, path, Settings(max_seq_len=window))
    _, columns, faults = read(shard)
    rows, starts = windows(documents, window + 1) if window else (documents, [[0]] * len(documents))
    assert faults == []
    assert columns.get(Role.INPUT_IDS, []) == rows
    assert columns.get(Role.DOCUMENT_STARTS, []) == starts
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == dtype


def test_other_arrow_files_are_left_to_the_arrow_reader(tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    table = pa.table({"input_ids": [[1, 2], [3]]})
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)
    assert not READER.sniff(Source(str(path)), path.read_bytes())
    assert [shard.format for shard in open_shards([str(path)], Settings())[0]] == ["arrow-file"]


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        ("/toy/shard0.arrow,3,6,0", []),
        ("/toy/shard0.arrow,3,7,0", ["MAN003"]),
        ("/toy/shard0.arrow,4,6,0", ["MAN003"]),
        ("/other/shard0.arrow,4,6,0", []),
        ("/toy/shard0.arrow,x,6,0", []),
    ],
)
def test_counts(tmp_path: Path, line: str, codes: list[str]) -> None:
    (tmp_path / "toy").mkdir()
    [path] = small_file(tmp_path / "toy")
    write_counts(tmp_path, line)
    assert [fault.code for fault in read(open_one(READER, path))[2]] == codes


def test_a_null_ends_what_can_be_read(tmp_path: Path) -> None:
    path, schema = tmp_path / "toy.arrow", pa.schema([("tokens", pa.uint32())])
    with pa.ipc.new_file(str(path), schema) as writer:
        for document in ([1, 2], [3, None], [4]):
            writer.write(pa.record_batch([pa.array(document, pa.uint32())], schema=schema))
    _, columns, [fault] = read(open_one(READER, path))
    assert columns[Role.INPUT_IDS] == [[1, 2]]
    assert fault.code == "SHD001"
    assert "a token is null; 2 of 3 documents are not read" in fault.message


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)

    def open_it() -> object:
        head = files[0].read_bytes()[:4096]
        return (
            READER.open(Source(str(files[0])), "toy", Settings())
            if READER.sniff(Source(str(files[0])), head)
            else ()
        )

    survives_damage(files, open_it, n_flips=800, every=5)  # type: ignore[arg-type]
