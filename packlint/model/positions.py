"""Stored positions against the true segments: where they restart, run on, jump, or leave their range.

segments       a  b  c  d | e  f  g | h  i
position_ids   0  1  3  4 | 5  6  7 | 9  0        2: broken step; 4: runs on; 7: jumps; 8: restart
"""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, empty_int64
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.contract import BoundarySource
from packlint.model.recorded import sound_segments
from packlint.model.spans import Spans

__all__ = ["broken_steps", "large_positions", "negative_positions", "running_segments"]


def running_segments(batch: PackBatch) -> Int64Array:
    """Return the segments that follow another one in their pack and go on with its count."""
    inner, positions = batch.inner_segments, batch.position_ids
    if positions is None:
        return empty_int64()
    first = batch.segments.starts[inner]
    own, before = positions[first].astype(np.int64), positions[first - 1].astype(np.int64)
    running = inner[(own == before + 1) & (own != 0)]
    return np.asarray(running[sound_segments(batch)[running]], np.int64)


def broken_steps(batch: PackBatch) -> Int64Array:
    """Return the flat places where the position is not one more than before, and no segment may begin.

    Restarts inside a recorded segment are left out if they can be compared as a record of their own, as are
    places next to padding, and what may be padding where nothing tells.
    """
    positions, segments = batch.position_ids, batch.segments
    places = batch.position_breaks
    segment = batch.segments_of(places)
    if positions is None or not (segment >= 0).any():
        return empty_int64()
    value, first = positions[places], places == segments.starts[segment]
    left = np.flatnonzero((segment >= 0) & ~(first & ((value == 0) | (batch.segment_numbers[segment] == 0))))
    if left.size == 0:
        return empty_int64()
    places, segment, value, first = places[left], segment[left], value[left], first[left]
    source, contract = batch.segment_source, batch.shard.contract
    inferred = source is None or not source.is_explicit
    compared = source is not BoundarySource.ROWS and BoundarySource.POSITION_IDS in batch.boundaries
    start_of_pack = positions[segments.starts[batch.segment_first_in_pack[segments.packs[segment]]]]
    allowed = (value == start_of_pack) & (first | inferred)
    allowed |= (value == 0) & (inferred | compared)
    allowed |= first & (contract is not None and contract.positions_continue)
    allowed |= batch.padding.contains(places) | batch.padding.contains(places - 1)
    allowed |= ~sound_segments(batch)[segment]
    if batch.padding_evidence is PaddingEvidence.UNKNOWN:
        allowed |= (value < 0) | (value == positions[places - 1])
    return np.asarray(places[~allowed], np.int64)


def negative_positions(batch: PackBatch) -> Spans:
    """Return the real tokens at positions below 0; none where nothing tells padding from tokens."""
    places, stops, values = _counts(batch)
    if batch.padding_evidence is PaddingEvidence.UNKNOWN or not (values < 0).any():
        return Spans.empty()
    below = Spans.from_intervals(places, np.minimum(stops, places - np.minimum(values, 0)))
    return _within(batch, below, sound_segments(batch))


def large_positions(batch: PackBatch, limit: int) -> Spans:
    """Return the real tokens at the limit or past it, in segments short enough that do not run on."""
    places, stops, values = _counts(batch)
    if batch.position_ids is None or not (values + (stops - places) > limit).any():
        return Spans.empty()
    above = Spans.from_intervals(places + np.maximum(limit - values, 0), stops)
    short = (batch.segments.lengths <= limit) & sound_segments(batch)
    short[running_segments(batch)] = False
    return _within(batch, above, short)


def _counts(batch: PackBatch) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return starts and stops of the stretches in which positions rise by one, and their first positions."""
    places = batch.position_breaks
    if batch.position_ids is None or places.size == 0:
        return empty_int64(), empty_int64(), empty_int64()
    return places, np.append(places[1:], batch.n_tokens), batch.position_ids[places].astype(np.int64)


def _within(batch: PackBatch, spans: Spans, judged: BoolArray) -> Spans:
    segments = Spans(batch.segments.starts[judged], batch.segments.stops[judged])
    return spans.intersect(segments).minus(batch.padding)
