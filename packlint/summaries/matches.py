"""Every packed segment, and the sample that it is a whole copy of: what a scan against a reference adds up.

About 37 bytes for each segment, and 16 more for each that is no whole copy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.summaries.cores import Cores
from packlint.summaries.hashes import UInt64Array

__all__ = ["Matches", "PlacedSegments"]

_COLUMNS = (
    ("sources", np.int32),
    ("shards", np.int32),
    ("packs", np.int64),
    ("starts", np.int32),
    ("lengths", np.int32),
    ("heads", np.int32),
    ("specials", np.int32),
    ("targets", np.int32),
    ("begins_in_target", np.bool_),
)
_OPEN_COLUMNS = ("first", "second")
"""Halves of the hashes of those segments only that are no whole copy."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PlacedSegments:
    """Hold segments of all shards, sorted by shard, pack and place.

    Args:
        sources: `int32[segment]`, first sample of the content that it is a whole copy of, -1 for none.
        shards: `int32[segment]`, place of the shard among the names.
        packs: `int64[segment]`, number of the pack in the shard.
        starts: `int32[segment]`, first token, counted from the pack's start.
        lengths: `int32[segment]`, tokens.
        heads: `int32[segment]`, special tokens before the core.
        specials: `int32[segment]`, special tokens at both ends.
        targets: `int32[segment]`, targets, those outside the pack counted too.
        begins_in_target: `bool[segment]`, the first token of the core is a target.
        open_: `int64[open]`, segments that are no whole copy, rising.
        open_hashes: `uint64[open]` twice, 128 bits of their cores.
    """

    sources: NDArray[np.int32]
    shards: NDArray[np.int32]
    packs: Int64Array
    starts: NDArray[np.int32]
    lengths: NDArray[np.int32]
    heads: NDArray[np.int32]
    specials: NDArray[np.int32]
    targets: NDArray[np.int32]
    begins_in_target: BoolArray
    open_: Int64Array
    open_hashes: tuple[UInt64Array, UInt64Array]

    def __len__(self) -> int:
        return int(self.sources.size)

    @property
    def core_lengths(self) -> Int64Array:
        """`int64[segment]`, tokens of each core."""
        return self.lengths.astype(np.int64) - self.specials


@dataclass(slots=True)
class Matches:
    """Collect segments batch by batch, in any order.

    Args:
        chunks: columns as in `PlacedSegments`, by name, for each batch.
        n_tokens: real tokens of all packs, also those in no segment.
    """

    chunks: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    n_tokens: int = 0

    def add(self, batch: PackBatch, cores: Cores, hashes: tuple[UInt64Array, UInt64Array]) -> None:
        """Add the segments of a batch, whose `sources` are known; in place."""
        assert batch.sources is not None
        segments = batch.segments
        is_open = batch.sources < 0
        values = (
            batch.sources,
            np.full(len(segments), batch.shard.index),
            batch.pack_numbers[segments.packs],
            segments.starts - batch.pack_offsets[segments.packs],
            segments.lengths,
            cores.starts - segments.starts,
            segments.lengths - cores.lengths,
            batch.targets_per_segment + batch.outside_per_segment,
            _begin_in_target(batch, cores),
        )
        chunk: dict[str, NDArray[Any]]
        chunk = {name: v.astype(t, copy=False) for v, (name, t) in zip(values, _COLUMNS, strict=True)}
        chunk |= {name: half[is_open] for name, half in zip(_OPEN_COLUMNS, hashes, strict=True)}
        self.chunks.append(chunk)
        self.n_tokens += batch.n_tokens - batch.padding.n_tokens

    def merge(self, other: Matches) -> Matches:
        """Return the segments of both."""
        return Matches(self.chunks + other.chunks, self.n_tokens + other.n_tokens)

    def sorted(self) -> PlacedSegments:
        """Return all segments in the order of shard, pack and place."""
        columns = {name: self._column(name, dtype) for name, dtype in _COLUMNS}
        halves = [self._column(name, np.uint64) for name in _OPEN_COLUMNS]
        is_open = columns["sources"] < 0
        if not _rises(columns["shards"], columns["packs"]):
            # Stable: segments of one pack came in order, also of a document too long for one row.
            order = np.lexsort((columns["packs"], columns["shards"]))
            columns = {name: column[order] for name, column in columns.items()}
            place = np.cumsum(is_open) - 1
            is_open = is_open[order]
            halves = [half[place[order[is_open]]] for half in halves]
        first, second = halves
        return PlacedSegments(**columns, open_=np.flatnonzero(is_open), open_hashes=(first, second))

    def _column(self, name: str, dtype: Any) -> NDArray[Any]:
        """Return one column of all chunks."""
        return np.concatenate([chunk[name] for chunk in self.chunks]) if self.chunks else np.zeros(0, dtype)


def _begin_in_target(batch: PackBatch, cores: Cores) -> BoolArray:
    if batch.is_target is None:
        return np.ones(batch.n_segments, np.bool_)
    found = np.zeros(batch.n_segments, np.bool_)
    has_core = cores.stops > cores.starts
    found[has_core] = batch.is_target[cores.starts[has_core]]
    return found


def _rises(*keys: NDArray[np.integer[Any]]) -> bool:
    """Tell whether rows of keys, the most significant first, rise or stay already."""
    rises = np.ones(max(keys[0].size - 1, 0), np.bool_)
    for key in reversed(keys):
        rises = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & rises)
    return bool(rises.all())
