"""Runs of tokens that repeat one id: filling that nothing marks."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray, places_in

__all__ = ["are_constant"]


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
