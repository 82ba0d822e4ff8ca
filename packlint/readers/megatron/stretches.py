"""Stretches of a stored array, end to end."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import Int64Array, IntArray, places_in
from packlint.readers.source import ArrayView

__all__ = ["take"]


def take(stored: ArrayView, starts: Int64Array, lengths: Int64Array) -> IntArray:
    """Return the stretches end to end: a view where they adjoin in a mapped file, as they nearly always do.

    Args:
        stored: `int[token]`.
        starts: `int64[stretch]`, first token of each.
        lengths: `int64[stretch]`, tokens of each.
    """
    filled = lengths > 0
    starts, lengths = starts[filled], lengths[filled]
    if starts.size == 0:
        return stored[0:0]
    stops = starts + lengths
    apart = np.flatnonzero(starts[1:] != stops[:-1]) + 1
    if apart.size and isinstance(stored, np.ndarray):
        places, _ = places_in(starts, stops)
        gathered: IntArray = stored[places]
        return gathered
    # Adjoining ones make one slice: of the map, or to be fetched.
    bounds = zip(starts[np.append(0, apart)].tolist(), stops[np.append(apart - 1, -1)].tolist(), strict=True)
    runs = [stored[start:stop] for start, stop in bounds]
    return runs[0] if len(runs) == 1 else np.concatenate(runs)
