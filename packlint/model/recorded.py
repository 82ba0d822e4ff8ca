"""Records of boundaries, made comparable: places counted in real tokens, malformed packs left out.

Padding is a segment for one source, part of the last segment for another, and nothing for a third. Counted in
real tokens only, all of them say the same:

    tokens       a  b  c | d  e  ·  ·        real tokens before each place   0 1 2 3 4 5 5 5
    seq_lens     [0,3) [3,5) [5,7)           [0,3) [3,5)
    cu_seqlens   [0,3) [3,7)                 [0,3) [3,5)
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, are_among, empty_int64, sorted_distinct
from packlint.model.batch import PackBatch
from packlint.model.boundaries import Boundaries
from packlint.model.contract import BoundarySource

__all__ = [
    "cuts_only_in",
    "flat_places",
    "malformed_packs",
    "padding_within",
    "real_cuts",
    "real_extents",
    "real_places",
    "sound_segments",
]


def real_places(batch: PackBatch, places: Int64Array) -> Int64Array:
    """Return, for each flat place, the number of real tokens before it."""
    return places - batch.padding.count_before(places) if len(batch.padding) else places


def real_extents(batch: PackBatch, source: BoundarySource) -> tuple[Int64Array, Int64Array]:
    """Return starts and stops of all recorded segments in real tokens; those of padding become empty."""
    record = batch.boundaries[source]
    if len(batch.padding) == 0:
        return record.starts, record.stops
    key = f"real_extents_{source}"
    if key not in batch._cache:
        starts = real_places(batch, record.starts)
        if np.array_equal(record.starts[1:], record.stops[:-1]):  # as most records: half the work
            stops = np.append(starts[1:], real_places(batch, record.stops[-1:]))
        else:
            stops = real_places(batch, record.stops)
        batch._cache[key] = starts, stops
    extents: tuple[Int64Array, Int64Array] = batch._cache[key]
    return extents


def padding_within(batch: PackBatch, source: BoundarySource) -> Int64Array:
    """Return `int64[recorded segment]`, padding tokens inside each."""
    record = batch.boundaries[source]
    starts, stops = real_extents(batch, source)
    return (record.stops - record.starts) - (stops - starts)


def flat_places(batch: PackBatch, places: Int64Array) -> Int64Array:
    """Return the flat places of real tokens, given by the number of real tokens before them."""
    if len(batch.padding) == 0:
        return places
    real = batch.real
    before = np.append(0, np.cumsum(real.lengths))
    run = np.searchsorted(before, places, side="right") - 1
    return np.asarray(real.starts[run] + places - before[run], np.int64)


def real_cuts(batch: PackBatch, source: BoundarySource) -> Int64Array:
    """Return, rising, the places between neighbouring real tokens that a record puts into two segments.

    Places are counted in real tokens and lie inside packs. Pieces of one group with nothing but padding
    between are one segment.
    """
    key = f"real_cuts_{source}"
    if key not in batch._cache:
        batch._cache[key] = _real_cuts(batch, source)
    cuts: Int64Array = batch._cache[key]
    return cuts


def _real_cuts(batch: PackBatch, source: BoundarySource) -> Int64Array:
    starts, stops = real_extents(batch, source)
    kept = stops > starts
    starts, stops = starts[kept], stops[kept]
    edges = real_places(batch, batch.pack_offsets)
    cuts = starts[~are_among(starts, edges)]
    open_ends = stops[:-1][stops[:-1] != starts[1:]]  # before real tokens that the record has in no segment
    open_ends = np.append(open_ends, stops[-1:])
    open_ends = open_ends[~are_among(open_ends, edges)]
    if open_ends.size:
        cuts = sorted_distinct(cuts, open_ends)
    groups = batch.boundaries[source].groups
    if groups is None or cuts.size == 0:
        return cuts
    groups = groups[kept]
    joined = (groups[1:] == groups[:-1]) & (starts[1:] == stops[:-1])
    return np.setdiff1d(cuts, starts[1:][joined], assume_unique=True)


def cuts_only_in(
    batch: PackBatch, source: BoundarySource, other: BoundarySource, *, slack_tokens: int = 0
) -> Int64Array:
    """Return the flat places of boundaries that one record has and another has not.

    Packs in which one of the two is malformed are left out.

    Args:
        batch: the packs.
        source: the record that has them.
        other: the record that lacks them.
        slack_tokens: real tokens of the same pack by which a boundary of the other record may come earlier.
    """
    if _is_same(batch.boundaries[source], batch.boundaries[other]):
        return empty_int64()
    cuts, theirs = real_cuts(batch, source), real_cuts(batch, other)
    if np.array_equal(cuts, theirs):
        return empty_int64()
    from_ = cuts
    if slack_tokens:
        edges = real_places(batch, batch.pack_offsets)
        from_ = np.maximum(cuts - slack_tokens, edges[np.searchsorted(edges, cuts, side="right") - 1])
    n_near = np.searchsorted(theirs, cuts, side="right") - np.searchsorted(theirs, from_)
    places = flat_places(batch, cuts[n_near == 0])
    malformed = malformed_packs(batch, [source, other])
    return np.asarray(places[~malformed[batch.packs_of(places)]], np.int64)


def _is_same(one: Boundaries, other: Boundaries) -> bool:
    plain = one.groups is None and other.groups is None
    return plain and np.array_equal(one.starts, other.starts) and np.array_equal(one.stops, other.stops)


def malformed_packs(batch: PackBatch, sources: Iterable[BoundarySource | None]) -> BoolArray:
    """Return `bool[pack]`, true where one of the sources is malformed (BND002 reports it)."""
    malformed = np.zeros(batch.n_packs, np.bool_)
    for source in sources:
        if source is not None and source in batch.boundaries:
            malformed[batch.boundaries[source].fault_packs] = True
    return malformed


def sound_segments(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, false for true segments taken from a malformed record."""
    malformed = malformed_packs(batch, [batch.segment_source])
    return np.asarray(~malformed[batch.segments.packs], np.bool_)
