"""Later samples of packs with the most and the least targets among the tokens of a role: places to show.

A few of each kind are kept. Which ones is settled by a total order, so that neither batches nor the order of
shards matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from packlint.finding import Location
from packlint.model.arrays import BoolArray, Int64Array, empty_int64
from packlint.model.batch import PackBatch

__all__ = ["KEPT", "PlaceExtremes"]

KEPT = 5
"""Samples kept of each role with the most targets, and with the least."""
_GROUP, _SHARE, _TOKENS, _TARGETS, _SHARD, _PACK, _SEGMENT, _START, _STOP = range(9)
_MAX_TOKENS = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class PlaceExtremes:
    """Hold the samples; of equal shares those with more tokens of the role, then the first by place.

    Args:
        rows: `int64[sample, 9]`: group (twice the role's row, one more for the least targets), share in
            thousandths, tokens and targets of the role, shard, pack, segment in the pack, first token in the
            pack and one past the last.
    """

    rows: Int64Array = field(default_factory=lambda: np.empty((0, 9), np.int64))

    @classmethod
    def of(
        cls,
        batch: PackBatch,
        shares: Int64Array,
        n_tokens: Int64Array,
        n_targets: Int64Array,
        kept: BoolArray,
    ) -> PlaceExtremes:
        """Return the extremes of a batch.

        Args:
            batch: the packs.
            shares: `int64[role, segment]`, in thousandths.
            n_tokens: `int64[role, segment]`.
            n_targets: `int64[role, segment]`.
            kept: `bool[role, segment]`, samples that count.
        """
        groups, segments = [empty_int64()], [empty_int64()]
        for role in np.flatnonzero(kept.any(axis=1)).tolist():
            mine = np.flatnonzero(kept[role])
            share = shares[role, mine] * (2 * _MAX_TOKENS)
            tokens = np.minimum(n_tokens[role, mine], _MAX_TOKENS)
            for is_least, keys in enumerate((-share - tokens, share - tokens)):
                segments.append(mine[_among_first(keys)])
                groups.append(np.full(segments[-1].size, 2 * role + is_least))
        group, segment = np.concatenate(groups), np.concatenate(segments)
        at = group // 2, segment
        what = (shares[at], n_tokens[at], n_targets[at])
        return cls(_first_of_groups(np.column_stack([group, *what, *_places(batch, segment)])))

    def merge(self, other: PlaceExtremes) -> PlaceExtremes:
        """Return the extremes of both."""
        return PlaceExtremes(_first_of_groups(np.concatenate([self.rows, other.rows])))

    def worst(self, role: int, *, is_least: bool, name: str, shards: Sequence[str]) -> list[Location]:
        """Return where the samples are with the least, or the most, targets among a role's tokens.

        Args:
            role: its row in the arrays that `of` was given.
            is_least: which ones.
            name: the role as notes call it.
            shards: name of each shard.
        """
        rows = self.rows[self.rows[:, _GROUP] == 2 * role + is_least].tolist()
        return [
            Location(
                shard=shards[row[_SHARD]],
                pack=row[_PACK],
                segment=row[_SEGMENT],
                start=row[_START],
                stop=row[_STOP],
                amount=row[_TOKENS] - row[_TARGETS] if is_least else row[_TARGETS],
                note=f"{row[_TARGETS]:,} of {row[_TOKENS]:,} {name} tokens are targets",
            )
            for row in rows
        ]


def _among_first(keys: Int64Array) -> Int64Array:
    """Return the indices of all keys that are among the `KEPT` smallest, equal ones with them."""
    if keys.size <= KEPT:
        return np.arange(keys.size)
    return np.flatnonzero(keys <= np.partition(keys, KEPT - 1)[KEPT - 1])


def _places(batch: PackBatch, segments: Int64Array) -> tuple[Int64Array, ...]:
    packs = batch.segments.packs[segments]
    begin = batch.pack_offsets[packs]
    return (
        np.full(segments.size, batch.shard.index),
        batch.pack_numbers[packs],
        batch.segment_numbers[segments],
        batch.segments.starts[segments] - begin,
        batch.segments.stops[segments] - begin,
    )


def _first_of_groups(rows: Int64Array) -> Int64Array:
    share = np.where(rows[:, _GROUP] % 2, rows[:, _SHARE], -rows[:, _SHARE])
    keys = (rows[:, _SEGMENT], rows[:, _PACK], rows[:, _SHARD], -rows[:, _TOKENS], share, rows[:, _GROUP])
    rows = rows[np.lexsort(keys)]
    within = np.arange(len(rows)) - np.searchsorted(rows[:, _GROUP], rows[:, _GROUP])
    return rows[within < KEPT]
