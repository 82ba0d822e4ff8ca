"""Tokens of the segments that are no whole copy of a sample, end to end in the order of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from packlint.engine.scan import ShardPlan
from packlint.errors import UnreadableError
from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.model.batch import PackBatch, Unit
from packlint.model.edges import is_recorded
from packlint.readers.canonical import build
from packlint.readers.shard import BLOCK_TOKENS
from packlint.summaries.matches import PlacedSegments

__all__ = ["Residue", "batches", "gather", "residues"]


@dataclass(frozen=True, slots=True, eq=False)
class Residue:
    """Hold segments, or parts of segments.

    Args:
        tokens: `int[token]`.
        offsets: `int64[piece + 1]`, where pieces begin and end.
        segments: `int64[piece]`, place of each among all segments of the run.
        starts: `int64[piece]`, first token, counted from the segment's start.
        is_target: `bool[token]`.
        is_recorded: `bool[piece]`, the shard says where the segment begins and ends.
        reaches_end: `bool[piece]`, it holds the last token of the segment.
    """

    tokens: IntArray
    offsets: Int64Array
    segments: Int64Array
    starts: Int64Array
    is_target: BoolArray
    is_recorded: BoolArray
    reaches_end: BoolArray

    @property
    def breaks(self) -> Int64Array:
        """`int64[any]`, rising places where no sample goes on but by chance, both ends too."""
        goes_on = (np.diff(self.segments) == 1) & ~self.is_recorded[1:]
        goes_on &= self.reaches_end[:-1] & (self.starts[1:] == 0)
        breaks: Int64Array = self.offsets[np.concatenate([[True], ~goes_on, [True]])]
        return breaks

    def part(self, starts: Int64Array, stops: Int64Array) -> Residue:
        """Return some stretches, rising, each inside one piece, as pieces of their own."""
        places, offsets = gather(starts, stops)
        piece = np.searchsorted(self.offsets, starts, side="right") - 1
        return Residue(
            tokens=self.tokens[places],
            offsets=offsets,
            segments=self.segments[piece],
            starts=self.starts[piece] + starts - self.offsets[piece],
            is_target=self.is_target[places],
            is_recorded=self.is_recorded[piece],
            reaches_end=self.reaches_end[piece] & (stops == self.offsets[piece + 1]),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Residue]) -> Residue:
        """Return all pieces."""
        sizes = np.concatenate([np.diff(part.offsets) for part in parts])
        columns = ("tokens", "segments", "starts", "is_target", "is_recorded", "reaches_end")
        joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in columns}
        return cls(offsets=np.concatenate([[0], np.cumsum(sizes)]), **joined)


def residues(
    plans: Sequence[ShardPlan], placed: PlacedSegments, is_wanted: BoolArray, max_tokens: int
) -> Iterator[Residue]:
    """Yield the tokens of some segments, about `max_tokens` at a time; reads only parts that hold some."""
    pending: list[Residue] = []
    n_pending = 0
    for index, plan in enumerate(plans):
        low, high = np.searchsorted(placed.shards, (index, index + 1))
        is_open = is_wanted[low:high]
        for batch, first in batches(plan, placed.packs[low:high], is_open):
            wanted = np.flatnonzero(is_open[first : first + batch.n_segments])
            if wanted.size == 0:
                continue
            pending.append(_pieces(batch, wanted, int(low) + first))
            n_pending += pending[-1].tokens.size
            if n_pending >= max_tokens:
                yield Residue.concatenate(pending)
                pending, n_pending = [], 0
    if pending:
        yield Residue.concatenate(pending)


def batches(plan: ShardPlan, rows: Int64Array, is_wanted: BoolArray) -> Iterator[tuple[PackBatch, int]]:
    """Yield the batches of the parts that hold wanted segments; damage was reported by the scan.

    Args:
        plan: the shard.
        rows: `int64[segment]`, row of each of its segments, rising.
        is_wanted: `bool[segment]`.

    Yields:
        A batch, and the number of its first segment in the shard.
    """
    for part in plan.shard.parts():
        first, last = np.searchsorted(rows, (part.first_row, part.first_row + part.n_rows)).tolist()
        if not is_wanted[first:last].any():
            continue
        try:
            for raw in plan.shard.rows(part, plan.roles, BLOCK_TOKENS):
                batch, _ = build(raw, plan.reading)
                if batch is not None:
                    yield batch, first
                    first += batch.n_segments
        except UnreadableError:
            continue


def gather(starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the places of all tokens of some runs, end to end, and where each run begins among them."""
    offsets = np.concatenate([[0], np.cumsum(stops - starts)])
    places = np.repeat(starts - offsets[:-1], stops - starts) + np.arange(offsets[-1])
    return places, offsets


def _pieces(batch: PackBatch, wanted: Int64Array, base: int) -> Residue:
    segments = batch.segments
    places, offsets = gather(segments.starts[wanted], segments.stops[wanted])
    is_target = np.ones(places.size, np.bool_) if batch.is_target is None else batch.is_target[places]
    has_record = is_recorded(batch) or batch.shard.unit is Unit.SAMPLE
    return Residue(
        tokens=batch.tokens[places],
        offsets=offsets,
        segments=base + wanted,
        starts=np.zeros(wanted.size, np.int64),
        is_target=is_target,
        is_recorded=np.full(wanted.size, has_record),
        reaches_end=np.ones(wanted.size, np.bool_),
    )
