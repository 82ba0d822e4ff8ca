"""Metadata of samples, dictionary-encoded: domain, language, source, whatever a data team keeps.

names      code    wiki    web
codes      1 1 0 -1 2          one per segment (or sample); -1 where nobody knows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import Int64Array

__all__ = ["Categories"]


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Hold one column.

    Args:
        names: distinct values, in words.
        codes: `int32[item]`, place in `names`, -1 where unknown.
    """

    names: tuple[str, ...]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        return int(self.codes.size)

    def take(self, items: Int64Array) -> Categories:
        """Return the values of some items, in the order given; -1 for items that are -1."""
        if self.codes.size == 0:
            return Categories(self.names, np.full(items.shape, -1, np.int32))
        codes = np.where(items < 0, np.int32(-1), self.codes[np.maximum(items, 0)])
        return Categories(self.names, codes.astype(np.int32, copy=False))

    @classmethod
    def concatenate(cls, columns: Sequence[Categories]) -> Categories:
        """Return many columns end to end, with names sorted: the same for the same values."""
        names = tuple(sorted({name for column in columns for name in column.names}))
        place = {name: i for i, name in enumerate(names)}
        parts = []
        for column in columns:
            renumber = np.array([*(place[name] for name in column.names), -1], np.int32)
            parts.append(renumber[column.codes])
        return cls(names, np.concatenate(parts) if parts else np.zeros(0, np.int32))
