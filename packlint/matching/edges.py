"""What seeds are too long for: how segments begin and end.

segment     11 99 13 14 15 16 17      the run 13-17 is found by a seed
sample      11 12 13 14 15 16 17      11 begins both: a run of its own, so that 12 alone was altered
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from packlint.matching.reference import SampleBlock
from packlint.matching.residue import Residue
from packlint.matching.runs import Runs
from packlint.matching.seeds import common_length
from packlint.model.arrays import BoolArray, Int64Array
from packlint.summaries.cores import Cores
from packlint.summaries.polynomials import Prefixes
from packlint.summaries.samples import Samples

__all__ = ["Edges"]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Hold free stretches before the first run of a segment (heads), or after the last (tails).

    Args:
        step: 1 for heads, -1 for tails.
        places: `int64[edge]`, where the stretch begins (heads) or ends (tails) in the residue.
        rooms: `int64[edge]`, tokens that both the stretch and the sample have to spare there.
        samples: `int64[edge]`, the sample of the run beside it.
        offsets: `int64[edge]`, where the core of the sample begins (heads) or ends (tails).
    """

    step: int
    places: Int64Array
    rooms: Int64Array
    samples: Int64Array
    offsets: Int64Array

    @classmethod
    def of(cls, residue: Residue, chosen: Runs, free: Cores, samples: Samples) -> tuple[Edges, Edges]:
        """Return heads and tails.

        Args:
            residue: the segments.
            chosen: runs that do not overlap, sorted.
            free: what they leave, special tokens at its ends left out.
            samples: the reference.
        """
        runs = chosen.cut_at(residue.offsets)
        piece = np.searchsorted(residue.offsets, free.starts, side="right") - 1
        first = np.searchsorted(runs.starts, residue.offsets[piece])
        last = np.searchsorted(runs.starts, residue.offsets[piece + 1]) - 1
        has_run = np.flatnonzero(first <= last)
        is_head = has_run[free.stops[has_run] <= runs.starts[first[has_run]]]
        is_tail = has_run[free.starts[has_run] >= runs.stops[last[has_run]]]
        head = samples.heads[runs.samples].astype(np.int64)
        end = head + samples.n_tokens[runs.samples]
        before, after = runs.offsets - head, end - runs.offsets - runs.lengths

        def side(step: int, at: Int64Array, places: Int64Array, run: Int64Array, spare: Int64Array) -> Edges:
            rooms = np.minimum(free.lengths[at], spare[run])
            edge = (head if step > 0 else end)[run]
            kept = rooms > 0
            return cls(step, places[at][kept], rooms[kept], runs.samples[run][kept], edge[kept])

        return (
            side(1, is_head, free.starts, first[is_head], before),
            side(-1, is_tail, free.stops, last[is_tail], after),
        )

    def wanted(self, n_samples: int) -> BoolArray:
        """Return `bool[sample]`, samples to compare with."""
        found = np.zeros(n_samples, np.bool_)
        found[self.samples] = True
        return found

    def runs(self, prefixes: Prefixes, blocks: Iterable[SampleBlock]) -> Runs:
        """Return the runs with which segments and samples begin, or end, alike.

        Args:
            prefixes: of the residue.
            blocks: the samples, in rising order.
        """
        found = []
        for tokens, offsets, numbers in blocks:
            place = np.minimum(np.searchsorted(numbers, self.samples), numbers.size - 1)
            here = np.flatnonzero(numbers[place] == self.samples)
            at, edge, sample = self.places[here], self.offsets[here], self.samples[here]
            there = offsets[place[here]] + edge
            n = common_length(prefixes, at, Prefixes(tokens), there, self.rooms[here], self.step)
            back = n if self.step < 0 else np.zeros_like(n)
            found.append(Runs(at - back, at - back + n, sample, edge - back).take(n > 0))
        return Runs.concatenate(found)
