"""Where special tokens stand: one pass over all tokens, and a look-up for each question.

ids asked for     1 2  151644 151645        two clusters: ids that lie close together in the vocabulary
tokens            1 50 60 151645 2 ...      a chunk is searched for a cluster only if its ids reach that far
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray, are_among, empty_int64, true_places
from packlint.model.passes import MAX_CHUNK_TOKENS

__all__ = ["IdPlaces", "find_ids"]

_MAX_GAP = 64
"""Distance of two ids beyond which a pass for each is cheaper than sifting what lies between."""


@dataclass(frozen=True, slots=True, eq=False)
class IdPlaces:
    """Hold all places of some ids.

    Args:
        asked: the ids, rising.
        places: `int64[place]`, flat, rising.
        ids: `int[place]`, the id that stands there.
        token_range: smallest and largest id of all tokens; `(0, -1)` when there are none.
    """

    asked: Int64Array
    places: Int64Array
    ids: IntArray
    token_range: tuple[int, int]

    def knows(self, ids: Int64Array) -> bool:
        """Tell whether all these ids were asked for."""
        return bool(are_among(ids, self.asked).all())

    def of(self, ids: Int64Array) -> Int64Array:
        """Return the places of some of the ids, rising.

        Args:
            ids: `int64[any]`, rising.
        """
        if self.places.size == 0 or ids.size == 0:
            return empty_int64()
        return self.places[are_among(self.ids.astype(np.int64), ids)]


def find_ids(tokens: IntArray, ids: Int64Array) -> IdPlaces:
    """Return where ids stand.

    Args:
        tokens: `int[token]`.
        ids: `int64[any]`, rising.
    """
    clusters = [c for c in np.split(ids, np.flatnonzero(np.diff(ids) > _MAX_GAP) + 1) if c.size]
    buffers = np.empty((2, min(tokens.size, MAX_CHUNK_TOKENS)), np.bool_)
    found, limits = [empty_int64()], []
    for start in range(0, tokens.size, MAX_CHUNK_TOKENS):
        chunk = tokens[start : start + MAX_CHUNK_TOKENS]
        low, high = int(chunk.min()), int(chunk.max())
        limits += [low, high]
        reached = [c for c in clusters if c[0] <= high and low <= c[-1]]
        if reached:
            found.append(_in_chunk(chunk, reached, high, buffers[:, : chunk.size]) + start)
    places = np.concatenate(found)
    return IdPlaces(ids, places, tokens[places], (min(limits), max(limits)) if limits else (0, -1))


def _in_chunk(chunk: IntArray, clusters: Sequence[Int64Array], high: int, buffers: BoolArray) -> Int64Array:
    found = [_of_cluster(chunk, ids, high, *buffers) for ids in clusters]
    return found[0] if len(found) == 1 else np.sort(np.concatenate(found), kind="stable")


def _of_cluster(chunk: IntArray, ids: Int64Array, high: int, holds: BoolArray, room: BoolArray) -> Int64Array:
    """Return the places of rising ids that lie close together: one pass, then a sieve."""
    first, last = int(ids[0]), int(ids[-1])
    if first == last:
        return true_places(np.equal(chunk, first, out=holds))
    np.greater_equal(chunk, first, out=holds)
    if last < high:
        np.logical_and(holds, np.less_equal(chunk, last, out=room), out=holds)
    places = true_places(holds)
    if ids.size == last - first + 1:
        return places
    sieve = np.zeros(last - first + 1, np.bool_)
    sieve[ids - first] = True
    return places[sieve[chunk[places].astype(np.int64) - first]]
