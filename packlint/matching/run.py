"""A run against a reference: read it, match while the packs are scanned, then settle what is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from packlint.engine.scan import ShardPlan, Survey
from packlint.engine.tally import ShardResult, take_summary
from packlint.errors import UnreadableError, UsageError
from packlint.executors import local
from packlint.matching.accounts import reconcile
from packlint.matching.matcher import Matcher
from packlint.matching.reference import SampleRows, SamplesObserver
from packlint.matching.shares import packed_shares
from packlint.matching.specials import find_specials
from packlint.matching.trace import MAX_RESIDUE_TOKENS, trace
from packlint.readers.metadata import why_not
from packlint.readers.reference import is_rendered
from packlint.readers.shard import BLOCK_TOKENS
from packlint.summaries.composition import Composition
from packlint.summaries.composition_observer import CompositionObserver
from packlint.summaries.matches import Matches
from packlint.summaries.reconciliation import Reconciliation
from packlint.summaries.samples import SampleIndex, Samples

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Hold a reference that was read, ready to be matched.

    Args:
        plans: its shards.
        samples: its samples.
        index: their look-up.
        composition: what it is made of.
        by: metadata columns that were asked for.
    """

    plans: tuple[ShardPlan, ...]
    samples: Samples
    index: SampleIndex
    composition: Composition
    by: tuple[str, ...] = ()

    @property
    def matcher(self) -> Matcher:
        """What finds the sample of each segment."""
        return Matcher(self.samples, self.index)

    def survey(self) -> Survey:
        """Return what a scan of the packs has to do."""
        matcher = self.matcher
        observers = (matcher, CompositionObserver(self.samples.specials))
        reads_ids = bool(self.by) and self.samples.ids is not None
        return Survey(by=self.by, reads_ids=reads_ids, prepare=matcher.prepare, observers=observers)

    def settle(
        self,
        packed: Sequence[ShardPlan],
        results: Mapping[str, ShardResult],
        max_tokens: int = MAX_RESIDUE_TOKENS,
    ) -> tuple[Reconciliation, Composition]:
        """Return what became of every sample, and what the packs are made of; takes it out of the results.

        Args:
            packed: how the packs were read.
            results: what the scan of them has added up, by shard.
            max_tokens: tokens of unmatched segments held at a time.
        """
        matches = take_summary(results.values(), Matcher.key, Matches())
        composition = take_summary(results.values(), CompositionObserver.key, Composition())
        own = {name for name in self.by if any(why_not(plan.shard, name) is None for plan in packed)}
        segments = matches.sorted()
        traced = trace(packed, self.plans, self.samples, self.index, segments, max_tokens)
        found = reconcile(
            samples=self.samples,
            segments=segments,
            shards=tuple(plan.shard.name for plan in packed),
            n_packed=matches.n_tokens,
            traced=traced,
            has_packed_targets=composition.has_targets,
        )
        for column, shares in packed_shares(found, traced).items():
            if column not in own:
                composition.replace_categories(column, shares)
        return found, composition


def compare(
    plans: tuple[ShardPlan, ...],
    packed: Sequence[ShardPlan],
    *,
    by: tuple[str, ...] = (),
    jobs: int = 1,
    block_tokens: int = BLOCK_TOKENS,
    on_progress: Callable[[ShardResult], None] | None = None,
) -> Comparison:
    """Read the reference of some packs.

    Args:
        plans: how the reference is read.
        packed: how the packs are read.
        by: metadata columns to read.
        jobs: threads.
        block_tokens: tokens per batch.
        on_progress: called after each part.

    Raises:
        UnreadableError: a part of it cannot be read; half a reference would make samples seem lost.
        UsageError: it cannot be a reference, or has no column of `by`.
    """
    _check_columns(plans, packed, by)
    specials = find_specials(packed, plans)
    observers = (SamplesObserver(specials), CompositionObserver(specials))
    results = local.run(
        plans,
        (),
        jobs=jobs,
        block_tokens=block_tokens,
        survey=Survey(by=by, reads_ids=bool(by), observers=observers),
        on_progress=on_progress,
    )
    for name, result in results.items():
        for code, tally in result.tallies.items():
            where = tally.exemplars[0]
            raise UnreadableError(f"reference {name}: {where.note} ({code}, row {where.pack})")
    rows = take_summary(results.values(), SamplesObserver.key, SampleRows())
    composition = take_summary(results.values(), CompositionObserver.key, Composition())
    composition.is_source = True  # the packs come from these very samples: nothing that moved is chance
    samples = rows.samples(tuple(plan.shard.name for plan in plans), specials)
    if len(samples) == 0:
        raise UsageError("the reference holds no samples")
    samples = replace(samples, are_rendered=all(is_rendered(plan.shard) for plan in plans))
    return Comparison(plans, samples, SampleIndex.of(samples), composition, by)


def _check_columns(reference: Sequence[ShardPlan], packed: Sequence[ShardPlan], by: tuple[str, ...]) -> None:
    """Refuse a column that neither side has anywhere."""
    for name in by:
        reasons = [why_not(plan.shard, name) for plan in (*reference, *packed)]
        if reasons and all(reasons):
            raise UsageError(f"--by {name}: {reasons[0]}, neither in the reference nor in the packs")
