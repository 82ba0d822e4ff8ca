"""Tokens of a sample that were packed otherwise than they are: what stands between its pieces.

segment     11 12 99 14 15        pieces 11-12 and 14-15 of one sample, and 99 between them
sample      11 12 13 14 15        13 was altered
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from packlint.matching.gaps import Gaps, find_gaps
from packlint.matching.pieces import Leftovers, Pieces
from packlint.model.arrays import BoolArray, Int64Array, sorted_distinct
from packlint.summaries.matches import PlacedSegments
from packlint.summaries.samples import Samples

__all__ = ["Alterations"]


@dataclass(slots=True)
class Alterations:
    """Hold what was altered.

    Args:
        n_tokens: `int64[sample]`, tokens that are not as they were: replaced, inserted or taken out.
        at: tokens by place in the sample: `first`, `last` or `inside`.
        is_replacement: `bool[leftover]`, the leftover stands in place of what was altered.
    """

    n_tokens: Int64Array
    is_replacement: BoolArray
    at: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(
        cls, samples: Samples, pieces: Pieces, leftovers: Leftovers, segments: PlacedSegments
    ) -> Alterations:
        """Return what was altered in samples of which pieces were found."""
        found = cls(np.zeros(len(samples), np.int64), np.zeros(len(leftovers), np.bool_))
        if len(pieces) == 0:
            return found
        between = _Between.of(samples, pieces, leftovers, segments)
        found._add(between, between.altered(samples, pieces), samples)
        return found

    def _add(self, between: _Between, rooms: Int64Array, samples: Samples) -> None:
        sample, start, stop = between.samples[rooms], between.gap_starts[rooms], between.gap_stops[rooms]
        amounts = np.maximum(stop - start, between.n_left[rooms])
        np.add.at(self.n_tokens, sample, amounts)
        head = samples.heads[sample]
        is_first = (start == head) & (stop > start)
        is_last = (stop == head + samples.n_tokens[sample]) & (stop > start) & ~is_first
        for where, which in (("first", is_first), ("last", is_last), ("inside", ~is_first & ~is_last)):
            if which.any():
                self.at[where] += int(amounts[which].sum())
        counts = between.left_counts[rooms]
        first = between.first_left[rooms] - (np.cumsum(counts) - counts)
        self.is_replacement[between.order[np.repeat(first, counts) + np.arange(counts.sum())]] = True


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Between:
    """Hold the room around pieces: before the first of a segment, between two of one sample, after the last.

    Args:
        samples: `int64[room]`, the sample on both sides.
        gap_starts: `int64[room]`, first token of the sample that belongs here.
        gap_stops: `int64[room]`, one past the last.
        n_room: `int64[room]`, tokens of the segment here.
        n_usual: `int64[room]`, special tokens that whole copies have here.
        n_left: `int64[room]`, those that are not special tokens at the ends of leftovers.
        first_left: `int64[room]`, first leftover here, in the order of segments.
        left_counts: `int64[room]`, leftovers here.
        is_inner: `bool[room]`, pieces of the sample lie on both sides.
        order: `int64[leftover]`, leftovers in the order of segments.
    """

    samples: Int64Array
    gap_starts: Int64Array
    gap_stops: Int64Array
    n_room: Int64Array
    n_usual: Int64Array
    n_left: Int64Array
    first_left: Int64Array
    left_counts: Int64Array
    is_inner: BoolArray
    order: Int64Array

    @classmethod
    def of(cls, samples: Samples, pieces: Pieces, leftovers: Leftovers, segments: PlacedSegments) -> _Between:
        """Return the rooms of all segments that hold pieces; pieces are sorted by segment and place."""
        at, stops = pieces.segments, pieces.stops
        core = samples.heads[pieces.samples].astype(np.int64)
        core_end = core + samples.n_tokens[pieces.samples]
        same = at[1:] == at[:-1]
        inner = np.flatnonzero(
            same & (pieces.samples[1:] == pieces.samples[:-1]) & (pieces.offsets[1:] >= pieces.ends[:-1])
        )
        first = np.flatnonzero(np.r_[True, ~same] & (pieces.starts > 0) & (pieces.offsets > core))
        size = segments.lengths[at].astype(np.int64)
        last = np.flatnonzero(np.r_[~same, True] & (stops < size) & (pieces.ends < core_end))
        which = np.concatenate([inner, first, last])
        width = int(segments.lengths.max(initial=0)) + 1
        base = at[which] * width
        low = base + np.concatenate([stops[inner], np.zeros(first.size, np.int64), stops[last]])
        high = base + np.concatenate([pieces.starts[inner + 1], pieces.starts[first], size[last]])
        keys = leftovers.segments * width + leftovers.starts
        order = np.argsort(keys, kind="stable")
        before = np.concatenate([[0], np.cumsum(leftovers.lengths[order])])
        first_left, stop_left = np.searchsorted(keys[order], low), np.searchsorted(keys[order], high)
        return cls(
            samples=pieces.samples[which],
            gap_starts=np.concatenate([pieces.ends[inner], core[first], pieces.ends[last]]),
            gap_stops=np.concatenate([pieces.offsets[inner + 1], pieces.offsets[first], core_end[last]]),
            n_room=high - low,
            n_usual=np.repeat([0, *_usual_specials(samples, segments)], [inner.size, first.size, last.size]),
            n_left=before[stop_left] - before[first_left],
            first_left=first_left,
            left_counts=stop_left - first_left,
            is_inner=np.arange(which.size) < inner.size,
            order=order,
        )

    def altered(self, samples: Samples, pieces: Pieces) -> Int64Array:
        """Return the rooms whose sample was altered there.

        Between two pieces anything else than the sample's own tokens is an alteration, but special tokens
        alone where nothing is missing. At the ends of a segment a sample may have been cut as well, so that
        as many tokens must stand there as are missing, beyond the special tokens that are usual there.
        """
        n_gap = self.gap_stops - self.gap_starts
        inner = self.is_inner & ((n_gap > 0) | (self.n_left > 0))
        replaced = (self.n_left == n_gap) | ((self.n_left == 0) & (n_gap <= self.n_room - self.n_usual))
        candidates = np.flatnonzero(inner | (~self.is_inner & (n_gap > 0) & replaced))
        if candidates.size == 0:
            return candidates
        gaps = find_gaps(samples, sorted_distinct(self.samples[candidates]), pieces)
        is_open = _are_gaps(
            gaps, self.samples[candidates], self.gap_starts[candidates], self.gap_stops[candidates]
        )
        found: Int64Array = candidates[is_open | (n_gap[candidates] == 0)]
        return found


def _usual_specials(samples: Samples, segments: PlacedSegments) -> tuple[int, int]:
    """Return how many special tokens stand before and after most whole copies, or else most samples."""
    is_copy = segments.sources >= 0
    heads, tails = segments.heads[is_copy], (segments.specials - segments.heads)[is_copy]
    if heads.size == 0:
        heads, tails = samples.heads, samples.tails
    return int(np.median(heads)), int(np.median(tails))


def _are_gaps(gaps: Gaps, samples: Int64Array, starts: Int64Array, stops: Int64Array) -> BoolArray:
    """Tell which parts of samples are whole gaps."""
    if len(gaps) == 0:
        return np.zeros(samples.size, np.bool_)
    width = int(max(gaps.stops.max(), starts.max(initial=0))) + 1
    place = np.searchsorted(gaps.samples * width + gaps.starts, samples * width + starts)
    at = np.minimum(place, len(gaps) - 1)
    same: BoolArray = (gaps.samples[at] == samples) & (gaps.starts[at] == starts) & (gaps.stops[at] == stops)
    return same
