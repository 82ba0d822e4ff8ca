"""Who can see whom: the trainer's segments against the true ones, counted in closed form.

No mask is built unless the shard stores one. Take each effective block (what the trainer lets see each
other) and cut it at the true segments, padding left out. In a block with pieces of n1, n2, ... tokens from
different samples, a token of piece j can wrongly see all tokens of the pieces before it:

    true         a a a | b b | c c c c          pieces of the one block: 3, 2, 4
    effective    x x x x x x x x x              leaked pairs = 2*3 + 4*(3+2) = 26
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.model.batch import MaskKind, PackBatch
from packlint.model.boundaries import Boundaries, boundaries_from_starts
from packlint.model.contract import BoundarySource

__all__ = ["Leaks", "deciding_source", "effective_segments", "measure_leaks"]


@dataclass(frozen=True, slots=True, eq=False)
class Leaks:
    """Count pairs (query, key) with key not after query, real tokens only.

    Args:
        leaked: `int64[segment]`, pairs whose query lies in the segment and whose key in another one.
        hidden: `int64[segment]`, pairs inside the segment that the trainer does not allow.
        exposed: `int64[segment]`, tokens of the segment that can see another sample.
        first_exposed: `int64[segment]`, flat place of the first of them, -1 where there is none.
        exposed_targets: `int64[segment]`, targets among them.
        n_allowed: pairs that the trainer allows.
    """

    leaked: Int64Array
    hidden: Int64Array
    exposed: Int64Array
    first_exposed: Int64Array
    exposed_targets: Int64Array
    n_allowed: int


def deciding_source(batch: PackBatch) -> BoundarySource | None:
    """Return the source from which the trainer builds its mask; none = one causal block per pack."""
    contract = batch.shard.contract
    if contract is None:
        return None
    for source in contract.isolates_by:
        if source is BoundarySource.DENSE_MASK and batch.dense_mask is not None:
            return source
        if source not in batch.boundaries:
            continue
        overridden = contract.mask_overrides_positions and batch.mask_kind is MaskKind.BINARY
        if source is BoundarySource.POSITION_IDS and overridden:
            continue
        return source
    return None


def effective_segments(batch: PackBatch) -> Boundaries:
    """Return the blocks of tokens that the trainer lets see each other."""
    source = deciding_source(batch)
    if source is None or source is BoundarySource.DENSE_MASK:
        return boundaries_from_starts(batch.pack_offsets[:0], batch.pack_offsets)
    return batch.boundaries[source]


def measure_leaks(batch: PackBatch) -> Leaks:
    """Compare effective with true segments."""
    if deciding_source(batch) is BoundarySource.DENSE_MASK:
        return _leaks_of_dense_mask(batch)
    return _leaks_of_blocks(batch, effective_segments(batch))


def _leaks_of_blocks(batch: PackBatch, blocks: Boundaries) -> Leaks:
    n_segments = batch.n_segments
    starts, stops, segment, block = _pieces(batch, blocks)
    length = stops - starts
    order = np.lexsort((starts, block))
    before_sorted, same_sorted = _running_lengths(length[order], block[order], segment[order])
    before = np.empty_like(length)
    before[order] = before_sorted - same_sorted
    seen_own = np.empty_like(length)
    seen_own[order] = same_sorted
    own_pairs = length * (length + 1) // 2 + length * seen_own
    exposed = np.where(before > 0, length, 0)
    targets = batch.targets.count_within(starts, stops)
    first = np.full(n_segments, np.iinfo(np.int64).max)
    np.minimum.at(first, segment[before > 0], starts[before > 0])
    whole = batch.segments.lengths
    return Leaks(
        leaked=_sum_by(segment, length * before, n_segments),
        hidden=whole * (whole + 1) // 2 - _sum_by(segment, own_pairs, n_segments),
        exposed=_sum_by(segment, exposed, n_segments),
        first_exposed=np.where(first == np.iinfo(np.int64).max, -1, first),
        exposed_targets=_sum_by(segment, np.where(before > 0, targets, 0), n_segments),
        n_allowed=int((length * before + own_pairs).sum()),
    )


def _pieces(batch: PackBatch, blocks: Boundaries) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Cut true segments at block edges; real tokens in no block become blocks of one (blind, not leaking)."""
    edges = np.unique(
        np.concatenate([batch.segments.starts, batch.segments.stops, blocks.starts, blocks.stops])
    )
    starts, stops = edges[:-1], edges[1:]
    segment = batch.segments_of(starts)
    starts, stops, segment = starts[segment >= 0], stops[segment >= 0], segment[segment >= 0]
    block = np.searchsorted(blocks.starts, starts, side="right") - 1
    inside = (block >= 0) & (starts < blocks.stops[np.maximum(block, 0)]) if len(blocks) else block >= 0
    names = np.arange(len(blocks)) if blocks.groups is None else blocks.groups
    alone = len(blocks) + np.arange(starts.size)
    return starts, stops, segment, np.where(inside, names[block] if len(blocks) else 0, alone)


def _running_lengths(
    length: Int64Array, block: Int64Array, segment: Int64Array
) -> tuple[Int64Array, Int64Array]:
    """Return, per piece in block order, tokens earlier in its block, and those of its own segment."""
    total = np.append(0, np.cumsum(length))[:-1]
    return total - _at_run_start(total, block), _same_segment_before(length, block, segment)


def _at_run_start(total: Int64Array, key: Int64Array) -> Int64Array:
    if key.size == 0:
        return total
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    return np.repeat(total[starts], np.diff(np.append(starts, key.size)))


def _same_segment_before(length: Int64Array, block: Int64Array, segment: Int64Array) -> Int64Array:
    order = np.lexsort((np.arange(length.size), segment, block))
    total = np.append(0, np.cumsum(length[order]))[:-1]
    key = block[order] * (int(segment.max(initial=0)) + 1) + segment[order]
    result = np.empty_like(length)
    result[order] = total - _at_run_start(total, key)
    return result


def _leaks_of_dense_mask(batch: PackBatch) -> Leaks:
    mask = batch.dense_mask
    assert mask is not None
    n_segments, width = batch.n_segments, mask.shape[2]
    causal = np.tri(width, dtype=np.bool_)
    local = np.arange(width)
    leaked, hidden, exposed, exposed_targets = (np.zeros(n_segments, np.int64) for _ in range(4))
    first = np.full(n_segments, -1)
    n_allowed = 0
    real = batch.real.to_mask(batch.n_tokens)
    is_target = batch.targets.to_mask(batch.n_tokens)
    for pack in range(batch.n_packs):  # one explicit L x L mask at a time
        base = int(batch.pack_offsets[pack])
        segment = batch.segments_of(base + local)
        present = real[base : base + width]
        pairs = mask[pack] & causal & present[:, None] & present[None, :]
        foreign = pairs & (segment[:, None] != segment[None, :])
        own_missing = causal & ~mask[pack] & (segment[:, None] == segment[None, :]) & (segment >= 0)[:, None]
        rows = foreign.any(axis=1)
        n_allowed += int(pairs.sum())
        inside = segment >= 0
        np.add.at(leaked, segment[inside], foreign.sum(axis=1)[inside])
        np.add.at(hidden, segment[inside], own_missing.sum(axis=1)[inside])
        np.add.at(exposed, segment[inside], rows[inside])
        np.add.at(exposed_targets, segment[inside], (rows & is_target[base : base + width])[inside])
        for place in np.flatnonzero(rows & inside)[::-1]:
            first[segment[place]] = base + place
    return Leaks(leaked, hidden, exposed, first, exposed_targets, n_allowed)


def _sum_by(key: Int64Array, values: Int64Array, n: int) -> Int64Array:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, key, values)
    return sums
