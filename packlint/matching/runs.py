"""Runs that a residue and a sample have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array

__all__ = ["Runs"]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Hold runs.

    Args:
        starts: `int64[run]`, first token in the residue.
        stops: `int64[run]`, one past the last.
        samples: `int64[run]`, number of the sample.
        offsets: `int64[run]`, where the run begins in the sample, its special tokens counted.
    """

    starts: Int64Array
    stops: Int64Array
    samples: Int64Array
    offsets: Int64Array

    def __len__(self) -> int:
        return int(self.starts.size)

    @property
    def lengths(self) -> Int64Array:
        """`int64[run]`, tokens."""
        return self.stops - self.starts

    def take(self, which: Int64Array | BoolArray) -> Runs:
        """Return some of them."""
        return Runs(self.starts[which], self.stops[which], self.samples[which], self.offsets[which])

    def distinct(self, n_tokens: Int64Array) -> Runs:
        """Return each run once: sorted by start, the longest first, whole samples first, then by sample.

        Args:
            n_tokens: `int64[sample]`, tokens of every sample, its special tokens counted.
        """
        is_part = self.lengths < n_tokens[self.samples]
        runs = self.take(np.lexsort((self.offsets, self.samples, is_part, -self.stops, self.starts)))
        columns = (runs.starts, runs.stops, runs.samples, runs.offsets)
        differs = np.ones(len(runs), np.bool_)
        differs[1:] = np.logical_or.reduce([np.diff(column) != 0 for column in columns])
        return runs.take(differs)

    def cut_at(self, places: Int64Array) -> Runs:
        """Return the runs cut where some places of the residue (rising) lie inside them."""
        first = np.searchsorted(places, self.starts, side="right")
        n_cuts = np.searchsorted(places, self.stops, side="left") - first
        if not n_cuts.any():
            return self
        parts = n_cuts + 1
        run = np.repeat(np.arange(len(self)), parts)
        number = np.arange(run.size) - np.repeat(np.cumsum(parts) - parts, parts)
        at = np.minimum(first[run] + number, places.size - 1)
        starts = np.where(number == 0, self.starts[run], places[np.maximum(at - 1, 0)])
        stops = np.where(number == n_cuts[run], self.stops[run], places[at])
        return Runs(starts, stops, self.samples[run], self.offsets[run] + starts - self.starts[run])

    @classmethod
    def concatenate(cls, parts: Sequence[Runs]) -> Runs:
        """Return all runs."""
        if not parts:
            return cls(*(np.zeros(0, np.int64) for _ in range(4)))
        names = ("starts", "stops", "samples", "offsets")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
