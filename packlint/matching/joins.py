"""Samples cut into consecutive segments, found without a look at any token.

    value of a run a + b  =  value of a  +  base ^ length of a  *  value of b

A stream that is cut where packs end leaves the parts of a sample side by side. Their hashes are known, and
with them, as mixing can be undone, the hash of what they are together.

    pack 0    11 12 2 13 14           13 14 and 15 16 are no samples, 13 14 15 16 is one
    pack 1    15 16 2 17 18 2
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from packlint.matching.assignment import Assignment
from packlint.matching.pieces import Pieces
from packlint.model.arrays import BoolArray, Int64Array
from packlint.summaries.matches import PlacedSegments
from packlint.summaries.polynomials import BASES, UInt64Array, hashes_of_values, powers, values_of_hashes
from packlint.summaries.samples import SampleIndex, Samples

__all__ = ["find_joined"]

_MAX_PARTS = 4
"""Parts of samples that are tried everywhere; more only where no special token stands between them."""


def find_joined(
    samples: Samples, index: SampleIndex, segments: PlacedSegments, assignment: Assignment
) -> Pieces:
    """Return the parts of samples that lie in consecutive segments; equal samples take turns.

    Args:
        samples: the reference.
        index: its look-up.
        segments: all packed segments.
        assignment: which samples have a whole copy; gets those that are found.
    """
    joins = _Joins.of(segments)
    found = [joins.find_chains(index, segments), *joins.find(index)]
    first, n_parts, contents = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(first, kind="stable")
    first, n_parts, contents = first[order], n_parts[order], contents[order]
    assigned = assignment.assign(contents)
    # What would be one copy too many may be a part of a longer sample.
    is_due = ~assigned.is_surplus
    return _pieces(samples, segments, first[is_due], n_parts[is_due], assigned.samples[is_due])


_Found = tuple[Int64Array, Int64Array, Int64Array]
"""`int64[join]` each: place of the first part among open segments, parts, content."""


@dataclass(frozen=True, slots=True, eq=False)
class _Joins:
    """Hold open segments.

    Args:
        values: `uint64[open]` twice, values of their cores.
        lengths: `int64[open]`, tokens of their cores.
        goes_on: `bool[open]`, the next open segment follows at once, and both have a core.
        is_taken: `bool[open]`, part of a sample that was found; grows.
    """

    values: tuple[UInt64Array, UInt64Array]
    lengths: Int64Array
    goes_on: BoolArray
    is_taken: BoolArray

    @classmethod
    def of(cls, segments: PlacedSegments) -> _Joins:
        open_ = segments.open_
        lengths = segments.core_lengths[open_]
        goes_on = np.zeros(open_.size, np.bool_)
        goes_on[:-1] = (np.diff(open_) == 1) & (lengths[1:] > 0) & (lengths[:-1] > 0)
        first, second = (values_of_hashes(half, lengths) for half in segments.open_hashes)
        return cls((first, second), lengths, goes_on, np.zeros(open_.size, np.bool_))

    def find(self, index: SampleIndex) -> Iterator[_Found]:
        """Yield samples of a few parts, those of most parts first: others may be their heads."""
        for n_parts, windows in reversed(list(enumerate(self._windows(), start=2))):
            taken = np.concatenate([[0], np.cumsum(self.is_taken)])
            windows = windows.take(taken[windows.first + n_parts] == taken[windows.first])
            found = windows.look_up(index)
            hits = np.flatnonzero(found >= 0)
            hits = hits[_apart(windows.first[hits], n_parts)]
            first = windows.first[hits]
            for part in range(n_parts):
                self.is_taken[first + part] = True
            yield first, np.full(hits.size, n_parts), found[hits]

    def _windows(self) -> Iterator[_Windows]:
        """Yield all runs of 2, 3, ... open segments."""
        windows = _Windows(np.arange(self.lengths.size), self.values, self.lengths)
        for n_parts in range(2, _MAX_PARTS + 1):
            windows = windows.take(self.goes_on[windows.first + n_parts - 2])
            more = windows.first + n_parts - 1
            values = [
                value + powers(windows.lengths, base) * part[more]
                for value, part, base in zip(windows.values, self.values, BASES, strict=True)
            ]
            windows = _Windows(windows.first, (values[0], values[1]), windows.lengths + self.lengths[more])
            yield windows

    def find_chains(self, index: SampleIndex, segments: PlacedSegments) -> _Found:
        """Return samples of more parts: all segments between two special tokens."""
        open_ = segments.open_
        tails = segments.specials[open_] - segments.heads[open_]
        goes_on = self.goes_on & (tails == 0)
        goes_on[:-1] &= segments.heads[open_][1:] == 0
        edges = np.flatnonzero(~goes_on) + 1
        first = np.concatenate([[0], edges[:-1]])[: edges.size]
        is_long = edges - first > _MAX_PARTS
        first, n_parts = first[is_long], (edges - first)[is_long]
        if first.size == 0:
            return first, n_parts, first
        starts = np.cumsum(n_parts) - n_parts
        part = np.repeat(first - starts, n_parts) + np.arange(n_parts.sum())
        lengths = self.lengths[part]
        before = np.cumsum(lengths) - lengths
        before -= np.repeat(before[starts], n_parts)
        halves = [
            np.add.reduceat(powers(before, base) * value[part], starts)
            for value, base in zip(self.values, BASES, strict=True)
        ]
        chains = _Windows(first, (halves[0], halves[1]), np.add.reduceat(lengths, starts))
        found = chains.look_up(index)
        is_found = found >= 0
        self.is_taken[part[np.repeat(is_found, n_parts)]] = True
        return first[is_found], n_parts[is_found], found[is_found]


@dataclass(frozen=True, slots=True, eq=False)
class _Windows:
    """Hold runs of consecutive open segments.

    Args:
        first: `int64[window]`, place of the first segment among open ones, rising.
        values: `uint64[window]` twice, values of their cores, end to end.
        lengths: `int64[window]`, tokens of these cores.
    """

    first: Int64Array
    values: tuple[UInt64Array, UInt64Array]
    lengths: Int64Array

    def take(self, which: BoolArray) -> _Windows:
        """Return some of them."""
        one, two = self.values
        return _Windows(self.first[which], (one[which], two[which]), self.lengths[which])

    def look_up(self, index: SampleIndex) -> Int64Array:
        """Return the content that each is, or -1."""
        return index.find(*(hashes_of_values(half, self.lengths) for half in self.values))


def _apart(places: Int64Array, n_parts: int) -> Int64Array:
    """Return which of rising places to keep, so that no two of them share a part."""
    if not np.any(np.diff(places) < n_parts):
        return np.arange(places.size)
    kept = [0]
    for i, (_, place) in enumerate(pairwise(places.tolist()), start=1):
        if place >= places[kept[-1]] + n_parts:
            kept.append(i)
    return np.array(kept)


def _pieces(
    samples: Samples, segments: PlacedSegments, first: Int64Array, n_parts: Int64Array, assigned: Int64Array
) -> Pieces:
    starts = np.cumsum(n_parts) - n_parts
    part = np.repeat(first - starts, n_parts) + np.arange(n_parts.sum())
    at = segments.open_[part]
    lengths = segments.core_lengths[at]
    before = np.cumsum(lengths) - lengths
    owner = np.repeat(assigned, n_parts)
    return Pieces(
        segments=at,
        starts=segments.heads[at].astype(np.int64),
        lengths=lengths,
        samples=owner,
        offsets=before - np.repeat(before[starts], n_parts) + samples.heads[owner],
        targets=segments.targets[at].astype(np.int64),
        begins_in_target=segments.begins_in_target[at],
    )
