"""What the pickle machine builds: lists as chunks of numbers, arrays, and marks for the names of numpy."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError

__all__ = ["Array", "Dtype", "Items", "Named", "Pickled", "as_items", "compact", "numbers"]

_DTYPE = re.compile(r"[iuf][1248]|b1")
_ORDERS = ("<", ">", "=", "|")

Chunk: TypeAlias = NDArray[Any] | list[Any]
Pickled: TypeAlias = Any
"""None, bool, int, float, str, bytes, tuple, dict, `Items`, `Array`, or a mark of the machine."""


@dataclass(slots=True, eq=False)
class Items:
    """Hold a list, as chunks of numbers of one kind or of other values.

    Args:
        chunks: arrays of numbers, and lists of whatever else.
        n_values: values in all chunks.
    """

    chunks: list[Chunk] = field(default_factory=list)
    n_values: int = 0

    def extend(self, values: Chunk) -> None:
        """Append a chunk."""
        self.chunks.append(values)
        self.n_values += len(values)


@dataclass(slots=True, eq=False)
class Named:
    """Stand for one of the names that numpy writes."""

    name: str


@dataclass(slots=True, eq=False)
class Dtype:
    """Stand for a dtype under construction."""

    code: Pickled
    order: Pickled = "="


@dataclass(slots=True, eq=False)
class Array:
    """Stand for an array: `Items` of an array of objects, else its numbers; none before they are known."""

    values: Items | NDArray[Any] | None = None


def numbers(dtype: Pickled, values: Pickled) -> NDArray[Any]:
    """Return the numbers of a pickled array, as many as there are bytes for."""
    if not isinstance(dtype, Dtype) or not isinstance(values, bytes):
        raise TypeError
    if not isinstance(dtype.code, str) or not isinstance(dtype.order, str):
        raise TypeError
    if not _DTYPE.fullmatch(dtype.code) or dtype.order not in _ORDERS:
        raise UnreadableError(f"an array in the pickle holds {dtype.code[:20]!r}, expected numbers")
    return np.frombuffer(values, np.dtype(dtype.order + dtype.code))


def as_items(value: Pickled) -> Items:
    """Return a value that must be a list.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(value, Items):
        raise TypeError
    return value


def compact(values: list[Any]) -> Chunk:
    """Return numbers of one kind as an array, a mixture as it is."""
    types = set(map(type, values))
    if types == {int}:
        return np.array(values, np.int64)
    if len(types) == 1:
        return np.array(values)
    return values
