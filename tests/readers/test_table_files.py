"""Parquet, Arrow, JSON Lines and Megatron files: what is written comes back, and damage never crashes."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.readers import open_shards
from packlint.readers.shard import Role, Settings, Shard
from tests.readers import test_megatron
from tests.readers.file_checks import SAMPLES, Lists, read, survives_damage

Rows = list[tuple[list[int], list[int]]]
LISTS = (pa.list_, pa.large_list)


def columns_of(rows: Rows) -> dict[str, Lists]:
    return {"input_ids": [ids for ids, _ in rows], "labels": [labels for _, labels in rows]}


def table_of(rows: Rows, kind: int) -> pa.Table:
    make = LISTS[kind % 2]
    ids, labels = (pa.int32(), pa.int64()) if kind < 2 else (pa.int64(), pa.int32())
    columns = columns_of(rows)
    fields = [pa.field("input_ids", make(ids)), pa.field("labels", make(labels))]
    arrays = [pa.array(columns[field.name], field.type) for field in fields]
    return pa.Table.from_arrays(arrays, names=["input_ids", "labels"])


def write_parquet(path: Path, rows: Rows, kind: int) -> None:
    pq.write_table(table_of(rows, kind), path, row_group_size=3, compression=("zstd", "snappy")[kind % 2])


def write_stream(path: Path, rows: Rows, kind: int) -> None:
    table = table_of(rows, kind)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=2)


def write_file(path: Path, rows: Rows, kind: int) -> None:
    table = table_of(rows, kind)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=2)


def write_jsonl(path: Path, rows: Rows, kind: int) -> None:
    lines = [json.dumps({"input_ids": ids, "labels": labels}) for ids, labels in rows]
    path.write_text("\n".join(lines) + "\n" * (kind % 2))


WRITERS: dict[str, tuple[str, Callable[[Path, Rows, int], None]]] = {
    "parquet": ("rows.parquet", write_parquet),
    "arrow-stream": ("rows.arrow", write_stream),
    "arrow-file": ("rows.arrow", write_file),
    "jsonl": ("rows.jsonl", write_jsonl),
}
ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(-100, 2**31 - 1)), min_size=1, max_size=9).map(
        lambda pairs: ([a for a, _ in pairs], [b for _, b in pairs])
    ),
    min_size=1,
    max_size=8,
)


def open_one(path: Path) -> list[Shard]:
    shards, errors = open_shards([str(path)], Settings())
    for _, error in errors:
        raise error
    return shards


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=40)
@given(rows=ROWS, kind=st.integers(0, 3))
def test_what_is_written_comes_back(form: str, rows: Rows, kind: int) -> None:
    name, write = WRITERS[form]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, rows, kind)
        (shard,) = open_one(path)
        numbers, columns, faults = read(shard)

    assert shard.format == form
    assert (numbers, faults) == (list(range(len(rows))), [])
    assert columns == {Role.INPUT_IDS: [ids for ids, _ in rows], Role.LABELS: [labels for _, labels in rows]}


@pytest.mark.parametrize("form", WRITERS)
def test_damage(form: str, tmp_path: Path) -> None:
    name, write = WRITERS[form]
    path = tmp_path / name
    write(path, [([1, 11, 2], [-100, 11, 2]), ([1, 12], [-100, 12]), ([5], [5])], 0)

    survives_damage([path], lambda: open_one(path), n_flips=1500)


def test_damage_of_an_indexed_dataset(tmp_path: Path) -> None:
    index = test_megatron.write(tmp_path / "toy", [[5, 6, 2], [7, 2], [8, 9, 10, 2]])

    survives_damage([index, index.with_suffix(".bin")], lambda: open_one(index), n_flips=1500)


def test_meta_pickle_beside_raw_tokens_is_never_opened(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    (tmp_path / "data").mkdir()
    tokens = (SAMPLES / "nanogpt_bin" / "val.bin").read_bytes()
    (tmp_path / "data" / "val.bin").write_bytes(tokens)
    payload = f"cos\nsystem\n(S'touch {trace}'\ntR."
    (tmp_path / "data" / "meta.pkl").write_bytes(payload.encode())

    report = packlint.check(tmp_path / "data", spec={"token_dtype": "uint16", "eos_ids": [2]})

    assert [entry.n_tokens for entry in report.inputs] == [len(tokens) // 2]
    assert not trace.exists()
