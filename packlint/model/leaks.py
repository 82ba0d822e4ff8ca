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

from packlint.model.arrays import BoolArray, Int64Array, sorted_distinct
from packlint.model.batch import PackBatch
from packlint.model.boundaries import Boundaries
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source, effective_segments
from packlint.model.recorded import malformed_packs, real_extents

__all__ = ["Leaks", "measure_leaks"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Leaks:
    """Count pairs (query, key) with key not after query; both are real tokens of true segments.

    Packs in which the trainer's record or the true one is malformed count for nothing.

    Args:
        leaked: `int64[segment]`, pairs whose query lies in the segment and whose key in another sample.
        hidden: `int64[segment]`, pairs inside the segment that the trainer does not allow.
        allowed: `int64[segment]`, pairs that the trainer allows to queries of the segment.
        exposed: `int64[segment]`, tokens of the segment that can see another sample.
        first_exposed: `int64[segment]`, flat place of the first of them, -1 where there is none.
        exposed_targets: `int64[segment]`, targets among them.
    """

    leaked: Int64Array
    hidden: Int64Array
    allowed: Int64Array
    exposed: Int64Array
    first_exposed: Int64Array
    exposed_targets: Int64Array


def measure_leaks(batch: PackBatch) -> Leaks:
    """Compare effective with true segments; once per batch, however many rules ask."""
    if "leaks" not in batch._cache:
        batch._cache["leaks"] = _measure(batch)
    leaks: Leaks = batch._cache["leaks"]
    return leaks


def _measure(batch: PackBatch) -> Leaks:
    source = deciding_source(batch)
    if source is BoundarySource.DENSE_MASK:
        return _leaks_of_dense_mask(batch)
    if source is not None and _is_exact(batch, source):
        return _no_leaks(batch)
    return _leaks_of_blocks(batch, effective_segments(batch))


def _is_exact(batch: PackBatch, source: BoundarySource) -> bool:
    """Tell whether the trainer's record has just the true segments, as it has in every sane shard."""
    record = batch.boundaries[source]
    if record.groups is not None:
        return False
    if source is batch.segment_source:
        return True
    if batch.segment_source is None:
        return False
    mine, theirs = (_without_empty(*real_extents(batch, s)) for s in (source, batch.segment_source))
    return all(map(np.array_equal, mine, theirs))


def _without_empty(starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    kept = stops > starts
    return starts[kept], stops[kept]


def _no_leaks(batch: PackBatch) -> Leaks:
    nothing = np.zeros(batch.n_segments, np.int64)
    n_real = batch.segments.lengths
    if len(batch.padding):
        n_real = n_real - batch.padding.count_within(batch.segments.starts, batch.segments.stops)
    return Leaks(
        leaked=nothing,
        hidden=nothing,
        allowed=np.where(_is_judged(batch), _causal_pairs(n_real), 0),
        exposed=nothing,
        first_exposed=nothing - 1,
        exposed_targets=nothing,
    )


def _leaks_of_blocks(batch: PackBatch, blocks: Boundaries) -> Leaks:
    n_segments = batch.n_segments
    starts, stops, segment, block = _pieces(batch, blocks)
    length = stops - starts
    owners = _owners(batch)
    before = _before_in(length, block)
    own_before = _before_in(length, block, segment)
    foreign = before - (own_before if owners is None else _before_in(length, block, owners[segment]))
    own_pairs = np.where(block < len(blocks), _causal_pairs(length) + length * own_before, 0)
    sees = foreign > 0
    first = np.full(n_segments, batch.n_tokens)
    np.minimum.at(first, segment[sees], starts[sees])
    targets = batch.targets.count_within(starts, stops)
    n_real = _sum_by(segment, length, n_segments)
    judged = _is_judged(batch)
    return Leaks(
        leaked=_sum_by(segment, length * foreign, n_segments) * judged,
        hidden=(_causal_pairs(n_real) - _sum_by(segment, own_pairs, n_segments)) * judged,
        allowed=_sum_by(segment, own_pairs + length * (before - own_before), n_segments) * judged,
        exposed=_sum_by(segment, length * sees, n_segments) * judged,
        first_exposed=np.where(judged & (first < batch.n_tokens), first, -1),
        exposed_targets=_sum_by(segment, targets * sees, n_segments) * judged,
    )


def _pieces(batch: PackBatch, blocks: Boundaries) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Cut true segments at block and padding edges; return starts, stops, segment and block of each piece.

    A piece in no block gets a number of its own, past those of the blocks: it can see nothing.
    """
    padding = batch.padding
    records = (batch.segments, blocks, padding) if len(padding) else (batch.segments, blocks)
    edges = sorted_distinct(*(edge for r in records for edge in (r.starts, r.stops)))
    starts, stops = edges[:-1], edges[1:]
    segment = batch.segments_of(starts)
    kept = (segment >= 0) & ~padding.contains(starts)
    starts, stops, segment = starts[kept], stops[kept], segment[kept]
    alone = len(blocks) + np.arange(starts.size)
    if len(blocks) == 0:
        return starts, stops, segment, alone
    block = np.searchsorted(blocks.starts, starts, side="right") - 1
    inside = (block >= 0) & (starts < blocks.stops[block])
    names = block if blocks.groups is None else blocks.groups[block]
    return starts, stops, segment, np.where(inside, names, alone)


def _owners(batch: PackBatch) -> Int64Array | None:
    """Return the sample of each true segment where a record says that neighbours are one; else none.

    The numbered mask `1 1 0 1 1` is one sample with padding inside; in `1 1 2 2 1 1` a number comes back.
    """
    record = batch.boundaries[batch.segment_source] if batch.segment_source else None
    if record is None or record.groups is None or batch.n_segments == 0:
        return None
    group = record.groups[np.searchsorted(record.starts, batch.segments.starts, side="right") - 1]
    return np.cumsum(np.append(0, group[1:] != group[:-1]))


def _is_judged(batch: PackBatch) -> BoolArray:
    malformed = malformed_packs(batch, [batch.segment_source, deciding_source(batch)])
    return ~malformed[batch.segments.packs]


def _before_in(length: Int64Array, *keys: Int64Array) -> Int64Array:
    """Return, for each piece, the tokens of earlier pieces that have all keys in common with it."""
    order = np.lexsort(keys)  # stable: pieces of the same keys stay in the order of tokens
    total = np.cumsum(length[order]) - length[order]
    new = np.zeros(length.size, np.bool_)
    new[:1] = True
    for key in keys:
        new[1:] |= np.diff(key[order]) != 0
    first = np.flatnonzero(new)
    before = np.empty_like(length)
    before[order] = total - np.repeat(total[first], np.diff(first, append=length.size))
    return before


def _causal_pairs(length: Int64Array) -> Int64Array:
    return length * (length + 1) // 2


def _leaks_of_dense_mask(batch: PackBatch) -> Leaks:
    mask = batch.dense_mask
    assert mask is not None
    width = mask.shape[2]
    causal = np.tri(width, dtype=np.bool_)
    real, is_target = batch.real.to_mask(batch.n_tokens), batch.targets.to_mask(batch.n_tokens)
    owners = np.arange(batch.n_segments) if (joined := _owners(batch)) is None else joined
    counts = np.zeros((5, batch.n_segments), np.int64)
    first = np.full(batch.n_segments, -1)
    judged = _is_judged(batch)
    for pack in range(batch.n_packs):  # one explicit L x L mask at a time
        places = np.arange(batch.pack_offsets[pack], batch.pack_offsets[pack + 1])
        places = places[real[places] & (batch.segments_of(places) >= 0)]
        local = places - batch.pack_offsets[pack]
        segment = batch.segments_of(places)
        could = causal[np.ix_(local, local)]
        may = mask[pack][np.ix_(local, local)] & could
        owner = owners[segment]
        foreign = may & (owner[:, None] != owner[None, :])
        own_missing = could & ~may & (segment[:, None] == segment[None, :])
        sees = foreign.any(axis=1)
        rows = (foreign.sum(axis=1), own_missing.sum(axis=1), may.sum(axis=1), sees, sees & is_target[places])
        for count, row in zip(counts, rows, strict=True):
            np.add.at(count, segment, row * judged[segment])
        first[segment[sees][::-1]] = places[sees][::-1]
    leaked, hidden, allowed, exposed, exposed_targets = counts
    return Leaks(
        leaked=leaked,
        hidden=hidden,
        allowed=allowed,
        exposed=exposed,
        first_exposed=np.where(judged, first, -1),
        exposed_targets=exposed_targets,
    )


def _sum_by(key: Int64Array, values: Int64Array, n: int) -> Int64Array:
    sums = np.zeros(n, np.int64)
    np.add.at(sums, key, values)
    return sums
