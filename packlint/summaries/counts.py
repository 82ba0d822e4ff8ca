"""Exact counts by shard and name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import SupportsInt

__all__ = ["ShardCounts"]


@dataclass(slots=True)
class ShardCounts:
    """Count named things in each shard.

    Args:
        by_shard: the counts by name, by shard index; names that were never counted stand for 0.
    """

    by_shard: dict[int, Counter[str]] = field(default_factory=dict)

    def add(self, shard: int, **amounts: SupportsInt) -> None:
        """Count more in one shard, in place."""
        self.by_shard.setdefault(shard, Counter()).update({name: int(n) for name, n in amounts.items()})

    def merge(self, other: ShardCounts) -> ShardCounts:
        """Return the counts of both."""
        merged = ShardCounts({shard: Counter(counts) for shard, counts in self.by_shard.items()})
        for shard, counts in other.by_shard.items():
            merged.add(shard, **counts)
        return merged

    def total(self) -> Counter[str]:
        """Return the counts of all shards together."""
        total: Counter[str] = Counter()
        for counts in self.by_shard.values():
            total.update(counts)
        return total
