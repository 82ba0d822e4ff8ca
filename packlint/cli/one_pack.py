"""One pack out of a shard, in canonical form, and what the rules say of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from packlint import __version__
from packlint.config import RunConfig
from packlint.conventions import reader_settings
from packlint.engine.conclude import RuleSet, conclude
from packlint.engine.plan import Plan, plan_shards
from packlint.engine.scan import ShardPlan, scan_batch
from packlint.engine.tally import ShardResult
from packlint.errors import UsageError
from packlint.finding import Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import missing
from packlint.model.spec import DatasetSpec
from packlint.readers import open_shards
from packlint.readers.canonical import build
from packlint.readers.shard import BLOCK_TOKENS, Part, Ragged, RawRows, Role
from packlint.registry import load_rules, rule_modules
from packlint.report import Report
from packlint.reporters.pack_view import Fault
from packlint.rule import PackRule

__all__ = ["OnePack", "read_pack"]

_MAX_NAMES = 3


@dataclass(frozen=True, slots=True)
class OnePack:
    """Hold a pack by itself.

    Args:
        batch: the pack, as a batch of one.
        report: what pack rules find in it.
        faults: all places of findings.
        n_packs: packs of the shard, 0 where only reading all of it tells.
    """

    batch: PackBatch
    report: Report
    faults: tuple[Fault, ...]
    n_packs: int


def read_pack(path: str, pack: int, config: RunConfig, declared: DatasetSpec) -> OnePack:
    """Return one pack of the shard at `path`.

    Raises:
        NoInputError: no shard is there.
        UsageError: more than one shard is there, or the shard has no such pack.
        UnreadableError: the shard is damaged.
    """
    shards, broken = open_shards([path], reader_settings(config))
    if broken:
        raise broken[0][1]
    if len(shards) > 1:
        names = ", ".join(shard.name for shard in shards[:_MAX_NAMES])
        more = ", …" if len(shards) > _MAX_NAMES else ""
        raise UsageError(f"{path} holds {len(shards)} shards, name one of them: {names}{more}")
    plan = plan_shards(shards, config, declared)
    entry = plan.shards[0]
    batch = _find(entry, pack)
    rules = _pack_rules(config, plan)
    n_packs = sum(part.n_rows for part in entry.shard.parts())
    return OnePack(batch, _report(plan, batch, rules), tuple(_places(batch, rules)), n_packs)


def _find(entry: ShardPlan, pack: int) -> PackBatch:
    parts = entry.shard.parts()
    likely = [p for p in parts if p.n_rows == 0 or p.first_row <= pack < p.first_row + p.n_rows]
    for part in likely:
        raw = _row(entry, part, pack)
        if raw is None:
            continue
        batch, faults = build(raw, entry.reading)
        if batch is None:
            reasons = "; ".join(fault.message for fault in faults) or "it cannot be read"
            raise UsageError(f"{entry.shard.name}: pack {pack}: {reasons}")
        return batch
    n_packs = sum(part.n_rows for part in parts)
    known = f"; it has {n_packs:,}, from 0 to {n_packs - 1:,}" if n_packs else ""
    raise UsageError(f"{entry.shard.name} has no pack {pack} that can be read{known}")


def _row(entry: ShardPlan, part: Part, pack: int) -> RawRows | None:
    for raw in entry.shard.rows(part, entry.roles, BLOCK_TOKENS):
        found = np.flatnonzero(raw.row_numbers == pack)
        if found.size:
            row = int(found[0])
            columns = {role: _slice(role, column, row) for role, column in raw.columns.items()}
            return RawRows(row_numbers=raw.row_numbers[row : row + 1], columns=columns)
    return None


def _slice(role: Role, column: Ragged, row: int) -> Ragged:
    if role is Role.DENSE_MASK:
        return Ragged(column.values[row : row + 1], np.arange(2))
    start, stop = int(column.offsets[row]), int(column.offsets[row + 1])
    return Ragged(column.values[start:stop], np.array([0, stop - start]))


def _pack_rules(config: RunConfig, plan: Plan) -> tuple[PackRule, ...]:
    """Return all pack rules that the profile leaves on; one pack says nothing of a whole data set."""
    options = {c: {k: v for k, v in t.items() if k != "severity"} for c, t in config.rules.items()}
    codes = [code for code in rule_modules() if code not in plan.policy.off]
    return tuple(rule for rule in load_rules(codes, options) if isinstance(rule, PackRule))


def _report(plan: Plan, batch: PackBatch, rules: tuple[PackRule, ...]) -> Report:
    result = ShardResult()
    scan_batch(result, batch, rules)
    rule_set = RuleSet(active=rules, fail_on=Severity.ERROR)
    results = {batch.shard.name: result}
    return conclude(version=__version__, plan=plan, rules=rule_set, results=results, unreadable={})


def _places(batch: PackBatch, rules: tuple[PackRule, ...]) -> Iterator[Fault]:
    for rule in rules:
        try:
            yield from _places_of(batch, rule)
        except Exception:  # the scan has noted that this rule raises, and the report says so
            continue


def _places_of(batch: PackBatch, rule: PackRule) -> Iterator[Fault]:
    if any(missing(batch, need) for need in rule.meta.needs):
        return
    if rule.unchecked(batch) is not None and not rule.partial:
        return
    hits = rule.check(batch)
    for start, stop in zip(hits.starts.tolist(), hits.stops.tolist(), strict=True):
        if 0 < stop - start < batch.n_tokens:  # a place that is the whole pack marks nothing
            yield Fault(rule.meta.code, start, stop)
