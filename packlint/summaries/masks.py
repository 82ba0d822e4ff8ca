"""Loss masks of packs as hashes, to find one mask used for packs of different samples."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.summaries.hashes import mix

__all__ = ["MaskGroup", "MaskHashes"]

UInt64Array = NDArray[np.uint64]

_SHARD_BITS = 24
_PACK_BITS = 64 - _SHARD_BITS


@dataclass(frozen=True, slots=True, eq=False)
class MaskGroup:
    """Hold the packs that share one loss mask.

    Args:
        shards: `int64[pack]`, shard index.
        packs: `int64[pack]`, pack number in the shard; rising within a shard, shards rising.
    """

    shards: Int64Array
    packs: Int64Array


@dataclass(slots=True)
class MaskHashes:
    """Collect one row of 24 bytes per pack; the order of the rows does not matter.

    Args:
        chunks: `uint64[pack, 3]` each: hash of the runs of targets, hash of the segments that they begin in,
            shard index and pack number in one word.
    """

    chunks: list[UInt64Array] = field(default_factory=list)

    def add(self, batch: PackBatch, min_runs: int) -> None:
        """Add, in place, the packs of a batch whose targets form at least `min_runs` runs."""
        runs = batch.targets.split_at(batch.pack_offsets)
        edges = np.searchsorted(runs.starts, batch.pack_offsets)
        n_runs = np.diff(edges)
        packs = np.flatnonzero(n_runs >= max(min_runs, 1))
        if packs.size == 0:
            return
        base = np.repeat(batch.pack_offsets[:-1], n_runs)
        segment = batch.segments_of(runs.starts)
        owner = (
            np.where(segment >= 0, batch.segments.starts[segment] - base, -1) if batch.n_segments else base
        )
        start, stop = runs.starts - base, runs.stops - base
        rows = np.empty((packs.size, 3), np.uint64)
        mixed = _mix(start)
        rows[:, 0] = _sums(_mix(mixed + stop.astype(np.uint64)), edges)[packs]
        rows[:, 1] = _sums(_mix(mixed + owner.astype(np.uint64)), edges)[packs]
        shard = np.uint64(batch.shard.index) << np.uint64(_PACK_BITS)
        rows[:, 2] = batch.pack_numbers[packs].astype(np.uint64) | shard
        self.chunks.append(rows)

    def merge(self, other: MaskHashes) -> MaskHashes:
        """Return the packs of both."""
        return MaskHashes([*self.chunks, *other.chunks])

    def shared(self) -> list[MaskGroup]:
        """Return the groups of packs with one mask over different segments, largest first, then by place."""
        rows = np.concatenate(self.chunks) if self.chunks else np.empty((0, 3), np.uint64)
        rows = rows[np.lexsort((rows[:, 2], rows[:, 0]))]
        edges = np.append(0, np.flatnonzero(np.diff(rows[:, 0])) + 1) if len(rows) else np.empty(0, np.int64)
        differs = np.maximum.reduceat(rows[:, 1], edges) != np.minimum.reduceat(rows[:, 1], edges)
        stops = np.append(edges[1:], len(rows))
        groups = [_group(rows[a:b, 2]) for a, b in zip(edges[differs], stops[differs], strict=True)]
        return sorted(groups, key=lambda g: (-g.packs.size, int(g.shards[0]), int(g.packs[0])))


def _group(places: UInt64Array) -> MaskGroup:
    numbers = places & np.uint64((1 << _PACK_BITS) - 1)
    return MaskGroup((places >> np.uint64(_PACK_BITS)).astype(np.int64), numbers.astype(np.int64))


def _sums(words: UInt64Array, edges: Int64Array) -> UInt64Array:
    """Add the words between edges, modulo 2^64; also where there are none."""
    total = np.append(np.zeros(1, np.uint64), np.cumsum(words, dtype=np.uint64))
    return np.asarray(total[edges[1:]] - total[edges[:-1]], np.uint64)


def _mix(words: Int64Array | UInt64Array) -> UInt64Array:
    """Spread every bit over all others (splitmix64: one step of the generator)."""
    return mix(words.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15))
