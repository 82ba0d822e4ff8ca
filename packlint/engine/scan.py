"""One part of a shard through all rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packlint.engine.tally import ShardResult, count_batch, tally_fault, tally_hits
from packlint.errors import UnreadableError
from packlint.model.batch import PackBatch
from packlint.model.needs import missing
from packlint.readers.canonical import build
from packlint.readers.reading import Reading
from packlint.readers.shard import BLOCK_TOKENS, Fault, Part, Role, Shard
from packlint.rule import DatasetRule, PackRule, Rule

__all__ = ["ShardPlan", "merge", "scan_batch", "scan_part"]


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


def scan_part(
    plan: ShardPlan, part: Part, rules: Sequence[Rule], block_tokens: int = BLOCK_TOKENS
) -> ShardResult:
    """Scan one part of a shard; what cannot be read becomes a finding, never an exception."""
    result = ShardResult()
    try:
        for raw in plan.shard.rows(part, plan.roles, block_tokens):
            batch, faults = build(raw, plan.reading)
            _add_faults(result, plan.shard.name, faults)
            if batch is not None:
                scan_batch(result, batch, rules)
    except UnreadableError as error:
        fault = Fault(code="SHD001", message=str(error))
        _add_faults(result, plan.shard.name, [fault])
    return result


def scan_batch(result: ShardResult, batch: PackBatch, rules: Sequence[Rule]) -> None:
    """Add what the rules say of one batch to `result`."""
    result.counts.update(count_batch(batch))
    for rule in rules:
        if isinstance(rule, PackRule | DatasetRule):
            try:
                _apply(result, batch, rule)
            except Exception as error:  # a rule's bug must not hide the findings of the others
                line = f"{rule.meta.code} raised {type(error).__name__} on {batch.shard.name}: {error}"
                result.errors = tuple(sorted({*result.errors, line}))


def _apply(result: ShardResult, batch: PackBatch, rule: PackRule | DatasetRule) -> None:  # type: ignore[type-arg]
    code = rule.meta.code
    tally = result.tally(code)
    reasons = (missing(batch, need) for need in rule.meta.needs)
    reason = next((r for r in reasons if r), None) or rule.unchecked(batch)
    if reason is not None:
        tally.unchecked[reason] += batch.n_packs
        if not rule.partial:
            return
    else:
        tally.n_checked += batch.n_packs
    if isinstance(rule, PackRule):
        tally.add(tally_hits(batch, rule.check(batch)))
        return
    summary = result.summaries.get(code)
    result.summaries[code] = rule.observe(rule.zero() if summary is None else summary, batch)


def _add_faults(result: ShardResult, shard: str, faults: Iterable[Fault]) -> None:
    for fault in faults:
        result.tally(fault.code).add(tally_fault(shard, fault))


def merge(results: Iterable[ShardResult]) -> ShardResult:
    """Add results up, in any order."""
    total = ShardResult()
    for result in results:
        total.add(result)
    return total
