"""One stored array of a dump: type and shape are known from a header, values are read when asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_EMPTY_ROWS", "LazyColumns", "Member", "shadow"]

MAX_EMPTY_ROWS = 1 << 20
"""Rows that an array without values may claim: they take no room in a file, and time to count."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """Name a stored array.

    Args:
        name: as stored.
        dtype: storage type.
        shape: length of each axis.
        load: reads the values.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    load: Callable[[], NDArray[Any]]


def shadow(member: Member) -> NDArray[Any]:
    """Return an array of the member's type and shape that takes no room: all zeros."""
    return np.broadcast_to(np.zeros((), member.dtype), member.shape)


class LazyColumns(Mapping[str, object]):
    """Give the members of one batch by column name, each read once when first asked for."""

    def __init__(self, members: Mapping[str, Member]) -> None:
        self._members = members
        self._loaded: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> object:
        if name not in self._loaded:
            self._loaded[name] = self._members[name].load()
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)
