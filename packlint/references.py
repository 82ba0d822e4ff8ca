"""What packs are compared with: nothing, the samples that they were made from, or the summary of a build.

All of them answer alike: `survey` says what a scan has to add up, `settle` what follows from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from packlint.config import RunConfig
from packlint.engine.judge import NO_EVIDENCE, Evidence
from packlint.engine.scan import ShardPlan, Survey
from packlint.engine.tally import ShardResult, take_summary
from packlint.errors import UsageError
from packlint.model.batch import PackBatch
from packlint.model.spec import DatasetSpec
from packlint.readers.shard import BLOCK_TOKENS, Settings, Shard
from packlint.summaries.composition import Composition
from packlint.summaries.composition_file import is_composition, read_composition
from packlint.summaries.composition_observer import CompositionObserver
from packlint.summaries.drift.tables import drift_table
from packlint.summaries.order import order_tables
from packlint.summaries.pack_order import PackOrder
from packlint.summaries.reconciliation import Reconciliation

if TYPE_CHECKING:
    from packlint.matching import Comparison

__all__ = ["Reference", "Settled", "open_reference"]

_MAX_LISTED = 50
_PACKED = "packs"


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Hold the outcome of a comparison.

    Args:
        evidence: what rules judge.
        drift: the comparison as tables, for the report.
    """

    evidence: Evidence = NO_EVIDENCE
    drift: Mapping[str, Any] = field(default_factory=dict)


class Reference(Protocol):
    """What packs are compared with."""

    def survey(self) -> Survey:
        """Return what a scan of the packs has to add up besides the rules' own summaries."""

    def settle(self, packed: Sequence[ShardPlan], results: Mapping[str, ShardResult]) -> Settled:
        """Return what follows; takes what the scan added up out of the results."""


@dataclass(frozen=True, slots=True)
class NoReference:
    """Compare with nothing.

    Args:
        by: metadata columns, which are read all the same.
        is_kept: say what the packs are made of, for a later comparison.
    """

    by: tuple[str, ...] = ()
    is_kept: bool = False

    def survey(self) -> Survey:
        """Return that metadata are read, and segments counted where that is wanted."""
        return Survey(by=self.by, observers=(CompositionObserver(),) if self.is_kept else ())

    def settle(self, packed: Sequence[ShardPlan], results: Mapping[str, ShardResult]) -> Settled:
        """Return what the packs are made of, or nothing."""
        return Settled(Evidence(packed=_taken(results))) if self.is_kept else Settled()


@dataclass(frozen=True, slots=True, eq=False)
class SummaryReference:
    """Compare with the saved summary of an earlier build.

    Args:
        name: of its file.
        composition: what that build was made of.
        by: metadata columns to read.
    """

    name: str
    composition: Composition
    by: tuple[str, ...] = ()

    def survey(self) -> Survey:
        """Return that segments and their order are counted."""
        return Survey(by=self.by, observers=(CompositionObserver(), OrderObserver()))

    def settle(self, packed: Sequence[ShardPlan], results: Mapping[str, ShardResult]) -> Settled:
        """Return what both builds are made of."""
        composition = _taken(results)
        table = drift_table(self.composition, composition, reference_name=self.name, packed_name=_PACKED)
        order = _order(packed, results)
        evidence = Evidence(reference=self.composition, packed=composition)
        return Settled(evidence, {**table, "order": order or None})


@dataclass(frozen=True, slots=True)
class SampleReference:
    """Compare with samples, which have been read.

    Args:
        comparison: samples, their index and what they are made of.
    """

    comparison: Comparison

    def survey(self) -> Survey:
        """Return that segments are matched and counted, and their order too."""
        survey = self.comparison.survey()
        return replace(survey, observers=(*survey.observers, OrderObserver()))

    def settle(self, packed: Sequence[ShardPlan], results: Mapping[str, ShardResult]) -> Settled:
        """Return what became of every sample, and what both sides are made of."""
        order = _order(packed, results)
        found, composition = self.comparison.settle(packed, results)
        reference = self.comparison.composition
        names = ", ".join(found.samples.names[:2]) + (", ..." if len(found.samples.names) > 2 else "")
        table = drift_table(reference, composition, reference_name=names, packed_name=_PACKED)
        told = {
            "conservation": found.balance.to_dict(),
            "lost_samples": _lost(found),
            "order": order or None,
            "packed": {**table["packed"], "n_samples": found.n_packed, "n_segments": composition.n_samples},
        }
        return Settled(Evidence(found=found, reference=reference, packed=composition), {**table, **told})


class OrderObserver:
    """Add up how packs follow one another."""

    key = "order"

    def zero(self) -> PackOrder:
        """Return no packs."""
        return PackOrder()

    def observe(self, summary: PackOrder, batch: PackBatch) -> PackOrder:
        """Add the packs of a batch."""
        return summary.add(batch)


def open_reference(
    config: RunConfig,
    samples: Sequence[Shard] | None,
    packed: Sequence[ShardPlan],
    *,
    settings: Settings,
    declared: DatasetSpec,
    jobs: int = 1,
    block_tokens: int = BLOCK_TOKENS,
    is_kept: bool = False,
) -> Reference:
    """Read what the packs are to be compared with.

    Args:
        config: what the user declared.
        samples: shards of unpacked samples, if they are open already.
        packed: how the packs are read.
        settings: what readers are told.
        declared: conventions from config and tokenizer.
        jobs: threads.
        block_tokens: tokens per batch.
        is_kept: what the packs are made of is wanted even where there is nothing to compare with.

    Raises:
        NoInputError: a path matches nothing.
        UnreadableError: a part of the reference cannot be read.
        UsageError: it cannot be a reference.
    """
    if samples is None and not config.reference:
        return NoReference(config.by, is_kept)
    summaries = [path for path in config.reference if is_composition(Path(path))]
    if summaries and samples is None:
        if len(config.reference) > 1:
            raise UsageError(f"{summaries[0]} is the summary of a build: it is a reference by itself")
        return SummaryReference(Path(summaries[0]).name, read_composition(Path(summaries[0])), config.by)
    from packlint.matching import compare, plan_reference, plan_samples

    if samples is None:
        plans = plan_reference(config.reference, settings, config.tokenizer, declared)
    else:
        plans = plan_samples(samples, declared)
    return SampleReference(compare(plans, packed, by=config.by, jobs=jobs, block_tokens=block_tokens))


def _taken(results: Mapping[str, ShardResult]) -> Composition:
    return take_summary(results.values(), CompositionObserver.key, Composition())


def _order(packed: Sequence[ShardPlan], results: Mapping[str, ShardResult]) -> dict[str, Any]:
    order = take_summary(results.values(), OrderObserver.key, PackOrder())
    return order_tables(order, [plan.shard.name for plan in packed])


def _lost(found: Reconciliation) -> list[dict[str, Any]]:
    """Return the lost samples, the longest first, and no more than can be read."""
    samples = found.samples
    sizes = samples.n_tokens + samples.n_specials
    lost = np.flatnonzero(found.is_lost)
    longest = lost[np.lexsort((lost, -sizes[lost]))][:_MAX_LISTED].tolist()
    columns = {name: (column.names, column.codes) for name, column in sorted(samples.metadata.items())}
    return [
        {
            "shard": samples.name_of(i),
            "row": int(samples.rows[i]),
            "n_tokens": int(sizes[i]),
            **{name: names[codes[i]] for name, (names, codes) in columns.items() if codes[i] >= 0},
        }
        for i in longest
    ]
