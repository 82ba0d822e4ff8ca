"""Where in their sample tokens sit, in bins that double: below 16, 32, 64 and so on.

A whole run is counted by its two ends. Below an edge *e* the run from *a* to *b* has `min(b, e) - min(a, e)`
tokens, and the sums of the minima over all runs follow from how many ends lie in each bin and what they add
up to.
"""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.summaries.histogram import Histogram

__all__ = ["EDGES", "bin_lengths", "bin_runs"]

_FIRST_BITS, _LAST_BITS = 4, 40
EDGES: Int64Array = np.append(0, 1 << np.arange(_FIRST_BITS, _LAST_BITS + 1))
"""`int64[bin + 1]`, where bins begin; the first is wide, so that a begin token more shifts little."""


def bin_runs(starts: Int64Array, stops: Int64Array) -> Int64Array:
    """Return `int64[bin]`, tokens of runs that begin and end at these positions of their samples."""
    return _trimmed(np.diff(_below(stops, None) - _below(starts, None)))


def bin_lengths(lengths: Histogram) -> Int64Array:
    """Return `int64[bin]`, tokens of samples of these lengths."""
    return _trimmed(np.diff(_below(*lengths.arrays())))


def _below(places: Int64Array, counts: Int64Array | None) -> Int64Array:
    """Return `int64[edge]`, the sum over places of the smaller one of place and edge."""
    bins = np.searchsorted(EDGES, places, side="right") - 1
    n_places, sums = np.zeros(EDGES.size, np.int64), np.zeros(EDGES.size, np.int64)
    np.add.at(n_places, bins, 1 if counts is None else counts)
    np.add.at(sums, bins, places if counts is None else places * counts)
    n_from = np.cumsum(n_places[::-1])[::-1]
    reached = np.where(n_from > 0, EDGES, 0)
    return np.append(0, np.cumsum(sums)[:-1]) + reached * n_from


def _trimmed(counts: Int64Array) -> Int64Array:
    used = np.flatnonzero(counts)
    return counts[: used[-1] + 1 if used.size else 0]
