"""Exact counts by key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np

from packlint.model.arrays import Int64Array

__all__ = ["Counts"]

K = TypeVar("K", bound=Hashable)


@dataclass(slots=True)
class Counts(Generic[K]):
    """Count anything by key: `(shard, "padding")`, a length, a category.

    Args:
        by_key: the counts; keys that were never counted stand for 0.
    """

    by_key: Counter[K] = field(default_factory=Counter)

    def add(self, key: K, n: int = 1) -> None:
        """Count `n` more of one key, in place."""
        if n:
            self.by_key[key] += n

    def add_values(self: Counts[int], values: Int64Array) -> None:
        """Count each value of an array once, in place."""
        keys, counts = np.unique(values, return_counts=True)
        for key, n in zip(keys.tolist(), counts.tolist(), strict=True):
            self.by_key[key] += n

    def merge(self, other: Counts[K]) -> Counts[K]:
        """Return the counts of both."""
        merged = Counter(self.by_key)
        merged.update(other.by_key)
        return Counts(merged)

    def total(self, keys: Iterable[K] | None = None) -> int:
        """Return the sum of the counts of some keys, or of all."""
        return sum(self.by_key.values() if keys is None else (self.by_key[key] for key in keys))
