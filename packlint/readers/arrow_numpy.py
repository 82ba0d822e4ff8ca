"""Arrow arrays as numpy's and back, without copies.

pyarrow's own `to_numpy` and `pa.array` import pandas where it is installed, which costs half a second and is
needed for nothing here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array

__all__ = ["as_arrow", "as_numpy", "filled", "is_null"]

_Array = Any
"""A pyarrow array; the stubs know no array of unknown type."""


def as_numpy(array: _Array) -> NDArray[Any]:
    """Return the numbers or flags of an array that has no nulls; only flags are copied."""
    if pat.is_boolean(array.type):
        flags: BoolArray = np.from_dlpack(array.cast(pa.uint8())).view(np.bool_)
        return flags
    return np.from_dlpack(array)


def filled(array: _Array, value: int) -> NDArray[Any]:
    """Return whole numbers with `value` where there is none."""
    if array.null_count == 0:
        return as_numpy(array)
    stored = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    return np.where(is_null(array), value, as_numpy(stored))


def is_null(array: _Array) -> BoolArray:
    """Return `bool[item]`, true where there is no value."""
    return as_numpy(array.is_null())


def as_arrow(values: Int64Array) -> _Array:
    """Return whole numbers as an array."""
    stored = np.ascontiguousarray(values, np.int64)
    return pa.Array.from_buffers(pa.int64(), stored.size, [None, pa.py_buffer(stored.data)])
