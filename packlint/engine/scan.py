"""One part of a shard through all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from packlint.engine.tally import ShardResult, count_batch, tally_fault, tally_hits
from packlint.errors import UnreadableError
from packlint.model.batch import PackBatch
from packlint.model.needs import unmet_needs
from packlint.readers.canonical import build
from packlint.readers.metadata import attach, attach_sample_ids, read_metadata, read_sample_ids
from packlint.readers.reading import Reading
from packlint.readers.shard import BLOCK_TOKENS, Fault, Part, Role, Shard
from packlint.rule import DatasetRule, PackRule, Rule

__all__ = ["NO_SURVEY", "Observer", "ShardPlan", "Survey", "merge", "scan_batch", "scan_part"]


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """Say how one shard is to be scanned.

    Args:
        shard: where the rows come from.
        reading: how they are read.
        roles: the columns to decode.
    """

    shard: Shard
    reading: Reading
    roles: frozenset[Role]


class Observer(Protocol):
    """Add up a summary that is no rule's own."""

    @property
    def key(self) -> str:
        """Name of the summary among those of a result; no rule has it."""

    def zero(self) -> Any:
        """Return the summary of nothing."""

    def observe(self, summary: Any, batch: PackBatch) -> Any:
        """Add a batch; may update `summary` in place and return it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """Say what is done with every batch besides the rules.

    Args:
        by: metadata columns to read.
        reads_ids: read the ids of samples, where they are stored.
        prepare: completes a batch before any rule sees it.
        observers: what else is added up.
    """

    by: tuple[str, ...] = ()
    reads_ids: bool = False
    prepare: Callable[[PackBatch], PackBatch] | None = None
    observers: tuple[Observer, ...] = ()


NO_SURVEY = Survey()


def scan_part(
    plan: ShardPlan,
    part: Part,
    rules: Sequence[Rule],
    block_tokens: int = BLOCK_TOKENS,
    survey: Survey = NO_SURVEY,
) -> ShardResult:
    """Scan one part of a shard; what cannot be read becomes a finding, never an exception."""
    result = ShardResult()
    steps: list[_Step] | None = None
    values = read_metadata(plan.shard, part, survey.by) if survey.by else {}
    ids = read_sample_ids(plan.shard, part) if survey.reads_ids else None
    try:
        for raw in plan.shard.rows(part, plan.roles, block_tokens):
            batch, faults = build(raw, plan.reading)
            _add_faults(result, plan.shard.name, faults)
            if batch is None:
                continue
            batch = attach(batch, values, part) if values else batch
            if ids is not None:
                batch = replace(batch, sample_ids=attach_sample_ids(batch, ids, part))
            batch = survey.prepare(batch) if survey.prepare else batch
            steps = _steps(rules, batch) if steps is None else steps
            _scan(result, batch, steps)
            for observer in survey.observers:
                summary = result.summaries.get(observer.key)
                summary = observer.zero() if summary is None else summary
                result.summaries[observer.key] = observer.observe(summary, batch)
    except UnreadableError as error:
        fault = Fault(code="SHD001", message=str(error))
        _add_faults(result, plan.shard.name, [fault])
    return result


def scan_batch(result: ShardResult, batch: PackBatch, rules: Sequence[Rule]) -> None:
    """Add what the rules say of one batch to `result`."""
    _scan(result, batch, _steps(rules, batch))


@dataclass(frozen=True, slots=True)
class _Step:
    """Say what to do with one rule: the same for every batch of a shard.

    Args:
        code: rule code.
        reason: why the shard cannot be judged, or none.
        pack_rule: the rule, if it looks at batches and is to be run.
        dataset_rule: the rule, if it adds up a summary and is to be run.
    """

    code: str
    reason: str | None
    pack_rule: PackRule | None = None
    dataset_rule: DatasetRule[Any] | None = None


def _steps(rules: Sequence[Rule], batch: PackBatch) -> list[_Step]:
    steps, unmet = [], unmet_needs(batch)
    for rule in rules:
        if not isinstance(rule, PackRule | DatasetRule):
            continue
        reason = next((unmet[need] for need in rule.meta.needs if need in unmet), None)
        reason = reason or rule.unchecked(batch)
        if reason is not None and not rule.partial:
            steps.append(_Step(rule.meta.code, reason))
        elif isinstance(rule, PackRule):
            steps.append(_Step(rule.meta.code, reason, pack_rule=rule))
        else:
            steps.append(_Step(rule.meta.code, reason, dataset_rule=rule))
    return steps


def _scan(result: ShardResult, batch: PackBatch, steps: Sequence[_Step]) -> None:
    result.counts.update(count_batch(batch))
    for step in steps:
        try:
            _apply(result, batch, step)
        except Exception as error:  # a rule's bug must not hide the findings of the others
            line = f"{step.code} raised {type(error).__name__} on {batch.shard.name}: {error}"
            result.errors = tuple(sorted({*result.errors, line}))


def _apply(result: ShardResult, batch: PackBatch, step: _Step) -> None:
    tally = result.tally(step.code)
    if step.reason is None:
        tally.n_checked += batch.n_packs
    else:
        tally.unchecked[step.reason] += batch.n_packs
    if step.pack_rule is not None:
        hits = step.pack_rule.check(batch)
        if len(hits):
            tally.add(tally_hits(batch, hits))
        else:
            tally.add_measured(hits)
    elif step.dataset_rule is not None:
        summary = result.summaries.get(step.code)
        summary = step.dataset_rule.zero() if summary is None else summary
        result.summaries[step.code] = step.dataset_rule.observe(summary, batch)


def _add_faults(result: ShardResult, shard: str, faults: Iterable[Fault]) -> None:
    for fault in faults:
        result.tally(fault.code).add(tally_fault(shard, fault))


def merge(results: Iterable[ShardResult]) -> ShardResult:
    """Add results up, in any order."""
    total = ShardResult()
    for result in results:
        total.add(result)
    return total
