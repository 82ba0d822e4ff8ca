"""Benchmark data, made once and kept."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["VOCABULARY", "megatron_pair", "packed_parquet"]

VOCABULARY = 50_257
_PACK = 4096
_N_PACKS = 10_000
_ROW_GROUP = 500
_STREAM_TOKENS = 200_000_000


def packed_parquet(folder: Path) -> Path:
    """Return 41 M tokens in packs of 4096: input_ids, labels, position_ids, seq_lens; zstd."""
    path = folder / "packed.parquet"
    if path.exists():
        return path
    rng = np.random.default_rng(0)
    writer = None
    for _ in range(_N_PACKS // _ROW_GROUP):
        table = _packs(rng, _ROW_GROUP)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def _packs(rng: np.random.Generator, n_packs: int) -> pa.Table:
    ids = _zipf(rng, n_packs * _PACK).reshape(n_packs, _PACK)
    labels = np.full(ids.shape, -100, np.int64)
    positions = np.zeros(ids.shape, np.int64)
    lengths: list[list[int]] = []
    for pack in range(n_packs):
        place, row = 0, []
        while place < _PACK - 40:
            length = int(min(_PACK - place, np.clip(rng.lognormal(6.2, 0.8), 16, 4000)))
            stop, prompt = place + length, int(length * rng.uniform(0.2, 0.6)) + 1
            ids[pack, place], ids[pack, stop - 1] = 1, 2
            labels[pack, place + prompt : stop] = ids[pack, place + prompt : stop]
            positions[pack, place:stop] = np.arange(length)
            row.append(length)
            place = stop
        ids[pack, place:] = 0
        if place < _PACK:
            positions[pack, place:] = np.arange(
                positions[pack, place - 1] + 1, _PACK + positions[pack, place - 1] + 1 - place
            )
            row.append(_PACK - place)
        lengths.append(row)
    offsets = np.arange(0, n_packs * _PACK + 1, _PACK, dtype=np.int32)
    offset_array: Any = pa.array(offsets)
    columns: dict[str, np.ndarray[Any, Any]] = {"tokens": ids, "labels": labels, "input_pos": positions}
    arrays = {
        name: pa.ListArray.from_arrays(offset_array, pa.array(values.reshape(-1)))
        for name, values in columns.items()
    }
    return pa.table({**arrays, "seq_lens": pa.array(lengths, pa.list_(pa.int64()))})


def megatron_pair(folder: Path) -> Path:
    """Return the `.idx` of 200 M uint16 tokens in documents that end in id 2."""
    path = folder / "stream_text_document.idx"
    if path.exists():
        return path
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(6.4, 1.0, _STREAM_TOKENS // 500), 8, 100_000).astype(np.int32)
    stops = np.cumsum(lengths, dtype=np.int64)
    kept = int(np.searchsorted(stops, _STREAM_TOKENS))
    lengths, stops = lengths[:kept], stops[:kept]
    with path.with_suffix(".bin").open("wb") as stream:
        place = 0
        for start in range(0, kept, 10_000):
            end = int(stops[min(start + 10_000, kept) - 1])
            ids = _zipf(rng, end - place).astype(np.uint16)
            ids[stops[start : start + 10_000] - 1 - place] = 2
            stream.write(ids.tobytes())
            place = end
    pointers = np.concatenate([[0], stops[:-1]]) * 2
    with path.open("wb") as stream:
        stream.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, kept, kept + 1))
        stream.write(lengths.tobytes() + pointers.astype(np.int64).tobytes())
        stream.write(np.arange(kept + 1, dtype=np.int64).tobytes())
    return path


def _zipf(rng: np.random.Generator, n: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.minimum(rng.zipf(1.2, n) + 9, VOCABULARY - 1).astype(np.int32)
