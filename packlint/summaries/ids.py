"""Range and storage type of token ids, shard by shard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

__all__ = ["IdRange", "IdRanges"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdRange:
    """Hold the ids of one shard, or of several.

    Args:
        max_id: largest id, -1 for none.
        n_tokens: tokens seen.
        storage: the narrowest storage type as (largest id it can hold, name).
        vocab_size: ids that the vocabulary has.
    """

    max_id: int
    n_tokens: int
    storage: tuple[int, str]
    vocab_size: int

    @property
    def fits(self) -> bool:
        """Whether the storage type can hold the whole vocabulary."""
        return self.storage[0] >= self.vocab_size - 1

    def merge(self, other: IdRange) -> IdRange:
        """Return the range of both."""
        return IdRange(
            max_id=max(self.max_id, other.max_id),
            n_tokens=self.n_tokens + other.n_tokens,
            storage=min(self.storage, other.storage),
            vocab_size=max(self.vocab_size, other.vocab_size),
        )


@dataclass(frozen=True, slots=True)
class IdRanges:
    """Hold the ids of many shards, by shard index."""

    by_shard: Mapping[int, IdRange] = field(default_factory=dict)

    def merge(self, other: IdRanges) -> IdRanges:
        """Return the ranges of both."""
        merged = dict(self.by_shard)
        for shard, ids in other.by_shard.items():
            merged[shard] = merged[shard].merge(ids) if shard in merged else ids
        return IdRanges(merged)

    def where(self, *, fits: bool) -> IdRanges:
        """Return the shards whose storage type can, or cannot, hold the vocabulary."""
        return IdRanges({shard: ids for shard, ids in self.by_shard.items() if ids.fits is fits})

    @property
    def n_tokens(self) -> dict[int, int]:
        """Tokens seen, by shard index."""
        return {shard: ids.n_tokens for shard, ids in self.by_shard.items()}

    def storage_of(self, shard: int) -> str:
        """Say in which type a shard stores its ids."""
        return f"stored as {self.by_shard[shard].storage[1]}"

    def total(self) -> IdRange | None:
        """Return the range over all shards; none without shards."""
        ranges = list(self.by_shard.values())
        return reduce(IdRange.merge, ranges) if ranges else None
