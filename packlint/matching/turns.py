"""Equal texts take turns: which of several samples a stretch of packed tokens is a part of.

Each part of a sample can be explained once. Where that leaves a choice, samples are put together from their
beginnings on: first comes the stretch that goes on where an explained part of the sample ends, or begins the
sample, then the one that leads on to such a part, or ends the sample; then the longest.

    sample 0    11 12 13 14 15 16 17 18        11 12 13 14 is found elsewhere, and nothing of sample 1 is
    sample 1    19 13 14 15 16 17 18 20
    stretch     15 16 17 18                    of sample 0, as it goes on where that one stops, and ends it
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from packlint.matching.runs import Runs
from packlint.model.arrays import Int64Array
from packlint.summaries.samples import Samples

__all__ = ["Turns"]

_Part = tuple[int, int, int]
"""A sample, and where a part of it begins and ends."""


@dataclass(slots=True, eq=False)
class Turns:
    """Know what is explained of some samples, and give each stretch to one.

    Args:
        samples: the reference.
        taken: parts that are explained, by sample.
    """

    samples: Samples
    taken: defaultdict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def note(self, explained: Runs, wanted: Int64Array) -> None:
        """Note what is explained of the wanted samples (numbers, rising)."""
        if wanted.size == 0 or len(explained) == 0:
            return
        place = np.minimum(np.searchsorted(wanted, explained.samples), wanted.size - 1)
        for part in _parts(explained.take(wanted[place] == explained.samples)):
            self._take(part)

    def assign(self, runs: Runs, heads: Int64Array, counts: Int64Array) -> Int64Array:
        """Return the run that is chosen for each stretch, -1 where no sample is free.

        Args:
            runs: what may explain stretches, those of one stretch side by side.
            heads: `int64[stretch]`, its first run.
            counts: `int64[stretch]`, its runs.
        """
        which = np.repeat(heads - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        stretches = np.repeat(np.arange(heads.size), counts).tolist()
        parts = list(_parts(runs.take(which)))
        by_edge = defaultdict(list)
        for i, (sample, start, stop) in enumerate(parts):
            by_edge[sample, start].append(i)
            by_edge[sample, stop].append(i)
        waiting = [self._entry(part, stretches[i], i) for i, part in enumerate(parts)]
        heapq.heapify(waiting)
        chosen = np.full(heads.size, -1, np.int64)
        while waiting:
            *_, stretch, i = heapq.heappop(waiting)
            if chosen[stretch] >= 0 or not self._is_free(parts[i]):
                continue
            chosen[stretch] = which[i]
            sample, start, stop = parts[i]
            self._take(parts[i])
            for other in {*by_edge[sample, start], *by_edge[sample, stop]}:
                if chosen[stretches[other]] < 0:
                    heapq.heappush(waiting, self._entry(parts[other], stretches[other], other))
        return chosen

    def _entry(self, part: _Part, stretch: int, i: int) -> tuple[int, bool, int, int, int]:
        sample, start, stop = part
        head = int(self.samples.heads[sample])
        taken = self.taken.get(sample, ())
        goes_on = start <= head or any(start == b for _, b in taken)
        leads_on = stop >= head + int(self.samples.n_tokens[sample]) or any(stop == a for a, _ in taken)
        return -2 * goes_on - leads_on, start > head, start - stop, stretch, i

    def _is_free(self, part: _Part) -> bool:
        sample, start, stop = part
        return not any(a < stop and start < b for a, b in self.taken.get(sample, ()))

    def _take(self, part: _Part) -> None:
        sample, start, stop = part
        self.taken[sample].append((start, stop))


def _parts(runs: Runs) -> Iterator[_Part]:
    stops = runs.offsets + runs.lengths
    return zip(runs.samples.tolist(), runs.offsets.tolist(), stops.tolist(), strict=True)
