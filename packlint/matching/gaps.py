"""Gaps: parts of samples that no piece covers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.matching.pieces import Pieces
from packlint.model.arrays import Int64Array
from packlint.summaries.samples import Samples

__all__ = ["Gaps", "find_gaps"]


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """Hold parts of samples that no piece covers, sorted by sample and place.

    Args:
        samples: `int64[gap]`, number of the sample.
        starts: `int64[gap]`, first token in the sample, its special tokens counted.
        stops: `int64[gap]`, one past the last.
    """

    samples: Int64Array
    starts: Int64Array
    stops: Int64Array

    def __len__(self) -> int:
        return int(self.samples.size)

    @property
    def lengths(self) -> Int64Array:
        """`int64[gap]`, tokens."""
        return self.stops - self.starts


def find_gaps(samples: Samples, wanted: Int64Array, pieces: Pieces) -> Gaps:
    """Return the gaps in the cores of some samples (numbers, rising)."""
    if wanted.size == 0:
        return Gaps(wanted, wanted, wanted)
    base = np.cumsum(samples.n_tokens[wanted] + 1) - samples.n_tokens[wanted] - 1
    place = np.minimum(np.searchsorted(wanted, pieces.samples), wanted.size - 1)
    is_known = wanted[place] == pieces.samples
    place, known = place[is_known], pieces.take(is_known)
    head, n_core = samples.heads[known.samples], samples.n_tokens[known.samples]
    starts = base[place] + np.clip(known.offsets - head, 0, n_core)
    stops = base[place] + np.clip(known.ends - head, 0, n_core)
    # A mark of one token after each core keeps gaps of neighbours apart.
    starts = np.concatenate([starts, base + samples.n_tokens[wanted]])
    stops = np.concatenate([stops, base + samples.n_tokens[wanted] + 1])
    order = np.argsort(starts, kind="stable")
    starts, reach = starts[order], np.maximum.accumulate(stops[order])
    before = np.concatenate([[0], reach[:-1]])
    is_gap = starts > before
    first, last = before[is_gap], starts[is_gap]
    owner = np.searchsorted(base, first, side="right") - 1
    shift = samples.heads[wanted[owner]] - base[owner]
    return Gaps(wanted[owner], first + shift, last + shift)
