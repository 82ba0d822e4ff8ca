"""Content and place of every pack, 24 bytes each (28 for a part of one), to find those that come twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.finding import Location
from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.summaries.hashes import hash_batch
from packlint.summaries.places import MAX_PLACES

__all__ = ["PackKeys", "Repeats"]

_ROW = np.dtype([("hash", np.uint64), ("length", np.uint32), ("shard", np.uint32), ("pack", np.uint64)])
_PLACED_ROW = np.dtype([*_ROW.descr, ("start", np.uint32)])
"""A row of a part of a pack: its first token, counted from the pack's start."""


@dataclass(frozen=True, slots=True, eq=False)
class Repeats:
    """Hold packs that are copies of an earlier one: the most frequent content first, then by place.

    Args:
        shards: `int64[copy]`, shard index of each copy.
        packs: `int64[copy]`, its pack number.
        starts: `int64[copy]`, its first token in the pack.
        lengths: `int64[copy]`, its tokens.
        of_shards: `int64[copy]`, shard index of the first pack of that content.
        of_packs: `int64[copy]`, its pack number.
        occurrences: `int64[copy]`, packs of that content in all.
        n_contents: contents that come more than once; of segments, several may stand in one pack.
    """

    shards: Int64Array
    packs: Int64Array
    starts: Int64Array
    lengths: Int64Array
    of_shards: Int64Array
    of_packs: Int64Array
    occurrences: Int64Array
    n_contents: int

    def __len__(self) -> int:
        return int(self.packs.size)

    @property
    def n_tokens(self) -> int:
        """Tokens of all copies."""
        return int(self.lengths.sum())

    def worst(self, names: Sequence[str]) -> tuple[Location, ...]:
        """Return the first few copies as places.

        Args:
            names: name of each shard.
        """
        return tuple(
            Location(
                shard=names[self.shards[i]],
                pack=int(self.packs[i]),
                start=int(self.starts[i]),
                stop=int(self.starts[i] + self.lengths[i]),
                amount=int(self.occurrences[i]),
                note=f"same as pack {self.of_packs[i]} of {names[self.of_shards[i]]}",
            )
            for i in range(min(len(self), MAX_PLACES))
        )


@dataclass(slots=True)
class PackKeys:
    """Collect the keys of packs; the order in which they come does not matter.

    Args:
        chunks: structured arrays `hash, length, shard, pack`, in any order.
    """

    chunks: list[NDArray[Any]] = field(default_factory=list)

    def add(
        self,
        hashes: NDArray[np.uint64],
        lengths: Int64Array,
        shard: int,
        packs: Int64Array,
        starts: Int64Array | None = None,
    ) -> None:
        """Add the packs of one batch, in place.

        Args:
            hashes: `uint64[pack]`, of their tokens.
            lengths: `int64[pack]`.
            shard: index of their shard.
            packs: `int64[pack]`, their numbers in the shard.
            starts: `int64[pack]`, where each begins in its pack, if it is a part of one; always or never.
        """
        if hashes.size == 0:
            return
        rows = np.empty(hashes.size, _ROW if starts is None else _PLACED_ROW)
        if starts is not None:
            rows["start"] = starts
        rows["hash"], rows["length"], rows["shard"], rows["pack"] = hashes, lengths, shard, packs
        self.chunks.append(rows)

    def add_segments(self, batch: PackBatch, segments: Int64Array) -> None:
        """Add some segments of a batch, by their place in it, as if each were a pack; in place."""
        packs = batch.segments.packs[segments]
        hashes, lengths = hash_batch(batch).segments[segments], batch.segments.lengths[segments]
        starts = batch.segments.starts[segments] - batch.pack_offsets[packs]
        self.add(hashes, lengths, batch.shard.index, batch.pack_numbers[packs], starts)

    def add_rows(self, batch: PackBatch, min_tokens: int) -> None:
        """Add the rows of a batch, of at least so many tokens, as wholes; in place."""
        packs = np.flatnonzero(batch.pack_lengths >= min_tokens)
        hashes, lengths = hash_batch(batch).packs[packs], batch.pack_lengths[packs]
        self.add(hashes, lengths, batch.shard.index, batch.pack_numbers[packs], np.zeros_like(packs))

    def merge(self, other: PackKeys) -> PackKeys:
        """Return the packs of both."""
        return PackKeys([*self.chunks, *other.chunks])

    @property
    def n_packs(self) -> int:
        """Packs added."""
        return sum(chunk.size for chunk in self.chunks)

    def repeats(self) -> Repeats:
        """Return every pack whose hash and length an earlier pack has; the same for any order of adding."""
        rows = np.concatenate(self.chunks) if self.chunks else np.empty(0, _ROW)
        rows = rows[_is_shared(rows["hash"])]
        rows = rows[np.lexsort((_starts(rows), rows["pack"], rows["shard"], rows["length"], rows["hash"]))]
        is_first = np.ones(rows.size, np.bool_)
        is_first[1:] = (rows["hash"][1:] != rows["hash"][:-1]) | (rows["length"][1:] != rows["length"][:-1])
        firsts = np.flatnonzero(is_first)
        sizes = np.diff(np.append(firsts, rows.size))
        copies = np.flatnonzero(~is_first)
        group = np.cumsum(is_first)[copies] - 1
        shards, packs, lengths = (rows[name].astype(np.int64) for name in ("shard", "pack", "length"))
        starts = _starts(rows)
        original, occurrences = firsts[group], sizes[group]
        keys = (
            *(starts[copies], packs[copies], shards[copies]),
            *(starts[original], packs[original], shards[original], -occurrences),
        )
        order = np.lexsort(keys)
        copies, original = copies[order], original[order]
        return Repeats(
            shards=shards[copies],
            packs=packs[copies],
            starts=starts[copies],
            lengths=lengths[copies],
            of_shards=shards[original],
            of_packs=packs[original],
            occurrences=occurrences[order],
            n_contents=int(np.count_nonzero(sizes > 1)),
        )


def _starts(rows: NDArray[Any]) -> Int64Array:
    if rows.dtype != _PLACED_ROW:
        return np.zeros(rows.size, np.int64)
    return rows["start"].astype(np.int64)


def _is_shared(hashes: NDArray[np.uint64]) -> BoolArray:
    order = np.argsort(hashes)
    ordered = hashes[order]
    twin = np.zeros(hashes.size + 1, np.bool_)
    twin[1:-1] = ordered[1:] == ordered[:-1]
    shared = np.empty(hashes.size, np.bool_)
    shared[order] = twin[1:] | twin[:-1]
    return shared
