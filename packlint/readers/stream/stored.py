"""An array that lies in a file, or in memory, and is opened when it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.readers.source import ArrayView, Source

__all__ = ["Held", "Opens", "Stored", "piece"]


class Opens(Protocol):
    """Give a view of a one-dimensional array on demand; holds no open file."""

    @property
    def size(self) -> int:
        """Values in the array."""

    def view(self) -> ArrayView:
        """Return the array for slicing; every call opens it anew.

        Raises:
            UnreadableError: it is no longer what it was.
        """


@dataclass(frozen=True, slots=True)
class Stored:
    """Name an array in a file.

    Args:
        source: the file.
        dtype: type of one value, as numpy names it, byte order included.
        start: byte at which the array begins.
        size: values in it.
    """

    source: Source
    dtype: str
    start: int
    size: int

    def view(self) -> ArrayView:
        """Return the array, memory-mapped or fetched slice by slice."""
        try:
            return self.source.array(self.dtype, self.start, self.size)
        except (ValueError, OSError) as error:  # the file shrank since its size was taken
            raise UnreadableError(f"{self.source.name}: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Hold an array in memory.

    Args:
        values: `any[value]`.
    """

    values: NDArray[Any]

    @property
    def size(self) -> int:
        """Values in the array."""
        return int(self.values.size)

    def view(self) -> ArrayView:
        """Return the array."""
        return self.values


def piece(view: ArrayView, start: int, stop: int) -> NDArray[Any]:
    """Return `any[stop - start]`, the values of a range; a view without copy where the file is mapped.

    Raises:
        UnreadableError: the array ends before.
    """
    values = np.asarray(view[start:stop])
    if values.size != stop - start:
        raise UnreadableError(f"the array ends before value {stop}")
    return values
