"""Parquet files → shards."""

from __future__ import annotations

import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packlint.errors import UnreadableError
from packlint.readers import columns, parquet
from packlint.readers.parquet import ParquetReader, ParquetShard
from packlint.readers.shard import RawRows, Role, Settings, Shard
from packlint.readers.source import Source

SAMPLES = Path(__file__).parents[1] / "samples"
ALL = frozenset(Role)


def _write(path: Path, n_rows: int = 10, row_group_size: int = 4, **others: Any) -> Path:
    rows = {"input_ids": [[i] * (i + 1) for i in range(n_rows)], **others}
    arrays = {name: pa.array(values, pa.list_(pa.int32())) for name, values in rows.items()}
    pq.write_table(pa.table(arrays), path, row_group_size=row_group_size)
    return path


def _open(path: Path) -> ParquetShard:
    (shard,) = ParquetReader().open(Source(str(path)), path.name, Settings())
    assert isinstance(shard, ParquetShard)
    return shard


def _tokens(shard: Shard, block_tokens: int = 8) -> list[list[int]]:
    found = []
    for part in shard.parts():
        for raw in shard.rows(part, ALL, block_tokens):
            column = raw.columns[Role.INPUT_IDS]
            found += [a.tolist() for a in np.split(column.values, column.offsets[1:-1])]
    return found


@pytest.fixture
def one_group_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_PART_BYTES", 0)


def test_small_row_groups_are_one_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shard = _open(_write(tmp_path / "a.parquet"))
    sizes = [size for _, size in shard.row_groups]

    assert [(p.first_row, p.n_rows) for p in shard.parts()] == [(0, 10)]
    assert [raw.row_numbers.tolist() for raw in shard.rows(shard.parts()[0], ALL, 1 << 17)] == [
        list(range(10))
    ]
    monkeypatch.setattr(parquet, "_PART_BYTES", sizes[0] + sizes[1])
    assert [(p.index, p.first_row, p.n_rows) for p in shard.parts()] == [(0, 0, 8), (1, 8, 2)]
    assert _tokens(shard) == [[i] * (i + 1) for i in range(10)]


@pytest.mark.usefixtures("one_group_a_part")
def test_one_part_per_row_group(tmp_path: Path) -> None:
    shard = _open(_write(tmp_path / "a.parquet"))

    assert [(p.index, p.first_row, p.n_rows) for p in shard.parts()] == [(0, 0, 4), (1, 4, 4), (2, 8, 2)]
    assert _tokens(shard) == [[i] * (i + 1) for i in range(10)]
    numbers = [raw.row_numbers.tolist() for raw in shard.rows(shard.parts()[1], ALL, 1)]
    assert numbers == [[4], [5], [6], [7]]
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == "int32"


@pytest.mark.usefixtures("one_group_a_part")
def test_empty_row_groups_are_no_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"input_ids": pa.array([[1, 2]], pa.list_(pa.int32()))})
    with pq.ParquetWriter(path, table.schema) as writer:
        for piece in (table.slice(0, 0), table, table.slice(0, 0), table):
            writer.write_table(piece)
    shard = _open(path)

    assert [(p.index, p.first_row, p.n_rows) for p in shard.parts()] == [(0, 0, 1), (1, 1, 1)]
    assert _tokens(shard) == [[1, 2], [1, 2]]


def test_no_rows(tmp_path: Path) -> None:
    assert list(_open(_write(tmp_path / "a.parquet", n_rows=0)).parts()) == []


def test_only_the_roles_asked_for_are_read(tmp_path: Path) -> None:
    shard = _open(_write(tmp_path / "a.parquet", labels=[[0]] * 10))
    (raw, *_) = shard.rows(shard.parts()[0], frozenset({Role.LABELS}), 100)

    assert set(raw.columns) == {Role.LABELS}
    assert list(shard.rows(shard.parts()[0], frozenset({Role.CU_SEQLENS}), 100)) == []


def test_a_huge_row_group_is_decoded_in_bounded_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"input_ids": [[7] * 100] * 5000}), path, row_group_size=5000)
    monkeypatch.setattr(parquet, "_DECODED_TOKENS", 10_000)
    seen: list[int] = []
    real = columns.blocks

    def spy(batch: pa.RecordBatch, *rest: Any) -> Any:
        seen.append(batch.num_rows)
        return real(batch, *rest)

    monkeypatch.setattr(parquet, "blocks", spy)
    shard = _open(path)

    assert len(shard.parts()) == 1
    assert sum(len(raw.row_numbers) for raw in shard.rows(shard.parts()[0], ALL, 1 << 17)) == 5000
    assert max(seen) == 100
    assert pa.total_allocated_bytes() < 5000 * 100 * 8


@pytest.mark.parametrize("keep", [4, 11, 200, -1, -9])
def test_truncated_file(tmp_path: Path, keep: int) -> None:
    path = _write(tmp_path / "a.parquet")
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(UnreadableError, match=r"^footer: ") as caught:
        _open(path)
    assert str(tmp_path) not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_corrupt_pages_are_found_after_the_rows_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path / "a.parquet", n_rows=600, row_group_size=200)
    data = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(1).column(0).dictionary_page_offset
    assert start is not None
    data[start : start + 400] = b"\xa5" * 400
    path.write_bytes(bytes(data))
    shard = _open(path)
    found: list[RawRows] = []

    with pytest.raises(UnreadableError, match=r"^row group 1, first rows: .*; row group 2 not read"):
        found.extend(shard.rows(shard.parts()[0], ALL, 1 << 17))
    assert sum(raw.row_numbers.size for raw in found) == 200
    monkeypatch.setattr(parquet, "_PART_BYTES", 0)
    first, second, third = shard.parts()
    assert sum(raw.row_numbers.size for raw in shard.rows(first, ALL, 1 << 17)) == 200
    with pytest.raises(UnreadableError, match="row group 1"):
        list(shard.rows(second, ALL, 1 << 17))
    assert sum(raw.row_numbers.size for raw in shard.rows(third, ALL, 1 << 17)) == 200


@pytest.mark.parametrize("seed", range(60))
def test_any_damaged_byte_is_an_error_in_words_or_other_tokens(tmp_path: Path, seed: int) -> None:
    path = _write(tmp_path / "a.parquet", labels=[[0]] * 10)
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for place in rng.integers(4, len(data) - 8, 3).tolist():
        data[place] = int(rng.integers(256))
    path.write_bytes(bytes(data))

    with suppress(UnreadableError):
        _tokens(_open(path))


def test_nulls(tmp_path: Path) -> None:
    shard = _open(_write(tmp_path / "a.parquet", labels=[[1, None], None, *[[1]] * 8]))
    faults = [f for p in shard.parts() for raw in shard.rows(p, ALL, 3) for f in raw.faults]

    assert [(f.code, f.row) for f in faults] == [("SHD005", 0), ("SHD005", 1)]
    assert len(_tokens(shard)) == 8


def test_sniff() -> None:
    reader = ParquetReader()

    assert reader.sniff(Source("x.bin"), b"PAR1....")
    assert not reader.sniff(Source("x.parquet"), b"ARROW1")


@pytest.mark.parametrize(
    ("name", "trainer", "n_rows"),
    [
        ("trl_bfd/packed.parquet", "trl", 7),
        ("trl_bfd_split/packed.parquet", "trl", 7),
        ("bridge_packed_parquet/training_64.idx.parquet", "megatron-bridge", 14),
    ],
)
def test_samples(name: str, trainer: str, n_rows: int) -> None:
    shard = _open(SAMPLES / name)

    assert (shard.layout.trainer, shard.format) == (trainer, "parquet")
    assert _tokens(shard) == pq.read_table(SAMPLES / name)["input_ids"].to_pylist()
    assert len(_tokens(shard)) == n_rows


def test_pickled_shards_still_read(tmp_path: Path) -> None:
    shard = pickle.loads(pickle.dumps(_open(_write(tmp_path / "a.parquet"))))

    assert len(_tokens(shard)) == 10
