"""Ids that do not count at the ends of samples: those declared, and those that only one side has there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from packlint.engine.scan import ShardPlan
from packlint.errors import UnreadableError
from packlint.model.arrays import IntArray
from packlint.model.batch import PackBatch
from packlint.readers.canonical import build

__all__ = ["find_specials"]

_USUAL, _RARE = 0.9, 0.1
"""Share of runs with an id at an end, from which it is usual there, and up to which it is rare."""
_OFTEN = 0.5
"""How often an id comes for each sample, from which it may stand between all of them."""
_MIN_RUNS = 8
_SAMPLE_TOKENS = 1 << 18
_MAX_SHARDS, _MAX_PARTS = 4, 4


def find_specials(packed: Sequence[ShardPlan], reference: Sequence[ShardPlan]) -> tuple[int, ...]:
    """Return the ids, rising.

    An id with which nearly all segments begin or end, and hardly any sample, was added, whether or not
    anybody said so. One with which nearly all samples begin or end was stripped if the packs hold hardly any
    of it: streams without boundaries hold what samples begin with, only elsewhere. There, an id that no
    sample holds, and that comes about as often as samples do, was put between them.
    """
    specs = (plan.reading.context.spec for plan in (*packed, *reference))
    found = {i for spec in specs for i in spec.special_ids}
    theirs = _Ends.of(reference)
    # A segment alone in its pack may be a fragment, whose end is where the pack was full.
    for ours in (_Ends.of(packed), _Ends.of(packed, in_company=True)):
        if min(ours.n_runs, theirs.n_runs) >= _MIN_RUNS:
            found |= ours.added_to(theirs) | theirs.added_to(ours)
    return tuple(sorted(found or _Ends.of(packed).put_between(theirs)))


@dataclass(slots=True)
class _Ends:
    """Count ids at the ends of runs, and anywhere, in the first tokens of a few shards.

    Args:
        n_runs: segments, or samples.
        first: how many begin with an id.
        last: how many end with it.
        within: how often it comes in all.
        n_tokens: tokens in all.
    """

    n_runs: int = 0
    n_tokens: int = 0
    first: Counter[int] = field(default_factory=Counter)
    last: Counter[int] = field(default_factory=Counter)
    within: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, plans: Sequence[ShardPlan], *, in_company: bool = False) -> _Ends:
        """Return the counts of a side, on request of segments only that share their pack."""
        found = cls()
        for plan in plans[:_MAX_SHARDS]:
            for batch in _peek(plan):
                segments = batch.segments
                counted = segments.stops > segments.starts
                if in_company:
                    counted &= np.bincount(segments.packs, minlength=batch.n_packs)[segments.packs] > 1
                found.n_runs += int(np.count_nonzero(counted))
                found.first.update(_counted(batch.tokens[segments.starts[counted]]))
                found.last.update(_counted(batch.tokens[segments.stops[counted] - 1]))
                found.within.update(_counted(batch.tokens))
                found.n_tokens += batch.n_tokens
        return found

    def added_to(self, other: _Ends) -> set[int]:
        """Return ids that are usual at the ends here, and rare there, at the ends and everywhere."""
        usual = self.usual()
        return {i for i in usual & other.rare(usual) if other.within[i] <= _RARE * other.n_runs}

    def put_between(self, other: _Ends) -> set[int]:
        """Return ids that come about as often as runs of the other side, and never in one of them."""
        wanted = max(_MIN_RUNS, _OFTEN * self.n_tokens * other.n_runs / max(other.n_tokens, 1))
        return {i for i, n in self.within.items() if n >= wanted and not other.within[i]}

    def usual(self) -> set[int]:
        """Return the ids with which nearly all runs begin, or nearly all end."""
        return {i for side in (self.first, self.last) for i, n in side.items() if n >= _USUAL * self.n_runs}

    def rare(self, ids: set[int]) -> set[int]:
        """Return those of some ids with which hardly any run begins or ends."""
        return {i for i in ids if max(self.first[i], self.last[i]) <= _RARE * self.n_runs}


def _counted(ids: IntArray) -> dict[int, int]:
    values, counts = np.unique(ids, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def _peek(plan: ShardPlan) -> Iterable[PackBatch]:
    """Yield the beginning of a few parts: packers put like packs together."""
    parts = plan.shard.parts()
    try:
        for part in parts[:: max(1, -(-len(parts) // _MAX_PARTS))]:
            for raw in islice(plan.shard.rows(part, plan.roles, _SAMPLE_TOKENS), 1):
                batch, _ = build(raw, plan.reading)
                if batch is not None:
                    yield batch
    except UnreadableError:
        return  # the scan reports the damage
