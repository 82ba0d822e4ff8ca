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

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.model.boundaries import Boundaries
from packlint.model.contract import BoundarySource

__all__ = ["malformed_packs", "real_extents", "real_places", "sound_segments"]


def real_places(batch: PackBatch, places: Int64Array) -> Int64Array:
    """Return, for each flat place, the number of real tokens before it."""
    return places - batch.padding.count_before(places) if len(batch.padding) else places


def real_extents(batch: PackBatch, record: Boundaries) -> tuple[Int64Array, Int64Array]:
    """Return starts and stops of the recorded segments, counted in real tokens; those of padding left out."""
    if len(batch.padding) == 0:
        return record.starts, record.stops
    starts, stops = real_places(batch, record.starts), real_places(batch, record.stops)
    kept = stops > starts
    return starts[kept], stops[kept]


def malformed_packs(batch: PackBatch, sources: Iterable[BoundarySource | None]) -> BoolArray:
    """Return `bool[pack]`, true where one of the sources is malformed (BND002 reports it)."""
    malformed = np.zeros(batch.n_packs, np.bool_)
    for source in sources:
        if source is not None and source in batch.boundaries:
            malformed[batch.boundaries[source].fault_packs] = True
    return malformed


def sound_segments(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, false for true segments taken from a malformed record."""
    return ~malformed_packs(batch, [batch.segment_source])[batch.segments.packs]
