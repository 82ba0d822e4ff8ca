"""The core of a sample: its tokens without the special ids at its two ends.

Packers add and strip such ids; cores are what the packed and the unpacked sample must share.

    ids 1 and 2 are special        1 11 2 12  2  2          core: 11 2 12
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.model.batch import PackBatch
from packlint.summaries.hashes import UInt64Array, wide_hash_runs

__all__ = ["Cores", "core_hashes", "cores_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Cores:
    """Hold the cores of many runs of tokens.

    Args:
        starts: `int64[run]`, first token of the core.
        stops: `int64[run]`, one past its last; equal to the start where the whole run is special.
    """

    starts: Int64Array
    stops: Int64Array

    @property
    def lengths(self) -> Int64Array:
        """`int64[run]`, tokens of each core."""
        return self.stops - self.starts

    @classmethod
    def of(cls, tokens: IntArray, starts: Int64Array, stops: Int64Array, specials: tuple[int, ...]) -> Cores:
        """Return the cores of runs, `specials` being the ids that do not count at their ends."""
        starts, stops = starts.copy(), stops.copy()
        if not specials:
            return cls(starts, stops)
        _advance(tokens, starts, stops, specials, 1)
        _advance(tokens, stops, starts, specials, -1)
        return cls(starts, stops)

    def hashes(self, tokens: IntArray) -> tuple[UInt64Array, UInt64Array]:
        """Return 128 bits for each core, in two halves."""
        return wide_hash_runs(tokens, self.starts, self.stops)


def cores_of(batch: PackBatch, specials: tuple[int, ...]) -> Cores:
    """Return the cores of a batch's segments, computed once and kept with it."""
    key = f"cores of {specials}"
    if key not in batch._cache:
        segments = batch.segments
        batch._cache[key] = Cores.of(batch.tokens, segments.starts, segments.stops, specials)
    cores: Cores = batch._cache[key]
    return cores


def core_hashes(batch: PackBatch, specials: tuple[int, ...]) -> tuple[UInt64Array, UInt64Array]:
    """Return 128 bits for each core of a batch's segments, computed once and kept with it."""
    key = f"hashes of cores of {specials}"
    if key not in batch._cache:
        batch._cache[key] = cores_of(batch, specials).hashes(batch.tokens)
    hashes: tuple[UInt64Array, UInt64Array] = batch._cache[key]
    return hashes


def _advance(
    tokens: IntArray, edges: Int64Array, limits: Int64Array, specials: tuple[int, ...], step: int
) -> None:
    """Move edges inwards, in place, while the token that they would pass is special."""
    moving = np.flatnonzero(edges != limits)
    while moving.size:
        at = edges[moving] - (1 if step < 0 else 0)
        moving = moving[_are_any(tokens[at], specials)]
        edges[moving] += step
        moving = moving[edges[moving] != limits[moving]]


def _are_any(values: IntArray, ids: tuple[int, ...]) -> BoolArray:
    found = np.zeros(values.shape, np.bool_)
    for one in ids:
        found |= values == one
    return found
