"""The content of each shard as one 128-bit number, to find shards that come twice.

The number is a sum over packs of their hash mixed with their place in the shard: packs in another order give
another number, and batches may be added in any order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from packlint.model.batch import PackBatch
from packlint.summaries.hashes import hash_batch, mix

__all__ = ["Content", "ShardContents"]

_WORD = 1 << 64
_SALTS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95))


@dataclass(frozen=True, slots=True)
class Content:
    """Sum up the packs of a shard.

    Args:
        sums: two sums of hashes, modulo 2^64.
        n_packs: packs.
        n_tokens: their slots.
    """

    sums: tuple[int, int] = (0, 0)
    n_packs: int = 0
    n_tokens: int = 0

    def merge(self, other: Content) -> Content:
        """Return the sum of both."""
        (a, b), (c, d) = self.sums, other.sums
        sums = ((a + c) % _WORD, (b + d) % _WORD)
        return Content(sums, self.n_packs + other.n_packs, self.n_tokens + other.n_tokens)

    @property
    def digest(self) -> str:
        """The number as 32 hexadecimal digits."""
        return "".join(f"{value:016x}" for value in self.sums)


@dataclass(frozen=True, slots=True)
class ShardContents:
    """Hold the content of many shards, by shard index."""

    by_shard: Mapping[int, Content] = field(default_factory=dict)

    def merge(self, other: ShardContents) -> ShardContents:
        """Return the contents of both."""
        merged = dict(self.by_shard)
        for shard, content in other.by_shard.items():
            merged[shard] = merged[shard].merge(content) if shard in merged else content
        return ShardContents(merged)

    @classmethod
    def of(cls, batch: PackBatch) -> ShardContents:
        """Return the content of one batch."""
        hashes, numbers = hash_batch(batch).packs, batch.pack_numbers.astype(np.uint64)
        sums = [int(mix(hashes + mix(numbers + salt)).sum(dtype=np.uint64)) for salt in _SALTS]
        content = Content((sums[0], sums[1]), batch.n_packs, batch.n_tokens)
        return cls({batch.shard.index: content})

    def groups(self, min_tokens: int) -> list[list[int]]:
        """Return the shards of one content, each group rising, by its first shard.

        Args:
            min_tokens: slots from which a shard counts.
        """
        by_content: dict[Content, list[int]] = {}
        for shard in sorted(self.by_shard):
            content = self.by_shard[shard]
            if content.n_tokens >= min_tokens:
                by_content.setdefault(content, []).append(shard)
        return [shards for shards in by_content.values() if len(shards) > 1]
