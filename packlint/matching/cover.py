"""How much of each sample its pieces cover, each token counted once, and where the sample was cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.matching.pieces import Leftovers, Pieces
from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.summaries.matches import PlacedSegments
from packlint.summaries.samples import Samples

__all__ = ["Cover", "Cuts", "sum_by"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cover:
    """Hold what pieces cover of the cores of samples.

    Args:
        n_tokens: `int64[sample]`, core tokens covered.
        n_repeated: `int64[sample]`, core tokens covered again.
        n_specials: special tokens of samples that pieces hold, repeats counted.
        begins: `bool[sample]`, the first core token is covered.
        ends: `bool[sample]`, the last core token is covered.
    """

    n_tokens: Int64Array
    n_repeated: Int64Array
    n_specials: int
    begins: BoolArray
    ends: BoolArray

    @classmethod
    def of(cls, samples: Samples, pieces: Pieces) -> Cover:
        """Return the cover of all samples."""
        n = len(samples)
        owner, size = pieces.samples, samples.n_tokens[pieces.samples]
        starts = np.clip(pieces.offsets - samples.heads[owner], 0, size)
        stops = np.clip(pieces.ends - samples.heads[owner], 0, size)
        order = np.lexsort((starts, owner))
        owner, starts, stops, size = owner[order], starts[order], stops[order], size[order]
        # Samples laid end to end on one axis, so that one running maximum serves all of them.
        base = np.cumsum(samples.n_tokens)[owner] - size
        reach = np.maximum.accumulate(base + stops)
        before = np.concatenate([[0], reach[:-1]]) if reach.size else reach
        fresh = np.maximum(base + stops - np.maximum(base + starts, before), 0)
        n_fresh = sum_by(owner, fresh, n)
        return cls(
            n_tokens=n_fresh,
            n_repeated=sum_by(owner, stops - starts, n) - n_fresh,
            n_specials=int(pieces.lengths.sum() - (stops - starts).sum()),
            begins=_any(owner, (starts == 0) & (stops > 0), n),
            ends=_any(owner, (stops == size) & (stops > starts), n),
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cuts:
    """Hold where samples go on in another segment.

    Args:
        n_cuts: `int64[sample]`, places at which the sample goes on in another pack.
        in_target: `int64[sample]`, those of them at which the continuation begins with a target.
        invented_ends: `int64[sample]`, places at which special tokens were packed although it goes on.
    """

    n_cuts: Int64Array
    in_target: Int64Array
    invented_ends: Int64Array

    @classmethod
    def of(cls, samples: Samples, pieces: Pieces, leftovers: Leftovers, segments: PlacedSegments) -> Cuts:
        """Return the cuts of all samples."""
        n = len(samples)
        order = np.lexsort((pieces.offsets, pieces.samples))
        ordered = pieces.take(order)
        owner, at = ordered.samples[1:], ordered.segments
        goes_on = (owner == ordered.samples[:-1]) & (ordered.offsets[1:] == ordered.ends[:-1])
        leaves = np.zeros(owner.size, np.bool_)
        for place in (segments.packs[at], segments.shards[at]):
            leaves |= place[1:] != place[:-1]
        cut = goes_on & leaves
        invented = goes_on & _ends_in_specials(pieces, leftovers, segments)[order][:-1]
        ones = np.ones(owner.size, np.int64)
        return cls(
            n_cuts=sum_by(owner[cut], ones[cut], n),
            in_target=sum_by(owner[cut], ordered.begins_in_target[1:][cut].astype(np.int64), n),
            invented_ends=sum_by(owner[invented], ones[invented], n),
        )


def _ends_in_specials(pieces: Pieces, leftovers: Leftovers, segments: PlacedSegments) -> BoolArray:
    """Return `bool[piece]`, true where nothing but special tokens lies between it and what comes next.

    What comes next is the next piece of the segment, or the segment's end.
    """
    if len(pieces) == 0:
        return np.zeros(0, np.bool_)
    stops = pieces.stops
    until = segments.lengths[pieces.segments].astype(np.int64)
    same = pieces.segments[1:] == pieces.segments[:-1]
    until[:-1] = np.where(same, pieces.starts[1:], until[:-1])
    width = int(segments.lengths.max(initial=0)) + 1  # one axis for all segments
    left = np.sort(leftovers.segments * width + leftovers.starts)
    base = pieces.segments * width
    n_left = np.searchsorted(left, base + until) - np.searchsorted(left, base + stops)
    return np.asarray((until > stops) & (n_left == 0), np.bool_)


def sum_by(owner: Int64Array, values: IntArray, n: int) -> Int64Array:
    """Return `int64[n]`, the sum of the values of each owner; exact below 2^53."""
    return np.bincount(owner, values, minlength=n).astype(np.int64)


def _any(owner: Int64Array, flags: BoolArray, n: int) -> BoolArray:
    return np.asarray(np.bincount(owner[flags], minlength=n) > 0, np.bool_)
