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
    "sorted_distinct",
]

BoolArray: TypeAlias = NDArray[np.bool_]
Int64Array: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
"""Integers in the width in which they are stored."""
WeightArray: TypeAlias = NDArray[np.bool_] | NDArray[np.float32]


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
    place = np.minimum(np.searchsorted(pool, values), pool.size - 1)
    return np.asarray(pool[place] == values, np.bool_)


def empty_int64() -> Int64Array:
    """Return `int64[0]`."""
    return np.empty(0, np.int64)
