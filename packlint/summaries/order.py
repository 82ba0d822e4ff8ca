"""How lengths go along shards, who shares a pack, and the plot of the order; see also `order_effects.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from packlint.model.arrays import FloatArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.summaries.likeness import Likeness, alike, mates, neighbours
from packlint.summaries.order_effects import (
    MIN_PACKS,
    batches,
    effects,
    frequent_shares,
    known_segments,
    shards,
)
from packlint.summaries.pack_order import CategoryCounts, PackOrder, PackSequence

__all__ = ["PackMates", "SortedShard", "keeps_no_order", "order_tables", "pack_mates", "shard_orders"]

_LAGS = (1, 8, 64)
_MAX_POINTS = 120
_MAX_ROWS = 8
_MIN_SHARD_PACKS = 16
_MIN_TREND = 0.7
_STORED_ORDER = "shuffles packs when it reads, so that stored order trains nothing"


def keeps_no_order(batch: PackBatch, *, judges_stored_order: bool) -> str | None:
    """Return why the order in a shard cannot matter, or none.

    Args:
        batch: of the shard.
        judges_stored_order: the user says that the trainer was told not to shuffle.
    """
    contract = batch.shard.contract
    if judges_stored_order or contract is None or not contract.shuffles:
        return None
    return f"{contract.name} {_STORED_ORDER}; set judges_stored_order where it was told not to"


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedShard:
    """Say how sample lengths go along one shard.

    Args:
        shard: index of the shard.
        likeness: of each pack with the next, in the mean log length of its samples.
        swing: standard deviation of what neighbours have in common, in octaves.
        lags: correlation with packs 1, 8 and 64 places on, as far as the shard reaches.
        trend: correlation with the place in the shard: 1 when lengths rise throughout, -1 when they fall.
    """

    shard: int
    likeness: Likeness
    swing: float
    lags: Mapping[int, float]
    trend: float

    @property
    def shape(self) -> str:
        """Return how lengths go, in words."""
        if abs(self.trend) < _MIN_TREND:
            return "up and down"
        return "short to long" if self.trend > 0 else "long to short"


def shard_orders(sequence: PackSequence) -> list[SortedShard]:
    """Return how lengths go along each shard of 64 packs and more; noise allows for their number."""
    edges = np.append(np.flatnonzero(np.diff(sequence.shards, prepend=-1)), len(sequence))
    pairs = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    judged = [(a, b) for a, b in pairs if b - a >= MIN_PACKS and sequence.has_lengths[a]]
    means = sequence.log_means
    found = []
    for start, stop in judged:
        values = means[start:stop]
        likeness = alike(values, neighbours, n_tests=len(judged))
        if likeness is not None:
            found.append(_along(int(sequence.shards[start]), values, likeness))
    return found


def _along(shard: int, values: FloatArray, likeness: Likeness) -> SortedShard:
    lags = {}
    for lag in _LAGS:
        if 2 * lag <= values.size:
            part = neighbours(values, lag)
            lags[lag] = float(np.sum(part.excess)) / part.room
    place = np.arange(values.size) - (values.size - 1) / 2
    spread = sqrt(float(place @ place) * values.size) * float(values.std())
    return SortedShard(
        shard=shard,
        likeness=likeness,
        swing=sqrt(likeness.between),
        lags=lags,
        trend=float(place @ values) / spread if spread > 0 else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackMates:
    """Say how often two samples of one pack are of one category.

    Args:
        name: metadata column.
        size: Cramér's V of category and pack, less what shuffling samples gives; 0 to 1.
        same_fraction: pairs of samples in one pack that are of one category, a pack counting for its samples.
        shuffled_fraction: what shuffling samples gives.
        likeness: the statistic behind it.
    """

    name: str
    size: float
    same_fraction: float
    shuffled_fraction: float
    likeness: Likeness


def pack_mates(name: str, column: CategoryCounts) -> PackMates | None:
    """Return how much samples of one pack are alike in a column; none where no two can be compared."""
    counts, packs, codes = (column.entries[field].astype(np.int64) for field in ("count", "row", "code"))
    likeness = mates(counts, packs, codes)
    if likeness is None:
        return None
    sizes = np.bincount(packs, counts)
    held = sizes[packs] > 1
    counts, packs, codes = counts[held], packs[held], codes[held]
    per_code = np.bincount(codes, counts)
    n = float(counts.sum())
    pairs = float(np.sum(counts * (counts - 1) / sizes[packs]))
    return PackMates(
        name=name,
        size=sqrt(max(likeness.fraction, 0.0)),
        same_fraction=pairs / (n - likeness.n_packs),
        shuffled_fraction=float(np.sum(per_code * (per_code - 1))) / (n * (n - 1)),
        likeness=likeness,
    )


def order_tables(summary: PackOrder, dataset_shards: Sequence[str]) -> dict[str, Any]:
    """Return what a plot of the order needs: at most 120 stretches of packs of equal number, and effects.

    Args:
        summary: all packs.
        dataset_shards: names of all shards, in the order of their indices.
    """
    sequence = summary.in_order()
    n_packs = len(sequence)
    if n_packs == 0:
        return {}
    n_points = min(_MAX_POINTS, n_packs)
    point = np.arange(n_packs) * n_points // n_packs
    segments, tokens = (
        np.bincount(point, sequence.rows[name], minlength=n_points) for name in ("segments", "tokens")
    )
    tables: dict[str, Any] = {
        "n_packs": n_packs,
        "n_shards": int(np.unique(sequence.shards).size),
        "first_shard": dataset_shards[int(sequence.shards[0])],
        "last_shard": dataset_shards[int(sequence.shards[-1])],
        "mean_length": np.round(tokens / segments, 3).tolist(),
    }
    tables |= _category_points(sequence.columns, point, n_points)
    for title, grouping in (
        ("neighbours", batches(n_packs, 1)),
        ("shards", shards(sequence, _MIN_SHARD_PACKS)),
    ):
        for effect in effects(sequence, grouping):
            tables[f"{effect.name} alike in {title}"] = round(effect.size, 4)
    return tables


def _category_points(
    columns: Mapping[str, CategoryCounts], point: Int64Array, n_points: int
) -> dict[str, list[Any]]:
    names: list[str] = []
    rows: list[list[float]] = []
    for name, column in columns.items():
        known = known_segments(column, point.size)
        per_point = np.bincount(point, known > 0, minlength=n_points)
        for value, share in frequent_shares(column, np.maximum(known, 1), _MAX_ROWS):
            sums = np.bincount(point, share, minlength=n_points)
            names.append(value if len(columns) == 1 else f"{name}: {value}")
            rows.append(np.round(sums / np.maximum(per_point, 1), 4).tolist())
    return {"categories": names, "shares": rows} if names else {}
