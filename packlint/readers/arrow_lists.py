"""Arrow arrays of lists of any kind → their values end to end, and where each row begins and ends in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow.types as pat

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array, places_in
from packlint.readers.arrow_numpy import as_arrow, as_numpy, is_null

__all__ = ["is_list", "values_and_offsets"]

_Array = Any
"""A pyarrow array; the stubs know no array of unknown type."""

_MAX_OVERLAP = 4
"""How often, on average, a value may be used: rows of a list view can share values without bound."""


_KINDS = (
    pat.is_list,
    pat.is_large_list,
    pat.is_fixed_size_list,
    pat.is_list_view,
    pat.is_large_list_view,
)


def is_list(kind: Any) -> bool:
    """Tell whether a type is one of lists, of whatever kind."""
    return any(is_kind(kind) for is_kind in _KINDS)


def values_and_offsets(array: _Array) -> tuple[_Array, Int64Array]:
    """Return the values of all rows, end to end, and `int64[row + 1]` into them."""
    kind, n_rows = array.type, len(array)
    if pat.is_fixed_size_list(kind):
        size = kind.list_size
        # `.values` ignores the slice, and null rows take up their room in it.
        return array.values.slice(array.offset * size, n_rows * size), np.arange(n_rows + 1) * size
    if pat.is_list(kind) or pat.is_large_list(kind):
        offsets = as_numpy(array.offsets).astype(np.int64)
        if np.any(np.diff(offsets) < 0):
            raise UnreadableError("the offsets of a list column fall")
        return array.values.slice(offsets[0], offsets[-1] - offsets[0]), offsets - offsets[0]
    if pat.is_list_view(kind) or pat.is_large_list_view(kind):
        return _gathered_views(array)
    return array, np.arange(n_rows + 1)


def _gathered_views(array: _Array) -> tuple[_Array, Int64Array]:
    """Lay the rows of a list view, which may overlap or stand in any order, end to end."""
    starts = as_numpy(array.offsets).astype(np.int64)
    sizes = as_numpy(array.sizes).astype(np.int64)
    if array.null_count:
        sizes = np.where(is_null(array), 0, sizes)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if np.any(sizes < 0) or offsets[-1] > _MAX_OVERLAP * len(array.values):
        raise UnreadableError("the rows of a list view column overlap too much, or have corrupt sizes")
    places, _ = places_in(starts, starts + sizes)
    return array.values.take(as_arrow(places)), offsets
