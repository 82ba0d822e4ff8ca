"""Whole samples in streams without record of boundaries: found by how they end, verified by their hash.

A window of K tokens slides over the packs. Where it equals the last K tokens of a sample, the hash of as many
tokens as the sample has, up to there, tells whether all of it lies there. The reference is read once for all
packs; what is left is little enough to be compared with it piece by piece.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from packlint.matching.reference import SampleBlock
from packlint.matching.residue import Residue
from packlint.matching.runs import Runs
from packlint.model.arrays import Int64Array, IntArray
from packlint.summaries.polynomials import (
    BASES,
    Prefixes,
    UInt64Array,
    hashes_of_values,
    values_of_runs,
)
from packlint.summaries.samples import SampleIndex, Samples

__all__ = ["SampleEnds"]

_WIDTH = 16
_FILTER_BITS = 26
_MAX_SHARED = 16
"""Contents that end alike; where more do, the window tells too little."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleEnds:
    """Know how samples end.

    Args:
        samples: the reference.
        keys: `uint64[content]`, values of the last tokens of cores, rising.
        numbers: `int64[content]`, the first sample of each content.
    """

    samples: Samples
    keys: UInt64Array
    numbers: Int64Array

    @classmethod
    def of(cls, samples: Samples, index: SampleIndex, blocks: Iterable[SampleBlock]) -> SampleEnds:
        """Return the ends of the contents of some samples, in any order; those too short are left out."""
        found = [_ends(samples, index, *block) for block in blocks]
        keys = np.concatenate([np.zeros(0, np.uint64), *(keys for keys, _ in found)])
        numbers = np.concatenate([np.zeros(0, np.int64), *(numbers for _, numbers in found)])
        order = np.argsort(keys, kind="stable")
        keys, numbers = keys[order], numbers[order]
        shared = np.searchsorted(keys, keys, side="right") - np.searchsorted(keys, keys)
        return cls(samples, keys[shared <= _MAX_SHARED], numbers[shared <= _MAX_SHARED])

    def runs(self, residue: Residue) -> Runs:
        """Return where whole samples lie, none over another; samples are numbers of contents."""
        prefixes = Prefixes(residue.tokens)
        windows = prefixes.windows(_WIDTH)
        at = np.flatnonzero(self._filter()[_slots(windows)])
        first = np.searchsorted(self.keys, windows[at])
        counts = np.searchsorted(self.keys, windows[at], side="right") - first
        which = np.repeat(first - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        sample, stops = self.numbers[which], np.repeat(at, counts) + _WIDTH
        starts = stops - self.samples.n_tokens[sample]
        breaks = residue.breaks
        inside = starts >= 0
        inside &= np.searchsorted(breaks, starts, side="right") == np.searchsorted(breaks, stops)
        starts, stops, sample = starts[inside], stops[inside], sample[inside]
        hashes = hashes_of_values(prefixes.values(starts, stops - starts), stops - starts)
        same = hashes == self.samples.hashes[0][sample]
        found = Runs(starts, stops, sample, self.samples.heads[sample].astype(np.int64)).take(same)
        return _apart(found)

    def _filter(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        found = np.zeros(1 << _FILTER_BITS, np.bool_)
        found[_slots(self.keys)] = True
        return found


def _ends(
    samples: Samples, index: SampleIndex, tokens: IntArray, offsets: Int64Array, numbers: Int64Array
) -> tuple[UInt64Array, Int64Array]:
    is_kept = (index.contents[numbers] == numbers) & (samples.n_tokens[numbers] >= _WIDTH)
    numbers = numbers[is_kept]
    stops = offsets[:-1][is_kept] + samples.heads[numbers] + samples.n_tokens[numbers]
    [values] = values_of_runs(tokens, stops - _WIDTH, stops, BASES[:1])
    return values, numbers


def _slots(keys: UInt64Array) -> UInt64Array:
    return keys >> np.uint64(64 - _FILTER_BITS)


def _apart(runs: Runs) -> Runs:
    """Return runs that do not overlap: those inside others give way, then those that begin later."""
    runs = runs.take(np.lexsort((-runs.stops, runs.starts)))
    reach = np.maximum.accumulate(np.concatenate([[-1], runs.stops]))[:-1]
    runs = runs.take(runs.stops > reach)
    while np.any(overlaps := runs.starts[1:] < runs.stops[:-1]):
        overlaps[1:] &= ~overlaps[:-1]  # of a chain every other one
        runs = runs.take(np.concatenate([[True], ~overlaps]))
    return runs
