"""Every pack with its place, the lengths of its samples and the categories that they are of.

    shard  pack   segments  tokens   log2 lengths   domain
    0      0      2         12       2.0 3.0        web 1, code 1
    0      1      1         4        2.0            code 1

Segments count that begin in the pack. About 32 bytes per pack, and 12 for each category that a pack holds.
Log lengths are kept as whole numbers of 1/1024 octave, so that their sums are exact and do not depend on how
packs are cut into batches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, FloatArray, Int64Array
from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import BoundarySource, CutPolicy
from packlint.model.metadata import Categories
from packlint.model.recorded import sound_segments

__all__ = ["CategoryCounts", "OrderRows", "PackOrder", "PackSequence"]

_ROW = np.dtype(
    [
        ("pack", np.int64),
        ("logs", np.int64),
        ("squares", np.int64),
        ("tokens", np.uint32),
        ("segments", np.uint32),
    ]
)
_ENTRY = np.dtype([("row", np.int32), ("code", np.int32), ("count", np.int32)])
_STEPS_PER_OCTAVE = 1024
_DENSE_CELLS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class CategoryCounts:
    """Count, for one metadata column, the segments of each category in each pack.

    Args:
        names: values of the column.
        entries: structured `row, code, count`, one per pack and category that it holds, by row.
    """

    names: tuple[str, ...]
    entries: NDArray[Any]

    @classmethod
    def of(cls, categories: Categories, rows: Int64Array, n_rows: int) -> CategoryCounts:
        """Return the counts of segments whose category is known.

        Args:
            categories: of the segments.
            rows: `int64[segment]`, place of each segment's pack among those kept, rising.
            n_rows: packs kept.
        """
        known = categories.codes >= 0
        rows, codes = (rows, categories.codes) if known.all() else (rows[known], categories.codes[known])
        n_names = max(len(categories.names), 1)
        keys = rows * n_names + codes
        if n_rows * n_names <= max(4 * keys.size, _DENSE_CELLS):
            table = np.bincount(keys, minlength=n_rows * n_names)
            found = np.flatnonzero(table)
            counts = table[found]
        else:
            keys.sort(kind="stable")
            first = np.flatnonzero(np.diff(keys, prepend=-1))
            found, counts = keys[first], np.diff(first, append=keys.size)
        entries = np.empty(found.size, _ENTRY)
        entries["row"], entries["code"] = np.divmod(found, n_names)
        entries["count"] = counts
        return cls(categories.names, entries)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OrderRows:
    """Hold the packs of one batch in which samples begin.

    Args:
        shard: index of their shard.
        packs: structured `pack, logs, squares, tokens, segments`: number in the shard, sums over its segments
            of the log length and of its square in 1/1024 octave, tokens of all segments, segments.
        columns: categories by metadata column.
        has_lengths: something records where samples begin, so that lengths are those of samples.
        is_inferred: it was only read out of tokens.
        shuffles: whether the trainer shuffles packs when it reads; none where nobody knows.
    """

    shard: int
    packs: NDArray[Any]
    columns: Mapping[str, CategoryCounts] = field(default_factory=dict)
    has_lengths: bool = True
    is_inferred: bool = False
    shuffles: bool | None = None

    @classmethod
    def of(cls, batch: PackBatch) -> OrderRows:
        """Return the packs of a batch, computed once and kept with it for all rules that ask."""
        key = "order_rows"
        if key not in batch._cache:
            batch._cache[key] = _rows_of(batch)
        rows: OrderRows = batch._cache[key]
        return rows


def _rows_of(batch: PackBatch) -> OrderRows:
    kept = _begins_here(batch)
    segments = slice(None) if kept.all() else np.flatnonzero(kept)
    packs = batch.segments.packs[segments]
    lengths = batch.segments.lengths[segments]
    is_first = np.diff(packs, prepend=-1) > 0
    first = np.flatnonzero(is_first)
    held = packs[first]
    logs = np.rint(np.log2(np.maximum(lengths, 1)) * _STEPS_PER_OCTAVE).astype(np.int64)
    rows = np.empty(held.size, _ROW)
    rows["pack"] = batch.pack_numbers[held]
    rows["segments"] = np.diff(first, append=packs.size)
    for name, values in (("tokens", lengths), ("logs", logs), ("squares", logs * logs)):
        rows[name] = np.add.reduceat(values, first) if first.size else 0
    contract = batch.shard.contract
    row_of = np.cumsum(is_first) - 1 if batch.metadata else packs
    return OrderRows(
        shard=batch.shard.index,
        packs=rows,
        columns={
            name: CategoryCounts.of(
                column if isinstance(segments, slice) else column.take(segments), row_of, held.size
            )
            for name, column in batch.metadata.items()
        },
        has_lengths=batch.segment_source is not None,
        is_inferred=batch.segment_source is BoundarySource.BOUNDARY_TOKENS,
        shuffles=None if contract is None else contract.shuffles,
    )


def _begins_here(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, false for those that may be the rest of a sample of the pack before.

    Where a packer cuts samples, neighbours share the sample that was cut, however well samples were shuffled.
    """
    kept, contract = sound_segments(batch), batch.shard.contract
    is_cut = contract is None or contract.cut_policy is not CutPolicy.WHOLE
    return kept & (batch.segment_numbers > 0) if is_cut and batch.segment_source is not None else kept


@dataclass(slots=True)
class PackOrder:
    """Collect packs; the order in which they come does not matter.

    Args:
        chunks: packs of one batch each.
    """

    chunks: list[OrderRows] = field(default_factory=list)

    def add(self, batch: PackBatch) -> PackOrder:
        """Add the packs of a batch, in place."""
        if batch.shard.unit is Unit.PACK:
            rows = OrderRows.of(batch)
            if rows.packs.size:
                self.chunks.append(rows)
        return self

    def merge(self, other: PackOrder) -> PackOrder:
        """Return the packs of both."""
        return PackOrder([*self.chunks, *other.chunks])

    def in_order(self) -> PackSequence:
        """Return all packs, by shard and then by number."""
        chunks = sorted(self.chunks, key=lambda c: (c.shard, int(c.packs["pack"][0])))
        rows = np.concatenate([c.packs for c in chunks]) if chunks else np.empty(0, _ROW)
        sizes = np.array([c.packs.size for c in chunks], np.int64)
        shards = np.repeat(np.array([c.shard for c in chunks], np.int64), sizes)
        order = _sorting(shards, rows["pack"])
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        names = sorted({name for c in chunks for name in c.columns})
        firsts = np.cumsum(sizes) - sizes
        return PackSequence(
            shards=shards[order],
            rows=rows[order],
            has_lengths=np.repeat(np.array([c.has_lengths for c in chunks], np.bool_), sizes)[order],
            columns={name: _joined(name, chunks, firsts, place) for name in names},
            is_inferred=any(c.is_inferred for c in chunks),
            is_shuffled=any(c.shuffles for c in chunks),
            is_stored_order=all(c.shuffles is False for c in chunks),
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PackSequence:
    """Hold the packs of all shards in stored order.

    Args:
        shards: `int64[pack]`, index of the shard.
        rows: structured, as in `OrderRows.packs`.
        has_lengths: `bool[pack]`, as in `OrderRows`.
        columns: categories by metadata column; `row` is the place in this sequence.
        is_inferred: some boundaries were only read out of tokens.
        is_shuffled: the trainer shuffles packs of some shard when it reads.
        is_stored_order: it is known to read all packs as they stand.
    """

    shards: Int64Array
    rows: NDArray[Any]
    has_lengths: BoolArray
    columns: Mapping[str, CategoryCounts]
    is_inferred: bool
    is_shuffled: bool
    is_stored_order: bool

    def __len__(self) -> int:
        return int(self.shards.size)

    @property
    def is_certain(self) -> bool:
        """Whether boundaries are recorded, and packs are trained on in this order."""
        return self.is_stored_order and not self.is_inferred

    @property
    def log_means(self) -> FloatArray:
        """`float64[pack]`, mean of the log2 lengths of its samples: octaves."""
        return np.asarray(self.rows["logs"] / self.rows["segments"] / _STEPS_PER_OCTAVE, np.float64)

    @property
    def log_squares(self) -> FloatArray:
        """`float64[pack]`, mean of the squares of the log2 lengths of its samples."""
        return np.asarray(self.rows["squares"] / self.rows["segments"] / _STEPS_PER_OCTAVE**2, np.float64)


def _joined(name: str, chunks: list[OrderRows], firsts: Int64Array, place: Int64Array) -> CategoryCounts:
    """Return a column of all chunks, names sorted, entries by row."""
    found = [
        (c.columns[name], first)
        for c, first in zip(chunks, firsts.tolist(), strict=True)
        if name in c.columns
    ]
    names = tuple(sorted({value for column, _ in found for value in column.names}))
    code_of = {value: code for code, value in enumerate(names)}
    renumbered: dict[tuple[str, ...], NDArray[np.int32]] = {}
    parts = []
    for column, first in found:
        if column.names not in renumbered:
            renumbered[column.names] = np.array([code_of[value] for value in column.names], np.int32)
        part = column.entries.copy()
        part["row"] = place[first + part["row"]]
        part["code"] = renumbered[column.names][part["code"]]
        parts.append(part)
    entries = np.concatenate(parts)
    return CategoryCounts(names, entries[_sorting(entries["row"], entries["code"])])


def _sorting(major: Int64Array, minor: Int64Array) -> Int64Array:
    """Return `int64[any]`, the order by one key and then by another; fast where it is nearly so already."""
    span = int(minor.max(initial=0)) + 1
    if int(major.max(initial=0)) >= (1 << 62) // span:
        return np.lexsort((minor, major))
    return np.argsort(major.astype(np.int64) * span + minor, kind="stable")
