"""Exact counts of one shard, that add up in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from packlint.engine.excerpts import excerpt_of
from packlint.finding import Confidence, Hits, Location
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
            self.exemplars = tuple(_with_excerpts(both, other))
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
    """Count hits and keep the worst of them as exemplars."""
    tally = Tally(measured=Counter({name: int(value) for name, value in hits.measured.items()}), batch=batch)
    if len(hits) == 0:
        return tally
    tally.n_hits = len(hits)
    tally.n_packs = int(np.unique(hits.packs).size)
    tally.n_segments = int(np.unique(hits.segments[hits.segments >= 0]).size)
    tally.n_tokens = int((hits.stops - hits.starts).sum())
    tally.amount = int(hits.amounts.sum())
    tally.confidence = hits.confidence
    worst = np.lexsort((hits.stops, hits.starts, -hits.amounts))[:MAX_EXEMPLARS]
    places = [_locate(batch, hits, int(i)) for i in worst]
    tally.exemplars = tuple(sorted(places, key=lambda place: place.order))
    return tally


def tally_fault(shard: str, fault: Fault) -> Tally:
    """Count what only the reader could see."""
    place = Location(shard=shard, pack=fault.row, note=fault.message)
    return Tally(n_hits=fault.n_hits, n_packs=int(fault.row >= 0), n_checked=1, exemplars=(place,))


def _locate(batch: PackBatch, hits: Hits, i: int) -> Location:
    pack, segment = int(hits.packs[i]), int(hits.segments[i])
    base, end = int(batch.pack_offsets[pack]), int(batch.pack_offsets[pack + 1])
    start, stop = int(hits.starts[i]), int(hits.stops[i])
    low = max(base, start - _CONTEXT_TOKENS)
    high = min(end, min(stop, start + _MAX_PLACE_TOKENS) + _CONTEXT_TOKENS)
    return Location(
        shard=batch.shard.name,
        pack=int(batch.pack_numbers[pack]),
        segment=int(batch.segment_numbers[segment]) if segment >= 0 else -1,
        start=start - base,
        stop=stop - base,
        amount=int(hits.amounts[i]),
        context_start=low - base,
        context=tuple(batch.tokens[low:high].tolist()),
    )


def _with_excerpts(places: Sequence[Location], new: Tally) -> Iterator[Location]:
    """Yield the places that were kept, new ones with an excerpt; most batches lose all theirs."""
    batch = new.batch
    for place in places:
        if batch is None or not place.context or place not in new.exemplars:
            yield place
            continue
        pack = int(np.flatnonzero(batch.pack_numbers == place.pack)[0])
        base = int(batch.pack_offsets[pack])
        low = base + place.context_start
        excerpt = excerpt_of(batch, pack, base + place.start, low, low + len(place.context))
        yield replace(place, excerpt=excerpt)
