"""Segments as one source records them, and what is malformed in the record.

Offsets and lengths arrive ragged, one list per pack:

    pack           0 0 0 0 0 0 0 0
    cu_seqlens     0     3       8      first 0, rising, last = length of the pack
    seq_lens       3 5                  sum = length of the pack
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray, empty_int64, sorted_distinct

__all__ = [
    "Boundaries",
    "OffsetFault",
    "boundaries_from_ids",
    "boundaries_from_lengths",
    "boundaries_from_offsets",
    "boundaries_from_starts",
]


class OffsetFault(IntEnum):
    """What is malformed in one pack's offsets or lengths."""

    FIRST_NOT_ZERO = 1
    NOT_RISING = 2
    LAST_NOT_LENGTH = 3
    EMPTY_SEGMENT = 4
    NEGATIVE = 5
    SUM_NOT_LENGTH = 6


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Boundaries:
    """Hold recorded segments, padding runs included where the source counts them as segments.

    Args:
        starts: `int64[segment]`, first token of each segment, flat in the batch, rising.
        stops: `int64[segment]`, one past its last token; segments do not overlap or cross packs.
        groups: `int64[segment]` or none; pieces of equal group can see each other although they do not touch
            (numbered masks in which a number comes back). None: each segment is its own group.
        fault_packs: `int64[fault]`, pack of each malformed record.
        fault_kinds: `int64[fault]`, an `OffsetFault`.
    """

    starts: Int64Array
    stops: Int64Array
    groups: Int64Array | None = None
    fault_packs: Int64Array = field(default_factory=empty_int64)
    fault_kinds: Int64Array = field(default_factory=empty_int64)

    def __len__(self) -> int:
        return int(self.starts.size)


def boundaries_from_starts(starts: Int64Array, pack_offsets: Int64Array) -> Boundaries:
    """Return segments that tile every pack and begin at the given flat places and at pack starts.

    Args:
        starts: `int64[any]`, flat token indices, in any order.
        pack_offsets: `int64[pack + 1]`.
    """
    filled = pack_offsets[:-1][np.diff(pack_offsets) > 0]
    all_starts = sorted_distinct(filled, starts)
    stops = np.append(all_starts[1:], pack_offsets[-1:])[: all_starts.size]
    return Boundaries(starts=all_starts, stops=stops)


def boundaries_from_ids(ids: IntArray, pack_offsets: Int64Array, nothing: int | None) -> Boundaries:
    """Return the runs of equal ids inside each pack.

    Args:
        ids: `int[token]`; equality counts, values do not (they need not be 1..n).
        pack_offsets: `int64[pack + 1]`.
        nothing: id of tokens in no segment (padding), or none.
    """
    if ids.size == 0:
        return Boundaries(starts=empty_int64(), stops=empty_int64())
    changes = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    tiled = boundaries_from_starts(changes, pack_offsets)
    run_ids = ids[tiled.starts].astype(np.int64)
    kept = np.ones(run_ids.size, np.bool_) if nothing is None else run_ids != nothing
    starts, stops, run_ids = tiled.starts[kept], tiled.stops[kept], run_ids[kept]
    packs = np.searchsorted(pack_offsets, starts, side="right") - 1
    return Boundaries(starts=starts, stops=stops, groups=_groups(packs, run_ids))


def _groups(packs: Int64Array, run_ids: Int64Array) -> Int64Array | None:
    """Number the (pack, id) pairs; none when no pair comes back, as in every sane mask."""
    if packs.size == 0:
        return None
    order = np.lexsort((run_ids, packs))
    new = np.append(True, (np.diff(packs[order]) != 0) | (np.diff(run_ids[order]) != 0))
    if new.all():
        return None
    groups = np.empty(packs.size, np.int64)
    groups[order] = np.cumsum(new) - 1
    return groups


def boundaries_from_lengths(
    lengths: Int64Array, row_offsets: Int64Array, pack_offsets: Int64Array, *, cover_padding: bool
) -> Boundaries:
    """Return segments from ragged lengths.

    Args:
        lengths: `int64[entry]`, lengths of all packs, end to end.
        row_offsets: `int64[pack + 1]`, where each pack's entries begin in `lengths`.
        pack_offsets: `int64[pack + 1]`.
        cover_padding: the lengths must add up to the pack; else what they leave is padding.
    """
    rows = np.repeat(np.arange(row_offsets.size - 1), np.diff(row_offsets))
    room = np.diff(pack_offsets)
    clean = np.clip(lengths, 0, room[rows] if rows.size else 0)
    running = np.append(0, np.cumsum(clean))
    stops_in_pack = np.minimum(running[1:] - running[row_offsets[:-1]][rows], room[rows])
    starts_in_pack = np.minimum(running[:-1] - running[row_offsets[:-1]][rows], room[rows])
    n_negative = _count_rows(rows[lengths < 0], room.size)
    n_empty = _count_rows(rows[lengths == 0], room.size)
    sums = _sum_rows(lengths, rows, room.size)
    wrong_sum = (sums != room) if cover_padding else (sums > room)
    faults = [
        (n_negative > 0, OffsetFault.NEGATIVE),
        (n_empty > 0, OffsetFault.EMPTY_SEGMENT),
        (wrong_sum & (n_negative == 0), OffsetFault.SUM_NOT_LENGTH),
    ]
    base = pack_offsets[:-1][rows]
    starts, stops = _without_empty(base + starts_in_pack, base + stops_in_pack)
    if cover_padding and wrong_sum.any():
        starts, stops = _cover(starts, stops, pack_offsets)
    return _with_faults(starts, stops, faults)


def boundaries_from_offsets(
    offsets: Int64Array,
    row_offsets: Int64Array,
    pack_offsets: Int64Array,
    *,
    has_end: bool,
) -> Boundaries:
    """Return segments from ragged offsets with a leading 0.

    Trailing repeats of the end are padding of the offsets (Megatron, Bridge), not segments.

    Args:
        offsets: `int64[entry]`, offsets of all packs, end to end, counted from the pack's start.
        row_offsets: `int64[pack + 1]`, where each pack's entries begin in `offsets`.
        pack_offsets: `int64[pack + 1]`.
        has_end: the last entry is the end of the pack; else only starts are stored.
    """
    rows = np.repeat(np.arange(row_offsets.size - 1), np.diff(row_offsets))
    room = np.diff(pack_offsets)
    n_packs = room.size
    first_of_row = np.zeros(offsets.size, np.bool_)
    first_of_row[row_offsets[:-1][np.diff(row_offsets) > 0]] = True
    step = np.diff(offsets, prepend=0)
    inner = ~first_of_row
    end = room[rows]
    repeated_end = inner & (step == 0) & (offsets == end) if has_end else np.zeros(offsets.size, np.bool_)
    last = np.full(n_packs, -1, np.int64)
    last[rows] = offsets
    missing = np.diff(row_offsets) == 0
    faults = [
        (
            _any_rows(first_of_row & (offsets != 0), rows, n_packs) | (missing & (room > 0)),
            OffsetFault.FIRST_NOT_ZERO,
        ),
        (_any_rows(offsets < 0, rows, n_packs), OffsetFault.NEGATIVE),
        (_any_rows(inner & (step < 0), rows, n_packs), OffsetFault.NOT_RISING),
        (_any_rows(inner & (step == 0) & ~repeated_end, rows, n_packs), OffsetFault.EMPTY_SEGMENT),
        (
            (last != room) & ~missing if has_end else _any_rows(offsets >= end, rows, n_packs) & (room > 0),
            OffsetFault.LAST_NOT_LENGTH,
        ),
    ]
    inside = (offsets >= 0) & (offsets < end)
    tiled = boundaries_from_starts(pack_offsets[:-1][rows[inside]] + offsets[inside], pack_offsets)
    return _with_faults(tiled.starts, tiled.stops, faults)


def _with_faults(
    starts: Int64Array, stops: Int64Array, faults: list[tuple[BoolArray, OffsetFault]]
) -> Boundaries:
    packs = [np.flatnonzero(mask) for mask, _ in faults]
    kinds = [np.full(p.size, kind.value, np.int64) for p, (_, kind) in zip(packs, faults, strict=True)]
    return Boundaries(
        starts=starts, stops=stops, fault_packs=np.concatenate(packs), fault_kinds=np.concatenate(kinds)
    )


def _cover(starts: Int64Array, stops: Int64Array, pack_offsets: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Record as segments also what the lengths forgot, so that nothing hides there."""
    tiled = boundaries_from_starts(np.concatenate([starts, stops[stops < pack_offsets[-1]]]), pack_offsets)
    return tiled.starts, tiled.stops


def _without_empty(starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    kept = stops > starts
    return starts[kept], stops[kept]


def _any_rows(mask: BoolArray, rows: Int64Array, n_packs: int) -> BoolArray:
    return _count_rows(rows[mask], n_packs) > 0


def _count_rows(rows: Int64Array, n_packs: int) -> Int64Array:
    return np.bincount(rows, minlength=n_packs)


def _sum_rows(values: Int64Array, rows: Int64Array, n_packs: int) -> Int64Array:
    """Add exactly in int64 (`bincount` with weights would add in float64)."""
    sums = np.zeros(n_packs, np.int64)
    np.add.at(sums, rows, values)
    return sums
