"""How much packs of one batch, or of one shard, are alike: effect sizes.

    of a pack                        effect on batches or shards
    mean log length of its samples   eta: 0 when shuffled, 1 when all samples of a batch are of one length
    shares of its samples            Cramér's V: 0 when shuffled, 1 when each batch is of one category

Packs count alike, whatever they hold. Both are free of the size of batches and of the number of packs: what
shuffling gives is taken off (`likeness.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from packlint.model.arrays import BoolArray, FloatArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.summaries.likeness import Likeness, Part, alike, combine, grouped, neighbours
from packlint.summaries.pack_order import CategoryCounts, PackSequence

__all__ = [
    "LENGTHS",
    "MIN_PACKS",
    "Effect",
    "Grouping",
    "batches",
    "effects",
    "frequent_shares",
    "known_segments",
    "shards",
    "sizes_by_name",
    "unknown_contents",
    "unlike_shards",
]

LENGTHS = "sample length"
"""Name of the effect on lengths; other effects bear the name of their column."""

MIN_PACKS = 64
"""Packs below which chance alone can look like any order."""
_MIN_GROUPS = 2
_MAX_CATEGORIES = 32
_MIN_CATEGORY_PACKS = 10
"""Categories judged: the most frequent ones, each the content of ten packs at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Say which packs belong together.

    Args:
        packs: `int64[member]`, place in the sequence of each pack that belongs to a group, rising.
        groups: `int64[member]`, its group; empty where each pack is compared with the next one.
        n_groups: groups, or 0 where neighbours are compared.
    """

    packs: Int64Array
    groups: Int64Array
    n_groups: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Say how much packs that belong together are alike in one respect.

    Args:
        name: metadata column, or `LENGTHS`.
        size: Cramér's V or eta, less what shuffling gives; 0 to 1.
        swing: standard deviation between groups: of a share, or of the mean length in octaves.
        most: the category whose share swings most, or empty.
        likeness: the statistic behind it.
    """

    name: str
    size: float
    swing: float
    most: str
    likeness: Likeness

    def is_more_than(self, allowed: float) -> bool:
        """Whether it is larger than allowed, and than what chance gives."""
        return self.size > allowed and self.likeness.is_beyond_chance

    @property
    def words(self) -> str:
        """Return it in words, with its unit."""
        if self.name == LENGTHS:
            return f"sample length (eta {self.size:.2f}, {100 * (2**self.swing - 1):.0f} % either way)"
        return (
            f"{self.name} (Cramér's V {self.size:.2f}, {self.most} {100 * self.swing:.0f} points either way)"
        )


def batches(n_packs: int, packs_per_batch: int, n_ranks: int = 1, *, contiguous: bool = False) -> Grouping:
    """Return the packs of each global batch; packs that fill none are left out.

    packs            0 1 2 3 4 5 6 7        two ranks of two packs
    ranks take turns 0 0 0 0 1 1 1 1        batch of each pack
    contiguous       0 0 1 1 0 0 1 1        rank 0 reads the first half, rank 1 the second

    Args:
        n_packs: packs in the order in which they are stored.
        packs_per_batch: packs of one rank in one batch.
        n_ranks: data-parallel ranks.
        contiguous: every rank reads a stretch of its own.
    """
    packs = np.arange(n_packs)
    packs_per_batch, n_ranks = max(packs_per_batch, 1), max(n_ranks, 1)
    per_batch = packs_per_batch * n_ranks
    if per_batch <= 1:
        return Grouping(packs, np.empty(0, np.int64))
    n_groups = n_packs // n_ranks // packs_per_batch
    if contiguous:
        stretch = max(n_packs // n_ranks, 1)
        groups = packs % stretch // packs_per_batch
        kept = (packs // stretch < n_ranks) & (groups < n_groups)
    else:
        groups = packs // per_batch
        kept = groups < n_groups
    return Grouping(packs[kept], groups[kept], n_groups)


def shards(sequence: PackSequence, min_packs: int) -> Grouping:
    """Return the packs of each shard that holds so many."""
    sizes = np.bincount(sequence.shards)
    kept = sizes[sequence.shards] >= min_packs
    number = np.cumsum(sizes >= min_packs) - 1
    packs = np.flatnonzero(kept)
    return Grouping(packs, number[sequence.shards[packs]], int((sizes >= min_packs).sum()))


def effects(sequence: PackSequence, grouping: Grouping) -> list[Effect]:
    """Return the effect on lengths and on each column; those that nothing can be said of are left out."""
    found = [_of_lengths(sequence, grouping)]
    found += [_of_column(name, column, grouping, len(sequence)) for name, column in sequence.columns.items()]
    return [effect for effect in found if effect is not None]


def _of_lengths(sequence: PackSequence, grouping: Grouping) -> Effect | None:
    chosen = _known(grouping, sequence.has_lengths)
    if chosen is None:
        return None
    means = sequence.log_means[chosen.packs]
    likeness = alike(means, lambda values: _part(values, chosen), chosen.n_groups)
    if likeness is None:
        return None
    whole = float(sequence.log_squares[chosen.packs].mean() - means.mean() ** 2)
    size = sqrt(min(likeness.between / whole, 1.0)) if whole > 0 else 0.0
    return Effect(name=LENGTHS, size=size, swing=sqrt(likeness.between), most="", likeness=likeness)


def _of_column(name: str, column: CategoryCounts, grouping: Grouping, n_packs: int) -> Effect | None:
    known = known_segments(column, n_packs)
    chosen = _known(grouping, known > 0)
    if chosen is None:
        return None
    shares = [(value, x[chosen.packs]) for value, x in frequent_shares(column, known)]
    shares = [(value, x) for value, x in shares if float(x.sum()) >= _MIN_CATEGORY_PACKS]
    means = [float(x.mean()) for _, x in shares]
    parts = [_part(x, chosen) for _, x in shares]
    likeness = combine(parts, [1 / p for p in means], chosen.packs.size, chosen.n_groups)
    if likeness is None:
        return None
    most = sum(1 - p for p in means)
    room = min(most, chosen.n_groups - 1) if chosen.n_groups else most
    swings = [_swing(part) for part in parts]
    worst = int(np.argmax(swings))
    return Effect(
        name=name,
        size=sqrt(min(likeness.between / room, 1.0)),
        swing=swings[worst],
        most=shares[worst][0],
        likeness=likeness,
    )


def _part(values: FloatArray, grouping: Grouping) -> Part:
    if grouping.n_groups == 0:
        return neighbours(values)
    return grouped(values, grouping.groups, np.bincount(grouping.groups, minlength=grouping.n_groups))


def _swing(part: Part) -> float:
    fraction = float(np.sum(part.excess)) / part.room if part.room > 0 else 0.0
    return sqrt(max(fraction, 0.0) * part.variance)


def _known(grouping: Grouping, is_known: BoolArray) -> Grouping | None:
    """Return the packs of which something is known, none where they are too few to judge."""
    kept = is_known[grouping.packs]
    packs = grouping.packs[kept]
    if grouping.n_groups == 0:
        return Grouping(packs, grouping.groups) if packs.size >= MIN_PACKS else None
    sizes = np.bincount(grouping.groups[kept], minlength=grouping.n_groups)
    number = np.cumsum(sizes > 0) - 1
    n_groups = int((sizes > 0).sum())
    if packs.size < MIN_PACKS or n_groups < _MIN_GROUPS or n_groups == packs.size:
        return None
    return Grouping(packs, number[grouping.groups[kept]], n_groups)


def frequent_shares(
    column: CategoryCounts, known: FloatArray | Int64Array, n_most: int = _MAX_CATEGORIES
) -> Iterator[tuple[str, FloatArray]]:
    """Yield, for the most frequent categories, `float64[pack]` of shares among known segments."""
    rows, codes = column.entries["row"], column.entries["code"]
    weights = column.entries["count"] / known[rows]
    sums = np.bincount(codes, weights, minlength=len(column.names))
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(column.names) + 1))
    for code in np.argsort(-sums, kind="stable")[:n_most].tolist():
        mine = order[edges[code] : edges[code + 1]]
        share = np.zeros(known.size)
        share[rows[mine]] = weights[mine]
        yield column.names[code], share


def known_segments(column: CategoryCounts, n_packs: int) -> FloatArray:
    """Return `float64[pack]`, segments whose category is known."""
    counts = np.bincount(column.entries["row"], column.entries["count"], minlength=n_packs)
    return counts.astype(np.float64, copy=False)


def unlike_shards(
    sequence: PackSequence, grouping: Grouping, effect: Effect
) -> tuple[dict[int, int], Callable[[int], str]]:
    """Return by how much each shard is unlike the others, by its index, and what to say of it.

    Args:
        sequence: the packs.
        grouping: by shard.
        effect: what to compare: the share of `most` in 1/1000, or lengths in 1/1000 octave.
    """
    if effect.name == LENGTHS:
        values, known = sequence.log_means, sequence.has_lengths
    else:
        column = sequence.columns[effect.name]
        counts = known_segments(column, len(sequence))
        values, known = dict(frequent_shares(column, counts))[effect.most], counts > 0
    kept = known[grouping.packs]
    packs, groups = grouping.packs[kept], grouping.groups[kept]
    sizes = np.bincount(groups, minlength=grouping.n_groups)
    sums = np.bincount(groups, values[packs], minlength=grouping.n_groups)
    shard_of = np.zeros(grouping.n_groups, np.int64)
    shard_of[groups] = sequence.shards[packs]
    held = np.flatnonzero(sizes)
    means = dict(zip(shard_of[held].tolist(), (sums[held] / sizes[held]).tolist(), strict=True))
    usual = float(values[packs].mean())

    def note(shard: int) -> str:
        if effect.name == LENGTHS:
            return f"mean sample length {2 ** means[shard]:,.0f}, all shards {2**usual:,.0f}"
        return f"{effect.most} {100 * means[shard]:.3g} %, all shards {100 * usual:.3g} %"

    return {shard: round(1000 * abs(mean - usual)) for shard, mean in means.items()}, note


def sizes_by_name(sequence: PackSequence, found: Sequence[Effect]) -> dict[str, int | float]:
    """Return what is worth reporting of effects."""
    sizes = {f"{effect.name.replace(' ', '_')}_effect": effect.size for effect in found}
    return {"metadata_columns": len(sequence.columns), **sizes}


def unknown_contents(batch: PackBatch) -> str | None:
    """Return why packs of a shard cannot be told apart by what they hold, or none."""
    if batch.segment_source is None and not batch.metadata:
        return "nothing records where samples begin, and no metadata column is known"
    return None
