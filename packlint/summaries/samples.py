"""The samples of a reference, and the look-up of one by the hash of its core.

About 70 bytes for each sample, and 4 for each metadata column.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import Int64Array
from packlint.model.batch import UNKNOWN_ID
from packlint.model.metadata import Categories
from packlint.summaries.hashes import UInt64Array

__all__ = ["SampleIndex", "Samples"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Samples:
    """Hold one row per sample, sorted by shard and row; the place in it is the sample's number.

    Args:
        names: shards of the reference, sorted.
        shards: `int32[sample]`, place of the shard in `names`.
        rows: `int64[sample]`, number of the row in the shard.
        hashes: `uint64[sample]` twice, 128 bits of the core.
        heads: `int32[sample]`, special tokens before the core.
        n_tokens: `int64[sample]`, tokens of the core.
        tails: `int32[sample]`, special tokens after the core.
        n_targets: `int64[sample]`, targets.
        has_targets: the reference says which tokens are targets.
        metadata: what is known of each sample, by column.
        ids: `int64[sample]`, stored id of each sample, or none where there are none.
        specials: ids that do not count at the ends of samples.
        are_rendered: the ids are what a chat template writes for the messages of the reference.
    """

    names: tuple[str, ...]
    shards: NDArray[np.int32]
    rows: Int64Array
    hashes: tuple[UInt64Array, UInt64Array]
    heads: NDArray[np.int32]
    n_tokens: Int64Array
    tails: NDArray[np.int32]
    n_targets: Int64Array
    has_targets: bool = False
    metadata: Mapping[str, Categories] = field(default_factory=dict)
    ids: Int64Array | None = None
    specials: tuple[int, ...] = ()
    are_rendered: bool = False

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def n_specials(self) -> Int64Array:
        """`int64[sample]`, special tokens at both ends."""
        return self.heads.astype(np.int64) + self.tails

    def name_of(self, sample: int) -> str:
        """Return the shard of a sample."""
        return self.names[int(self.shards[sample])]


@dataclass(frozen=True, slots=True, eq=False)
class SampleIndex:
    """Find samples by 128 bits; equal samples share the number of the first.

    Args:
        first_half: `uint64[content]`, rising.
        second_half: `uint64[sample]`, as the samples hold it.
        numbers: `int32[content]`, the first sample of each content.
        contents: `int32[sample]`, the first sample of the same content.
        max_shared: contents that share one first half at the most; 1 but for chance.
        ids: stored ids, rising, and the sample of each; none where there are none.
    """

    first_half: UInt64Array
    second_half: UInt64Array
    numbers: NDArray[np.int32]
    contents: NDArray[np.int32]
    max_shared: int
    ids: tuple[Int64Array, Int64Array] | None = None

    @classmethod
    def of(cls, samples: Samples) -> SampleIndex:
        """Return the index of a reference."""
        first, second = samples.hashes
        order = np.lexsort((second, first)).astype(np.int32)  # stable: equal ones in the order of samples
        first = first[order]
        is_new = np.ones(order.size, np.bool_)
        is_new[1:] = first[1:] != first[:-1]
        is_new[1:] |= second[order[1:]] != second[order[:-1]]
        numbers = order[is_new]
        contents = np.empty(order.size, np.int32)
        contents[order] = numbers[np.cumsum(is_new) - 1]
        kept = first[is_new]
        heads = np.flatnonzero(np.r_[True, kept[1:] != kept[:-1]]) if kept.size else np.zeros(0, np.int64)
        shared = int(np.diff(np.r_[heads, kept.size]).max(initial=1))
        ids = None
        if samples.ids is not None:
            by_id = np.argsort(samples.ids, kind="stable")
            ids = samples.ids[by_id], by_id
        return cls(kept, second, numbers, contents, shared, ids)

    def find_ids(self, wanted: Int64Array) -> Int64Array:
        """Return `int64[query]`, the first sample with each stored id, -1 where there is none."""
        if self.ids is None:
            return np.full(wanted.shape, -1, np.int64)
        ids, numbers = self.ids
        place = np.minimum(np.searchsorted(ids, wanted), ids.size - 1)
        return np.where((ids[place] == wanted) & (wanted != UNKNOWN_ID), numbers[place], -1)

    def find(self, first: UInt64Array, second: UInt64Array) -> Int64Array:
        """Return `int64[query]`, the first sample with this content, -1 where there is none."""
        found = np.full(first.shape, -1, np.int64)
        if self.numbers.size == 0:
            return found
        order = np.argsort(first)  # sorted queries walk the table once instead of jumping about in it
        place = np.empty(order.size, np.int64)
        place[order] = np.searchsorted(self.first_half, first[order])
        for step in range(self.max_shared):
            at = np.minimum(place + step, self.numbers.size - 1)
            same = np.flatnonzero(self.first_half[at] == first)
            numbers = self.numbers[at[same]]
            is_equal = self.second_half[numbers] == second[same]
            found[same[is_equal]] = numbers[is_equal]
        return found
