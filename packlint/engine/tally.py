"""Exact counts of one shard, that add up in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from packlint.engine.excerpts import excerpts_of
from packlint.finding import Confidence, Hits, Location
from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch, Unit
from packlint.readers.shard import Fault

__all__ = [
    "MAX_EXEMPLARS",
    "ShardResult",
    "Tally",
    "count_batch",
    "take_summary",
    "tally_fault",
    "tally_hits",
]

T = TypeVar("T")

MAX_EXEMPLARS = 5
"""Places kept per rule and shard; counts stay exact."""

_CONTEXT_TOKENS = 6
_MAX_PLACE_TOKENS = 24


@dataclass(slots=True)
class Tally:
    """Count the hits of one rule in one shard.

    Args:
        n_hits: places.
        n_packs: packs with a place.
        n_segments: segments with a place.
        n_tokens: tokens in all places.
        amount: sum of the amounts.
        measured: what the rule measured.
        exemplars: the worst places, sorted.
        confidence: the least sure of all hits.
        n_checked: packs that the rule could judge.
        unchecked: packs that it could not judge, by reason.
        batch: where the exemplars come from, as long as nobody has looked what they look like.
    """

    n_hits: int = 0
    n_packs: int = 0
    n_segments: int = 0
    n_tokens: int = 0
    amount: int = 0
    measured: Counter[str] = field(default_factory=Counter)
    exemplars: tuple[Location, ...] = ()
    confidence: Confidence = Confidence.CERTAIN
    n_checked: int = 0
    unchecked: Counter[str] = field(default_factory=Counter)
    batch: PackBatch | None = None

    def add_measured(self, hits: Hits) -> None:
        """Add what a rule measured in a batch."""
        for name, value in hits.measured.items():
            self.measured[name] += int(value)

    def add(self, other: Tally) -> None:
        """Add the counts of other packs."""
        self.measured.update(other.measured)
        self.n_checked += other.n_checked
        self.unchecked.update(other.unchecked)
        if other.n_hits == 0:
            return
        self.n_hits += other.n_hits
        self.n_packs += other.n_packs
        self.n_segments += other.n_segments
        self.n_tokens += other.n_tokens
        self.amount += other.amount
        if other.exemplars:
            both = sorted(self.exemplars + other.exemplars, key=lambda place: place.order)[:MAX_EXEMPLARS]
            self.exemplars = _with_excerpts(both, other)
        self.confidence = max(self.confidence, other.confidence, key=lambda c: c.rank)


@dataclass(slots=True)
class ShardResult:
    """Hold what a scan of one shard, or of some of its parts, has found.

    Args:
        counts: `n_packs`, `n_segments`, `n_tokens`, `n_padding`, `n_targets`, `n_outside_targets` and what
            the measures need.
        tallies: by rule code.
        summaries: by code of the dataset rule.
        errors: rules that raised.
    """

    counts: Counter[str] = field(default_factory=Counter)
    tallies: dict[str, Tally] = field(default_factory=dict)
    summaries: dict[str, Any] = field(default_factory=dict)
    errors: tuple[str, ...] = ()

    def tally(self, code: str) -> Tally:
        """Return the tally of a rule, making it on first use."""
        found = self.tallies.get(code)
        if found is None:
            found = self.tallies[code] = Tally()
        return found

    def add(self, other: ShardResult) -> None:
        """Add the result of other packs."""
        self.counts.update(other.counts)
        for code, tally in other.tallies.items():
            self.tally(code).add(tally)
        for code, summary in other.summaries.items():
            mine = self.summaries.get(code)
            self.summaries[code] = summary if mine is None else mine.merge(summary)
        self.errors = tuple(sorted({*self.errors, *other.errors}))


def take_summary(results: Iterable[ShardResult], key: str, zero: T) -> T:
    """Return the sum of one summary over all results, and take it out of them."""
    total: Any = zero
    for result in results:
        if key in result.summaries:
            total = total.merge(result.summaries.pop(key))
    taken: T = total
    return taken


def count_batch(batch: PackBatch) -> Counter[str]:
    """Return the plain counts of a batch."""
    lengths = batch.segments.lengths
    return Counter(
        n_packs=batch.n_packs,
        n_segments=batch.n_segments,
        n_tokens=batch.n_tokens,
        n_padding=batch.padding.n_tokens,
        n_targets=batch.targets.n_tokens,
        n_outside_targets=len(batch.outside_targets),
        n_context_pairs=int((lengths * (lengths + 1) // 2).sum()),
        n_segment_tokens=int(lengths.sum()),
        n_unbounded=batch.n_packs if batch.segment_source is None and batch.shard.unit is Unit.PACK else 0,
    )


def tally_hits(batch: PackBatch, hits: Hits) -> Tally:
    """Count hits, at least one, and keep the worst of them as exemplars."""
    tally = Tally(batch=batch)
    tally.add_measured(hits)
    tally.n_hits = len(hits)
    tally.n_packs = _n_distinct(hits.packs)
    tally.n_segments = _n_distinct(hits.segments[hits.segments >= 0])
    tally.n_tokens = int((hits.stops - hits.starts).sum())
    tally.amount = int(hits.amounts.sum())
    tally.confidence = hits.confidence
    worst = np.lexsort((hits.stops, hits.starts, -hits.amounts))[:MAX_EXEMPLARS]
    tally.exemplars = tuple(sorted(_locate(batch, hits, worst), key=lambda place: place.order))
    return tally


def tally_fault(shard: str, fault: Fault) -> Tally:
    """Count what only the reader could see."""
    place = Location(shard=shard, pack=fault.row, note=fault.message)
    return Tally(n_hits=fault.n_hits, n_packs=int(fault.row >= 0), n_checked=1, exemplars=(place,))


def _n_distinct(indices: Int64Array) -> int:
    return int(np.count_nonzero(np.bincount(indices)))


def _locate(batch: PackBatch, hits: Hits, which: Int64Array) -> list[Location]:
    packs, segments = hits.packs[which], hits.segments[which]
    bases, ends = batch.pack_offsets[packs], batch.pack_offsets[packs + 1]
    starts, stops = hits.starts[which], hits.stops[which]
    lows = np.maximum(bases, starts - _CONTEXT_TOKENS)
    highs = np.minimum(ends, np.minimum(stops, starts + _MAX_PLACE_TOKENS) + _CONTEXT_TOKENS)
    numbers = np.append(batch.segment_numbers, -1)[segments]
    columns = (batch.pack_numbers[packs], numbers, starts - bases, stops - bases, hits.amounts[which], bases)
    rows = zip(*(column.tolist() for column in (*columns, lows, highs)), strict=True)
    return [
        Location(
            shard=batch.shard.name,
            pack=pack,
            segment=segment,
            start=start,
            stop=stop,
            amount=amount,
            context_start=low - base,
            context=tuple(batch.tokens[low:high].tolist()),
        )
        for pack, segment, start, stop, amount, base, low, high in rows
    ]


def _with_excerpts(places: Sequence[Location], new: Tally) -> tuple[Location, ...]:
    """Return the places that were kept, new ones with an excerpt; most batches lose all theirs."""
    drawn = [place for place in places if place.context and place in new.exemplars]
    if new.batch is None or not drawn:
        return tuple(places)
    excerpts = dict(zip(map(id, drawn), excerpts_of(new.batch, drawn), strict=True))
    return tuple(replace(p, excerpt=excerpts[id(p)]) if id(p) in excerpts else p for p in places)
