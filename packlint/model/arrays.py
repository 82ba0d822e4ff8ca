"""Array types of the model; every axis is named in the docstring of its owner."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoolArray", "FloatArray", "Int64Array", "IntArray", "WeightArray", "empty_int64"]

BoolArray: TypeAlias = NDArray[np.bool_]
Int64Array: TypeAlias = NDArray[np.int64]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.integer[Any]]
"""Integers in the width in which they are stored."""
WeightArray: TypeAlias = NDArray[np.bool_] | NDArray[np.float32]


def empty_int64() -> Int64Array:
    """Return `int64[0]`."""
    return np.empty(0, np.int64)
