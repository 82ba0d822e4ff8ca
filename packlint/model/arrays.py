"""Array types of the model; every axis is named in the docstring of its owner."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoolArray",
    "FloatArray",
    "Int64Array",
    "IntArray",
    "WeightArray",
    "are_among",
    "empty_int64",
    "places_in",
    "sorted_distinct",
    "true_places",
]

BoolArray: TypeAlias = NDArray[np.bool_]
Int64Array: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
"""Integers in the width in which they are stored."""
WeightArray: TypeAlias = NDArray[np.bool_] | NDArray[np.float32]

_WORD_BITS = 3
_WORD = 1 << _WORD_BITS
"""Bools that are looked at as one word."""
_MAX_FILLED = 0.25
"""Share of words with a true value beyond which looking at words first does not pay."""


def sorted_distinct(*parts: Int64Array) -> Int64Array:
    """Return `int64[any]`, all values once, rising.

    A stable sort merges parts that rise already, several times faster than the hash table of `numpy.unique`.
    """
    merged = np.concatenate(parts)
    merged.sort(kind="stable")
    if merged.size == 0:
        return merged
    is_new = np.empty(merged.size, np.bool_)
    is_new[0] = True
    np.not_equal(merged[1:], merged[:-1], out=is_new[1:])
    return merged[is_new]


def are_among(values: Int64Array, pool: Int64Array) -> BoolArray:
    """Tell for each value whether it is in a rising pool; like `numpy.isin` without its sorts.

    Args:
        values: `int64[value]`, in any order.
        pool: `int64[any]`, rising.
    """
    if pool.size == 0:
        return np.zeros(values.shape, np.bool_)
    if pool.size == 1:
        return np.asarray(values == pool[0], np.bool_)
    place = np.minimum(np.searchsorted(pool, values), pool.size - 1)
    return np.asarray(pool[place] == values, np.bool_)


def true_places(mask: BoolArray) -> Int64Array:
    """Return `int64[any]`, the places that are true, rising: `numpy.flatnonzero`, faster where they are few.

    Args:
        mask: `bool[any]`, contiguous.
    """
    n_whole = mask.size // _WORD * _WORD
    words = mask[:n_whole].view(np.uint64)
    filled = np.flatnonzero(words != 0)
    if filled.size > words.size * _MAX_FILLED:
        return np.flatnonzero(mask)
    inside = np.flatnonzero(words[filled].view(np.bool_))
    places: Int64Array = filled[inside >> _WORD_BITS] * _WORD + (inside & (_WORD - 1))
    if not mask[n_whole:].any():
        return places
    return np.concatenate([places, np.flatnonzero(mask[n_whole:]) + n_whole])


def places_in(starts: Int64Array, stops: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return `int64[place]`, all places of the runs end to end, and `int64[run]`, where each begins there."""
    lengths = stops - starts
    firsts = np.cumsum(lengths) - lengths
    return np.arange(int(lengths.sum())) + np.repeat(starts - firsts, lengths), firsts


def empty_int64() -> Int64Array:
    """Return `int64[0]`."""
    return np.empty(0, np.int64)
