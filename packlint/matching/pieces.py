"""Pieces: stretches of packed segments that were led back to a part of a sample; and what is left.

segment     1 11 12 13 | 14 15  2 |            two segments, of which none is a whole sample
sample      11 12 13 14 15 16                  pieces 11-13 and 14-15; left: 1 and 2, both special
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packlint.matching.residue import Residue
from packlint.matching.runs import Runs
from packlint.model.arrays import BoolArray, Int64Array, sorted_distinct
from packlint.summaries.cores import Cores
from packlint.summaries.hashes import UInt64Array

__all__ = ["Leftovers", "Pieces", "find_leftovers", "pieces_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Hold pieces, sorted by segment and place.

    Args:
        segments: `int64[piece]`, place of the segment among all segments of the run.
        starts: `int64[piece]`, first token, counted from the segment's start.
        lengths: `int64[piece]`, tokens.
        samples: `int64[piece]`, number of the sample.
        offsets: `int64[piece]`, first token of the part of the sample, its special tokens counted.
        targets: `int64[piece]`, targets.
        begins_in_target: `bool[piece]`, the first token is a target.
    """

    segments: Int64Array
    starts: Int64Array
    lengths: Int64Array
    samples: Int64Array
    offsets: Int64Array
    targets: Int64Array
    begins_in_target: BoolArray

    def __len__(self) -> int:
        return int(self.segments.size)

    @property
    def stops(self) -> Int64Array:
        """`int64[piece]`, one past the last token, counted from the segment's start."""
        return self.starts + self.lengths

    @property
    def ends(self) -> Int64Array:
        """`int64[piece]`, one past the part's last token in the sample."""
        return self.offsets + self.lengths

    def take(self, which: Int64Array | BoolArray) -> Pieces:
        """Return some of them."""
        return Pieces(*(getattr(self, name)[which] for name in _PIECE_COLUMNS))

    @classmethod
    def concatenate(cls, parts: Sequence[Pieces]) -> Pieces:
        """Return all pieces, sorted by segment and place."""
        pieces = cls.end_to_end(parts)
        return pieces.take(np.lexsort((pieces.starts, pieces.segments)))

    @classmethod
    def end_to_end(cls, parts: Sequence[Pieces]) -> Pieces:
        """Return all pieces in the order of the parts."""
        columns = [
            np.concatenate([getattr(part, name) for part in parts])
            if parts
            else np.zeros(0, np.bool_ if name == "begins_in_target" else np.int64)
            for name in _PIECE_COLUMNS
        ]
        return cls(*columns)


_PIECE_COLUMNS = ("segments", "starts", "lengths", "samples", "offsets", "targets", "begins_in_target")


@dataclass(frozen=True, slots=True, eq=False)
class Leftovers:
    """Hold stretches of segments that no piece explains, without special tokens at their ends.

    Args:
        segments: `int64[leftover]`, place of the segment among all segments of the run.
        starts: `int64[leftover]`, first token, counted from the segment's start.
        lengths: `int64[leftover]`, tokens.
        first: `uint64[leftover]`, one half of the hash of the tokens.
        second: `uint64[leftover]`, the other half.
        targets: `int64[leftover]`, targets.
        begins_in_target: `bool[leftover]`, the first token is a target.
        is_recorded: `bool[leftover]`, the shard says where the segment begins and ends.
    """

    segments: Int64Array
    starts: Int64Array
    lengths: Int64Array
    first: UInt64Array
    second: UInt64Array
    targets: Int64Array
    begins_in_target: BoolArray
    is_recorded: BoolArray

    def __len__(self) -> int:
        return int(self.segments.size)

    def take(self, which: Int64Array | BoolArray) -> Leftovers:
        """Return some of them."""
        return Leftovers(*(getattr(self, name)[which] for name in _LEFTOVER_TYPES))

    @classmethod
    def concatenate(cls, parts: Sequence[Leftovers]) -> Leftovers:
        """Return all leftovers, in the order of the parts."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts]) if parts else np.zeros(0, dtype)
                for name, dtype in _LEFTOVER_TYPES.items()
            )
        )


_LEFTOVER_TYPES: dict[str, type] = {
    "segments": np.int64,
    "starts": np.int64,
    "lengths": np.int64,
    "first": np.uint64,
    "second": np.uint64,
    "targets": np.int64,
    "begins_in_target": np.bool_,
    "is_recorded": np.bool_,
}


def pieces_of(residue: Residue, runs: Runs) -> Pieces:
    """Return runs, which do not overlap, as pieces of segments."""
    cut = runs.cut_at(residue.offsets)
    piece = np.searchsorted(residue.offsets, cut.starts, side="right") - 1
    n_before = _targets_before(residue)
    return Pieces(
        segments=residue.segments[piece],
        starts=residue.starts[piece] + cut.starts - residue.offsets[piece],
        lengths=cut.lengths,
        samples=cut.samples,
        offsets=cut.offsets,
        targets=n_before[cut.stops] - n_before[cut.starts],
        begins_in_target=residue.is_target[cut.starts],
    )


def uncovered(residue: Residue, runs: Runs, specials: tuple[int, ...], places: Int64Array) -> Cores:
    """Return the stretches that no run covers, without special tokens at their ends.

    Args:
        residue: the segments.
        runs: runs that do not overlap, sorted.
        specials: ids that do not count at ends.
        places: where stretches are cut, rising.
    """
    edges = sorted_distinct(places, runs.starts, runs.stops)
    starts, stops = edges[:-1], edges[1:]
    place = np.searchsorted(runs.starts, starts, side="right") - 1
    is_covered = (place >= 0) & (starts < runs.stops[np.maximum(place, 0)]) if len(runs) else starts < 0
    free = Cores.of(residue.tokens, starts[~is_covered], stops[~is_covered], specials)
    is_left = free.lengths > 0
    return Cores(free.starts[is_left], free.stops[is_left])


def find_leftovers(residue: Residue, runs: Runs, specials: tuple[int, ...]) -> Leftovers:
    """Return what no run explains."""
    free = uncovered(residue, runs, specials, residue.offsets)
    piece = np.searchsorted(residue.offsets, free.starts, side="right") - 1
    n_before = _targets_before(residue)
    first, second = free.hashes(residue.tokens)
    return Leftovers(
        segments=residue.segments[piece],
        starts=residue.starts[piece] + free.starts - residue.offsets[piece],
        lengths=free.lengths,
        first=first,
        second=second,
        targets=n_before[free.stops] - n_before[free.starts],
        begins_in_target=residue.is_target[free.starts],
        is_recorded=residue.is_recorded[piece],
    )


def _targets_before(residue: Residue) -> Int64Array:
    return np.concatenate([[0], np.cumsum(residue.is_target, dtype=np.int64)])
