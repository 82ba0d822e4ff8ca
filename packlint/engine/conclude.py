"""All shard results → `Report`: statuses, findings, measures, exit code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from packlint.engine.judge import NO_EVIDENCE, Evidence, judge, measure
from packlint.engine.measures import measures_of
from packlint.engine.plan import Plan
from packlint.engine.scan import ShardPlan
from packlint.engine.tally import ShardResult, Tally
from packlint.finding import Finding, Severity
from packlint.model.batch import ShardContext, Unit
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.report import InputReport, Report, RuleReport, RuleStatus
from packlint.rule import Dataset, PackRule, ReaderRule, Rule, Totals

__all__ = ["RuleSet", "conclude"]

_SUITE_RULE = "EXP001"
_NO_SUITE = "no suite: give one with --expectations"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """Hold the rules of a run.

    Args:
        active: rules that run, sorted by code.
        off: reason by code of each rule that does not, with the rule.
        severities: severity by code, where the user changed it.
        fail_on: lowest severity that fails the run.
    """

    active: tuple[Rule, ...]
    off: Mapping[str, tuple[type[Rule], str]] = field(default_factory=dict)
    severities: Mapping[str, Severity] = field(default_factory=dict)
    fail_on: Severity = Severity.ERROR


def conclude(
    *,
    version: str,
    plan: Plan,
    rules: RuleSet,
    results: Mapping[str, ShardResult],
    unreadable: Mapping[str, str],
    evidence: Evidence = NO_EVIDENCE,
    drift: Mapping[str, Any] | None = None,
    more: Sequence[Finding] = (),
    errors: Sequence[str] = (),
    has_suite: bool = False,
) -> Report:
    """Return the report of a run.

    Args:
        version: version of packlint.
        plan: how the shards were read.
        rules: which rules ran.
        results: result by shard name.
        unreadable: reason by name of each file that could not even be opened.
        evidence: what the run was compared with.
        drift: the comparison as tables, for the report.
        more: findings of the suite of expectations.
        errors: what went wrong besides.
        has_suite: there is a suite of expectations.
    """
    findings = _findings(plan, rules, results)
    total = ShardResult()
    for result in results.values():
        total.add(result)
    dataset = _dataset(plan, total, evidence)
    findings += _judge(plan, rules, total, dataset, evidence)
    figures = measure(rules.active, total, dataset)
    findings += _of_active_rules(more, rules)
    total.errors = tuple(sorted({*total.errors, *errors}))
    if not has_suite:
        total.tally(_SUITE_RULE).unchecked[_NO_SUITE] += max(total.counts["n_packs"], 1)
    findings.sort(key=lambda f: (f.severity.rank, f.code, f.shard, f.message))
    failed = any(f.severity.rank <= rules.fail_on.rank for f in findings)
    return Report(
        version=version,
        exit_code=2 if total.errors else int(failed),
        profile=plan.profile,
        spec=_shared_spec(plan.shards),
        inputs=_inputs(plan, results, unreadable),
        rules=tuple(sorted(_rule_reports(rules, total, findings), key=lambda r: r.code)),
        findings=tuple(findings),
        measures=measures_of(total.counts) | figures,
        internal_errors=total.errors,
        drift=drift or {},
    )


def _of_active_rules(findings: Sequence[Finding], rules: RuleSet) -> list[Finding]:
    active = {rule.meta.code for rule in rules.active}
    return [
        replace(f, severity=rules.severities.get(f.code, f.severity)) for f in findings if f.code in active
    ]


def _findings(plan: Plan, rules: RuleSet, results: Mapping[str, ShardResult]) -> list[Finding]:
    contexts = {p.shard.name: p.reading.context for p in plan.shards}
    found = []
    for name in sorted(results):
        for rule in rules.active:
            tally = results[name].tallies.get(rule.meta.code)
            if tally is None or tally.n_hits == 0:  # a dataset rule's hits are the reader's own faults
                continue
            found.append(_finding(rule, tally, name, contexts.get(name), results[name].counts, rules))
    return found


def _finding(
    rule: Rule,
    tally: Tally,
    name: str,
    context: ShardContext | None,
    counts: Mapping[str, int],
    rules: RuleSet,
) -> Finding:
    if isinstance(rule, PackRule):
        assert context is not None
        message = rule.message(_totals(tally, context, counts))
        natural = rule.severity(context)
    else:
        message = _fault_message(tally)
        natural = rule.meta.severity
    return Finding(
        code=rule.meta.code,
        name=rule.meta.name,
        severity=_severity(rule, natural, context, rules),
        confidence=tally.confidence,
        shard=name,
        message=message,
        n_hits=tally.n_hits,
        n_packs=tally.n_packs,
        n_segments=tally.n_segments,
        n_tokens=tally.n_tokens,
        measured=dict(tally.measured),
        locations=tally.exemplars,
    )


def _totals(tally: Tally, context: ShardContext, counts: Mapping[str, int]) -> Totals:
    return Totals(
        shard=context,
        n_hits=tally.n_hits,
        n_packs=tally.n_packs,
        n_segments=tally.n_segments,
        n_tokens=tally.n_tokens,
        amount=tally.amount,
        measured=tally.measured,
        checked=counts,
        worst=tally.exemplars[0],
    )


def _fault_message(tally: Tally) -> str:
    first = tally.exemplars[0]
    if tally.n_hits == 1:
        return first.note
    where = f"row {first.pack}: " if first.pack >= 0 else ""
    return f"{tally.n_hits:,} places, the first: {where}{first.note}"


def _severity(rule: Rule, natural: Severity, context: ShardContext | None, rules: RuleSet) -> Severity:
    code = rule.meta.code
    if code in rules.severities:
        return rules.severities[code]
    if context is not None and code in context.policy.severities:
        return Severity(context.policy.severities[code])
    return natural


def _dataset(plan: Plan, total: ShardResult, evidence: Evidence) -> Dataset:
    return Dataset(
        shards=tuple(p.shard.name for p in plan.shards),
        policy=plan.policy,
        spec=_common_values(plan.shards),
        checked=total.counts,
        manifests=plan.manifests,
        found=evidence.found,
        reference=evidence.reference,
        packed=evidence.packed,
    )


def _judge(
    plan: Plan, rules: RuleSet, total: ShardResult, dataset: Dataset, evidence: Evidence
) -> list[Finding]:
    context = plan.shards[0].reading.context if plan.shards else None
    return judge(
        rules.active,
        total,
        dataset,
        evidence,
        lambda rule, natural: _severity(rule, natural, context, rules),
    )


def _rule_reports(rules: RuleSet, total: ShardResult, findings: Sequence[Finding]) -> Iterable[RuleReport]:
    for code, (rule, reason) in rules.off.items():
        yield RuleReport(
            code=code,
            name=rule.meta.name,
            severity=rule.meta.severity,
            status=RuleStatus.OFF,
            reasons=(reason,),
        )
    for active in rules.active:
        mine = [f for f in findings if f.code == active.meta.code]
        yield _rule_report(active, total.tallies.get(active.meta.code, Tally()), mine)


def _rule_report(rule: Rule, tally: Tally, found: Sequence[Finding]) -> RuleReport:
    is_judged = not isinstance(rule, ReaderRule) or bool(tally.unchecked)
    partial_only = is_judged and tally.n_checked == 0
    status = RuleStatus.FOUND if found else RuleStatus.NOT_CHECKED if partial_only else RuleStatus.CLEAN
    return RuleReport(
        code=rule.meta.code,
        name=rule.meta.name,
        severity=min((f.severity for f in found), key=lambda s: s.rank, default=rule.meta.severity),
        status=status,
        reasons=_reasons(tally, status),
        n_hits=sum(f.n_hits for f in found),
        n_packs=sum(f.n_packs for f in found),
        n_segments=sum(f.n_segments for f in found),
        n_tokens=sum(f.n_tokens for f in found),
        measured=dict(tally.measured),
    )


def _reasons(tally: Tally, status: RuleStatus) -> tuple[str, ...]:
    if not tally.unchecked:
        return ("no packs",) if status is RuleStatus.NOT_CHECKED else ()
    reasons = sorted(tally.unchecked.items(), key=lambda item: (-item[1], item[0]))
    if status is RuleStatus.NOT_CHECKED and len(reasons) == 1:
        return (reasons[0][0],)
    n_rows = tally.n_checked + sum(tally.unchecked.values())
    return tuple(f"{reason} (in {n:,} of {n_rows:,} rows)" for reason, n in reasons)


def _inputs(
    plan: Plan, results: Mapping[str, ShardResult], unreadable: Mapping[str, str]
) -> tuple[InputReport, ...]:
    entries = [InputReport(path=name, format="unreadable") for name in unreadable]
    for shard_plan in plan.shards:
        shard, context = shard_plan.shard, shard_plan.reading.context
        counts = results[shard.name].counts
        trainer = context.contract.name if context.contract else ""
        names = ("n_segments", "n_tokens", "n_padding", "n_targets", "n_outside_targets")
        entries.append(
            InputReport(
                path=shard.name,
                format=shard.format,
                unit=context.unit.value,
                trainer=trainer,
                trainer_source=plan.trainer_source if trainer else "",
                evidence=tuple(shard.layout.evidence),
                n_packs=None if context.unit is Unit.DOCUMENT else counts["n_packs"],
                n_bytes=shard.n_bytes,
                **{name: counts[name] for name in names},
            )
        )
    return tuple(sorted(entries, key=lambda entry: entry.path))


def _shared_spec(plans: Sequence[ShardPlan]) -> dict[str, Known[Any]]:
    """Return the conventions by name; one that differs between shards has no value here."""
    shared: dict[str, Known[Any]] = {}
    for name in (f.name for f in fields(DatasetSpec)):
        known = [k for p in plans if (k := getattr(p.reading.context.spec, name)) is not None]
        if not known:
            continue
        same = all(k.value == known[0].value for k in known)
        shared[name] = known[0] if same else Known(None, Origin.DETECTED, "differs between shards")
    return shared


def _common_values(plans: Sequence[ShardPlan]) -> DatasetSpec:
    return DatasetSpec(**{n: k for n, k in _shared_spec(plans).items() if k.value is not None})
