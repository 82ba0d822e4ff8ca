"""A look at a few rows of a shard: what no header says and a linter must know before it reads on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.model.labels import OFFSETS
from packlint.readers.ragged import drop_ragged
from packlint.readers.reading import IGNORE_INDEX
from packlint.readers.shard import Ragged, RawRows, Role

__all__ = ["Observations", "observe"]


@dataclass(slots=True)
class Observations:
    """Count what was seen; adds up over shards of the same layout.

    Args:
        n_rows: rows seen.
        n_tokens: tokens seen.
        row_lengths: how often each row length was seen.
        n_live: labels other than the ignored one, with a token at every offset of `OFFSETS` where it counts.
        matches: for each offset of `OFFSETS`, live labels equal to the token there.
        n_unmasked: tokens that the stored loss asks for.
        has_loss: labels or a loss mask are stored.
        mask_values: smallest and largest value of `attention_mask`.
        n_restarts: positions 0 inside rows, not at their start.
        tail_ids: ids of constant tails with position 0 (a mark of padding).
        last_ids: ids of segment ends that do not touch the row's end.
        n_ends: how many segment ends were seen.
        id_counts: how often each id occurs at all, where segment ends are recorded.
        max_id: largest id.
        min_segment_id: smallest segment id, where stored.
        n_lengths_leave_padding: rows whose lengths add up to their unmasked tokens, and these are not all.
        n_lengths_cover_padding: rows whose lengths add up to the whole row, padding included.
        n_zero_based: rows that begin with segment id 0 over tokens that are not one repeated id.
    """

    n_rows: int = 0
    n_tokens: int = 0
    row_lengths: Counter[int] = field(default_factory=Counter)
    n_live: int = 0
    matches: list[int] = field(default_factory=lambda: [0] * len(OFFSETS))
    n_unmasked: int = 0
    has_loss: bool = False
    mask_values: tuple[int, int] | None = None
    n_restarts: int = 0
    tail_ids: Counter[int] = field(default_factory=Counter)
    last_ids: Counter[int] = field(default_factory=Counter)
    id_counts: Counter[int] = field(default_factory=Counter)
    max_id: int = -1
    min_segment_id: int | None = None
    n_zero_based: int = 0
    n_lengths_leave_padding: int = 0
    n_lengths_cover_padding: int = 0

    @property
    def n_ends(self) -> int:
        """Segment ends seen."""
        return sum(self.last_ids.values())

    def add(self, other: Observations) -> None:
        """Add what was seen elsewhere."""
        self.n_rows += other.n_rows
        self.n_tokens += other.n_tokens
        self.n_live += other.n_live
        self.matches = [a + b for a, b in zip(self.matches, other.matches, strict=True)]
        self.n_unmasked += other.n_unmasked
        self.has_loss |= other.has_loss
        self.n_restarts += other.n_restarts
        self.n_zero_based += other.n_zero_based
        self.n_lengths_leave_padding += other.n_lengths_leave_padding
        self.n_lengths_cover_padding += other.n_lengths_cover_padding
        self.max_id = max(self.max_id, other.max_id)
        for mine, theirs in (
            (self.row_lengths, other.row_lengths),
            (self.tail_ids, other.tail_ids),
            (self.last_ids, other.last_ids),
            (self.id_counts, other.id_counts),
        ):
            mine.update(theirs)
        ranges = [r for r in (self.mask_values, other.mask_values) if r is not None]
        self.mask_values = (min(r[0] for r in ranges), max(r[1] for r in ranges)) if ranges else None
        lows = [i for i in (self.min_segment_id, other.min_segment_id) if i is not None]
        self.min_segment_id = min(lows) if lows else None


def observe(rows: Iterable[RawRows], ignore_index: int = IGNORE_INDEX) -> Observations:
    """Count what the rows show."""
    seen = Observations()
    for raw in rows:
        if Role.INPUT_IDS not in raw.columns or raw.columns[Role.INPUT_IDS].values.size == 0:
            continue
        columns = drop_ragged(raw)[0].columns
        ids = columns[Role.INPUT_IDS]
        if ids.values.size == 0:
            continue
        seen.n_rows += ids.n_rows
        seen.n_tokens += int(ids.values.size)
        seen.row_lengths.update(np.diff(ids.offsets).tolist())
        seen.max_id = max(seen.max_id, int(ids.values.max()))
        _observe_loss(seen, columns, ids, ignore_index)
        _observe_masks(seen, columns, ids)
        _observe_positions(seen, columns, ids)
        _observe_ends(seen, columns, ids)
        _observe_lengths(seen, columns, ids)
    return seen


def _observe_loss(seen: Observations, columns: Mapping[Role, Ragged], ids: Ragged, ignore_index: int) -> None:
    labels, mask = columns.get(Role.LABELS), columns.get(Role.LOSS_MASK)
    mask = mask or columns.get(Role.LABEL_SEGMENT_IDS)
    if labels is None and mask is None:
        return
    seen.has_loss = True
    live = mask.values != 0 if mask is not None else labels.values != ignore_index  # type: ignore[union-attr]
    seen.n_unmasked += int(np.count_nonzero(live))
    if labels is None:
        return
    places = np.flatnonzero(live)
    row = np.searchsorted(ids.offsets, places, side="right") - 1
    begin, end = ids.offsets[row], ids.offsets[row + 1]
    inner = places[(places > begin) & (places + 2 < end)]
    seen.n_live += int(inner.size)
    for k, offset in enumerate(OFFSETS):
        seen.matches[k] += int(np.count_nonzero(labels.values[inner] == ids.values[inner + offset]))


def _observe_masks(seen: Observations, columns: Mapping[Role, Ragged], ids: Ragged) -> None:
    if (mask := columns.get(Role.ATTENTION_MASK)) and mask.values.size:
        low, high = int(mask.values.min()), int(mask.values.max())
        old = seen.mask_values or (low, high)
        seen.mask_values = (min(low, old[0]), max(high, old[1]))
    if (segment_ids := columns.get(Role.SEGMENT_IDS)) and segment_ids.values.size:
        low = int(segment_ids.values.min())
        seen.min_segment_id = low if seen.min_segment_id is None else min(low, seen.min_segment_id)
        first = ids.offsets[:-1][np.diff(ids.offsets) > 1]
        both_zero = (segment_ids.values[first] == 0) & (segment_ids.values[first + 1] == 0)
        seen.n_zero_based += int(np.count_nonzero(both_zero & (ids.values[first] != ids.values[first + 1])))


def _observe_positions(seen: Observations, columns: Mapping[Role, Ragged], ids: Ragged) -> None:
    positions = columns.get(Role.POSITION_IDS)
    if positions is None:
        return
    zero = positions.values == 0
    starts = ids.offsets[:-1][np.diff(ids.offsets) > 0]
    inner = zero.copy()
    inner[starts] = False
    tail = _in_constant_tail(zero, ids)
    seen.n_restarts += int(np.count_nonzero(inner & ~tail))
    first_of_tail = np.flatnonzero(tail & ~np.append(False, tail[:-1]) & inner)
    run_end = np.minimum(first_of_tail + 1, tail.size - 1)
    longer = first_of_tail[tail[run_end] & (run_end > first_of_tail)]
    seen.tail_ids.update(ids.values[longer].tolist())


def _in_constant_tail(zero: BoolArray, ids: Ragged) -> BoolArray:
    """Mark the last tokens of each row that all have position 0 and one id."""
    same = np.append(ids.values[1:] == ids.values[:-1], False)
    last = ids.offsets[1:][np.diff(ids.offsets) > 0] - 1
    same[last] = True
    good = zero & same
    bad = np.flatnonzero(~good)
    place = np.arange(zero.size)
    row_end = ids.offsets[np.searchsorted(ids.offsets, place, side="right")]
    next_bad = np.append(bad, zero.size)[np.searchsorted(bad, place, side="left")]
    return np.asarray(next_bad >= row_end, np.bool_)


def _observe_ends(seen: Observations, columns: Mapping[Role, Ragged], ids: Ragged) -> None:
    stops = _segment_stops(columns, ids)
    if stops is None:
        return
    seen.last_ids.update(ids.values[stops - 1].tolist())
    tokens, counts = np.unique(ids.values, return_counts=True)
    seen.id_counts.update(dict(zip(tokens.tolist(), counts.tolist(), strict=True)))


def _observe_lengths(seen: Observations, columns: Mapping[Role, Ragged], ids: Ragged) -> None:
    lens, mask = columns.get(Role.SEQ_LENS), columns.get(Role.ATTENTION_MASK) or columns.get(Role.SEGMENT_IDS)
    if lens is None or mask is None:
        return
    sums = _row_sums(lens.values, lens.offsets)
    real, room = _row_sums(mask.values > 0, mask.offsets), np.diff(ids.offsets)
    seen.n_lengths_leave_padding += int(np.count_nonzero((sums == real) & (real < room)))
    seen.n_lengths_cover_padding += int(np.count_nonzero((sums == room) & (real < room)))


def _row_sums(values: NDArray[Any], offsets: Int64Array) -> Int64Array:
    running = np.append(0, np.cumsum(values, dtype=np.int64))
    return np.asarray(running[offsets[1:]] - running[offsets[:-1]], np.int64)


def _segment_stops(columns: Mapping[Role, Ragged], ids: Ragged) -> Int64Array | None:
    """Return flat ends of recorded segments that do not touch the row's end (those may be cut)."""
    if lens := columns.get(Role.SEQ_LENS):
        rows = np.repeat(np.arange(lens.n_rows), np.diff(lens.offsets))
        total = np.append(0, np.cumsum(lens.values, dtype=np.int64))
        stops = ids.offsets[rows] + total[1:] - total[lens.offsets[rows]]
    elif cu := columns.get(Role.CU_SEQLENS) or columns.get(Role.SEGMENT_STARTS):
        rows = np.repeat(np.arange(cu.n_rows), np.diff(cu.offsets))
        stops = ids.offsets[rows] + cu.values.astype(np.int64)
    elif Role.DOCUMENT_STARTS in columns:
        return _document_stops(columns[Role.DOCUMENT_STARTS], ids)
    elif record := columns.get(Role.SEGMENT_IDS) or columns.get(Role.ATTENTION_MASK):
        changes: IntArray = record.values
        stops = np.flatnonzero(changes[1:] != changes[:-1]) + 1
        rows = np.searchsorted(ids.offsets, stops, side="right") - 1
    else:
        return None
    inside = (stops > ids.offsets[rows]) & (stops < ids.offsets[rows + 1])
    return np.asarray(stops[inside], np.int64)


def _document_stops(starts: Ragged, ids: Ragged) -> Int64Array:
    """Return ends of documents; a row that is one whole document ends where the document does."""
    rows = np.repeat(np.arange(starts.n_rows), np.diff(starts.offsets))
    inner = ids.offsets[rows] + starts.values.astype(np.int64)
    inner = inner[(inner > ids.offsets[rows]) & (inner < ids.offsets[rows + 1])]
    if inner.size:
        return inner
    return ids.offsets[1:][np.diff(ids.offsets) > 0]
