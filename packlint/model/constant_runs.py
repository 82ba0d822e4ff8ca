"""Runs of tokens that repeat one id: filling that nothing marks."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray

__all__ = ["are_constant", "places_in"]


def are_constant(tokens: IntArray, starts: Int64Array, stops: Int64Array) -> BoolArray:
    """Return `bool[run]`, runs that repeat one id; runs without tokens do.

    Args:
        tokens: `int[token]`.
        starts: `int64[run]`, first token of each run.
        stops: `int64[run]`, one past its last token.
    """
    constant = stops <= starts
    filled = np.flatnonzero(~constant)
    first, last = starts[filled], stops[filled] - 1
    ids = tokens[first]
    alike = (ids == tokens[last]) & (ids == tokens[(first + last) // 2])
    first, last, ids = first[alike], last[alike], ids[alike]
    if first.size:
        places, firsts = places_in(first, last + 1)
        same = tokens[places] == np.repeat(ids, last + 1 - first)
        constant[filled[alike]] = np.logical_and.reduceat(same, firsts)
    return constant


def places_in(starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return `int64[place]`, all places of the runs end to end, and `int64[run]`, where each begins there."""
    lengths = stops - starts
    firsts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - firsts, lengths), firsts
