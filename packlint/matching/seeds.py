"""Common runs of tokens of two texts, by seeds: equal blocks that are then stretched as far as they go.

The residue is cut into blocks of K tokens; a window of K tokens slides over the samples. Where a window
equals a block, both are compared onwards and backwards by bisection on the values of runs.

    residue    | 11 12 13 14 | 15 16 17 18 | 19          blocks of 4
    sample      9 11 12 13 14 15 16 17 18 7              the run 11 ... 18 begins at 1

Every common run of 2 K - 1 tokens holds a block; so does one of K tokens that begins where a piece begins.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from packlint.matching.runs import Runs
from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.summaries.polynomials import Prefixes, UInt64Array, inverse_powers

__all__ = ["Seeds", "block_starts", "common_length"]

_FILTER_BITS = 22
_MAX_SHARED = 16
"""Blocks of one content from which it is boilerplate, and no seed: it would pair all samples with all."""
_MAX_PAIRS = 1 << 20


class Seeds:
    """Hold the blocks of a residue, and `prefixes` of its tokens.

    Args:
        tokens: `int[token]`.
        offsets: `int64[piece + 1]`, where its pieces begin and end.
        width: tokens of a block.
    """

    def __init__(self, tokens: IntArray, offsets: Int64Array, width: int) -> None:
        self.width = width
        self.prefixes = Prefixes(tokens)
        places = block_starts(offsets, width)
        keys = self.prefixes.values(places, np.full(places.size, width))
        order = np.argsort(keys, kind="stable")
        keys, places = keys[order], places[order]
        rare = _shared_by(keys) <= _MAX_SHARED
        self._keys, self._places = keys[rare], places[rare]
        self._filter = np.zeros(1 << _FILTER_BITS, np.bool_)
        self._filter[self._slots(self._keys)] = True

    def runs(self, tokens: IntArray, offsets: Int64Array, numbers: Int64Array) -> Runs:
        """Return the common runs with some samples.

        Args:
            tokens: `int[token]` of the samples, end to end.
            offsets: `int64[sample + 1]`, where samples begin and end.
            numbers: `int64[sample]`, their numbers.
        """
        prefixes = Prefixes(tokens)
        windows = prefixes.windows(self.width)
        hits = np.flatnonzero(self._filter[self._slots(windows)])
        first = np.searchsorted(self._keys, windows[hits], side="left")
        counts = np.searchsorted(self._keys, windows[hits], side="right") - first
        sample = np.searchsorted(offsets, hits, side="right") - 1
        counts[hits + self.width > offsets[sample + 1]] = 0
        found = []
        for low, high in _portions(counts):
            n = counts[low:high]
            at = np.repeat(first[low:high] - (np.cumsum(n) - n), n) + np.arange(n.sum())
            pairs = self._places[at], np.repeat(hits[low:high], n), np.repeat(sample[low:high], n)
            found.append(self._stretch(prefixes, offsets, numbers, *pairs))
        return Runs.concatenate(found)

    def _stretch(
        self,
        prefixes: Prefixes,
        offsets: Int64Array,
        numbers: Int64Array,
        here: Int64Array,
        there: Int64Array,
        sample: Int64Array,
    ) -> Runs:
        """Return the runs around pairs of a block `here` and an equal window `there`."""
        order = np.lexsort((here, there - here))
        here, there, sample = here[order], there[order], sample[order]
        goes_on = np.zeros(here.size + 1, np.bool_)
        goes_on[1:-1] = (np.diff(here) == self.width) & (np.diff(there) == self.width)
        goes_on[1:-1] &= sample[1:] == sample[:-1]
        heads, tails = np.flatnonzero(~goes_on[:-1]), np.flatnonzero(~goes_on[1:])
        owner = sample[heads]
        room = np.minimum(here[heads], there[heads] - offsets[owner])
        before = common_length(self.prefixes, here[heads], prefixes, there[heads], room, -1)
        end_here, end_there = here[tails] + self.width, there[tails] + self.width
        room = np.minimum(self.prefixes.n_tokens - end_here, offsets[owner + 1] - end_there)
        after = common_length(self.prefixes, end_here, prefixes, end_there, room, 1)
        return Runs(
            here[heads] - before,
            end_here + after,
            numbers[owner],
            there[heads] - before - offsets[owner],
        )

    @staticmethod
    def _slots(keys: UInt64Array) -> UInt64Array:
        return keys >> np.uint64(64 - _FILTER_BITS)


def common_length(
    one: Prefixes, at: Int64Array, other: Prefixes, there: Int64Array, room: Int64Array, step: int
) -> Int64Array:
    """Return how many tokens two texts share onwards (`step` 1) or backwards (-1) from two places.

    Args:
        one: the one text.
        at: `int64[pair]`, places in it.
        other: the other text.
        there: `int64[pair]`, places in it.
        room: `int64[pair]`, tokens that both have.
        step: the direction.
    """
    low, high = np.zeros_like(room), room.copy()
    scale, other_scale = inverse_powers(at), inverse_powers(there)
    open_ = np.flatnonzero(low < high)
    while open_.size:
        middle = (low[open_] + high[open_] + 1) // 2
        same = _equal(one, at[open_], scale[open_], other, there[open_], other_scale[open_], middle * step)
        low[open_] = np.where(same, middle, low[open_])
        high[open_] = np.where(same, high[open_], middle - 1)
        open_ = open_[low[open_] < high[open_]]
    return low


def _equal(
    one: Prefixes,
    at: Int64Array,
    scale: UInt64Array,
    other: Prefixes,
    there: Int64Array,
    other_scale: UInt64Array,
    reach: Int64Array,
) -> BoolArray:
    same: BoolArray = one.moved(at, reach, scale) == other.moved(there, reach, other_scale)
    return same


def block_starts(offsets: Int64Array, width: int) -> Int64Array:
    """Return where the whole blocks of pieces begin: at 0, `width`, 2 `width` … of each piece."""
    n_blocks = np.diff(offsets) // width
    total = int(n_blocks.sum())
    inside = np.arange(total) - np.repeat(np.cumsum(n_blocks) - n_blocks, n_blocks)
    starts: Int64Array = np.repeat(offsets[:-1], n_blocks) + inside * width
    return starts


def _shared_by(keys: UInt64Array) -> Int64Array:
    """Return for each of sorted keys how many are equal to it."""
    edges = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1], True]) if keys.size else np.zeros(1, np.int64)
    counts = np.diff(edges)
    repeated: Int64Array = np.repeat(counts, counts)
    return repeated


def _portions(counts: Int64Array) -> list[tuple[int, int]]:
    """Return ranges of items whose counts add up to about `_MAX_PAIRS`."""
    edges = np.searchsorted(np.cumsum(counts), np.arange(0, int(counts.sum()), _MAX_PAIRS)[1:])
    cuts = [0, *(edges + 1).tolist(), counts.size]
    return [(a, b) for a, b in pairwise(cuts) if a < b]
