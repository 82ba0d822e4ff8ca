"""Runs of tokens as sorted, disjoint, half-open intervals.

Most questions about tokens ("how many targets has each segment?") are questions about runs. There are
thousands of times fewer runs than tokens, so rules count with these and never loop over tokens:

    is_target    0 0 1 1 1 0 0 1 1 0
    starts           2         7
    stops                  5       9
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, are_among, empty_int64, sorted_distinct
from packlint.model.derived import derived
from packlint.model.passes import find_changes

__all__ = ["Spans"]


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Hold runs `[starts[i], stops[i])`, rising, disjoint and not empty.

    Args:
        starts: `int64[span]`, first token of each run.
        stops: `int64[span]`, one past the last token of each run.
    """

    starts: Int64Array
    stops: Int64Array
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def empty(cls) -> Spans:
        """Return no runs."""
        return cls(empty_int64(), empty_int64())

    @classmethod
    def from_mask(cls, mask: BoolArray) -> Spans:
        """Return the runs of true values of `bool[token]`."""
        if mask.size == 0:
            return cls.empty()
        head = [0] if mask[0] else []
        tail = [mask.size] if mask[-1] else []
        edges = np.concatenate([np.array(head, np.int64), find_changes(mask), np.array(tail, np.int64)])
        return cls(edges[0::2].copy(), edges[1::2].copy())  # searching in views would copy them every time

    @classmethod
    def from_indices(cls, indices: Int64Array) -> Spans:
        """Return the runs of rising, distinct token indices."""
        if indices.size == 0:
            return cls.empty()
        breaks = np.flatnonzero(np.diff(indices) != 1)
        starts = indices[np.concatenate([[0], breaks + 1])]
        stops = indices[np.concatenate([breaks, [indices.size - 1]])] + 1
        return cls(starts.astype(np.int64, copy=False), stops.astype(np.int64, copy=False))

    @classmethod
    def from_intervals(cls, starts: Int64Array, stops: Int64Array) -> Spans:
        """Return rising, disjoint intervals without the empty ones, joined where they touch."""
        kept = stops > starts
        if not kept.all():
            starts, stops = starts[kept], stops[kept]
        if starts.size == 0:
            return cls.empty()
        apart = starts[1:] != stops[:-1]
        if apart.all():
            return cls(starts, stops)
        return cls(
            starts[np.concatenate([[True], apart])],
            stops[np.concatenate([apart, [True]])],
        )

    def __len__(self) -> int:
        return int(self.starts.size)

    @property
    def lengths(self) -> Int64Array:
        """`int64[span]`, tokens in each run."""
        return self.stops - self.starts

    @property
    def n_tokens(self) -> int:
        """Tokens in all runs."""
        return int(self.lengths.sum())

    @derived
    def _prefixes(self) -> tuple[Int64Array, Int64Array]:
        """`int64[span + 1]` twice: where the runs before each end at the latest, and their tokens."""
        totals = np.zeros(len(self) + 1, np.int64)
        self.lengths.cumsum(out=totals[1:])
        return np.concatenate([[np.iinfo(np.int64).min // 2], self.stops]), totals

    def count_before(self, places: Int64Array) -> Int64Array:
        """Count, for each place, the tokens of these runs that lie before it."""
        if len(self) == 0:
            return np.zeros(places.shape, np.int64)
        ends, totals = self._prefixes
        run = self.starts.searchsorted(places)
        overhang = ends[run]
        overhang -= places
        found: Int64Array = totals[run]
        found -= np.maximum(overhang, 0, out=overhang)
        return found

    def count_within(self, starts: Int64Array, stops: Int64Array) -> Int64Array:
        """Count the tokens of these runs inside each interval `[starts[i], stops[i])`."""
        return self.count_before(stops) - self.count_before(starts)

    def equals(self, other: Spans) -> bool:
        """Tell whether these are the very runs of `other`."""
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.stops, other.stops)

    def lie_in(self, other: Spans) -> bool:
        """Tell whether every token of these runs is in a run of `other`."""
        return int(other.count_within(self.starts, self.stops).sum()) == self.n_tokens

    def contains(self, places: Int64Array) -> BoolArray:
        """Tell for each token index whether it lies in a run."""
        if len(self) == 0:
            return np.zeros(places.shape, np.bool_)
        ends, _ = self._prefixes
        return np.asarray(places < ends[self.starts.searchsorted(places, side="right")], np.bool_)

    def intersect(self, other: Spans) -> Spans:
        """Return the tokens that lie in both."""
        return self._combine(other, np.logical_and)

    def minus(self, other: Spans) -> Spans:
        """Return the tokens that lie here and not in `other`."""
        return self._combine(other, lambda mine, theirs: mine & ~theirs)

    def union(self, other: Spans) -> Spans:
        """Return the tokens that lie in either."""
        return self._combine(other, np.logical_or)

    def split_at(self, places: Int64Array) -> Spans:
        """Cut the runs at the given rising places, so that none reaches across one."""
        if len(self) == 0:
            return self
        inside = self.contains(places) & ~are_among(places, self.starts)
        cuts = places[inside]
        return Spans(
            np.sort(np.concatenate([self.starts, cuts])), np.sort(np.concatenate([self.stops, cuts]))
        )

    def to_mask(self, n_tokens: int) -> BoolArray:
        """Return `bool[token]`, true inside the runs."""
        flips = np.zeros(n_tokens + 1, np.int8)
        flips[self.starts] += 1
        flips[self.stops] -= 1
        return np.asarray(np.cumsum(flips[:-1], dtype=np.int8).view(np.bool_))

    def _combine(self, other: Spans, keep: Callable[[BoolArray, BoolArray], BoolArray]) -> Spans:
        edges = sorted_distinct(self.starts, self.stops, other.starts, other.stops)
        if edges.size == 0:
            return Spans.empty()
        kept = np.flatnonzero(keep(self.contains(edges[:-1]), other.contains(edges[:-1])))
        return Spans.from_intervals(edges[kept], edges[kept + 1])
