"""All shard results → `Report`: statuses, findings, measures, exit code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from packlint.engine.plan import Plan
from packlint.engine.scan import ShardPlan
from packlint.engine.tally import ShardResult, Tally
from packlint.finding import Finding, Severity
from packlint.model.batch import ShardContext, Unit
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.report import InputReport, Report, RuleReport, RuleStatus
from packlint.rule import Dataset, DatasetRule, Judgement, PackRule, Rule, Totals

__all__ = ["RuleSet", "conclude"]


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
) -> Report:
    """Return the report of a run.

    Args:
        version: version of packlint.
        plan: how the shards were read.
        rules: which rules ran.
        results: result by shard name.
        unreadable: reason by name of each file that could not even be opened.
    """
    findings = _findings(plan, rules, results)
    total = ShardResult()
    for result in results.values():
        total.add(result)
    findings += _judge(plan, rules, total)
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
        measures=_measures(total.counts),
        internal_errors=total.errors,
    )


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


def _judge(plan: Plan, rules: RuleSet, total: ShardResult) -> list[Finding]:
    dataset = Dataset(
        shards=tuple(p.shard.name for p in plan.shards),
        policy=plan.policy,
        spec=_common_values(plan.shards),
        checked=total.counts,
        manifests=plan.manifests,
    )
    context = plan.shards[0].reading.context if plan.shards else None
    found = []
    for rule in rules.active:
        code = rule.meta.code
        if not isinstance(rule, DatasetRule) or code not in total.summaries:
            continue
        try:
            judgements = list(rule.judge(total.summaries[code], dataset))
        except Exception as error:  # a rule's bug must not hide the findings of the others
            line = f"{code} raised {type(error).__name__} while judging: {error}"
            total.errors = tuple(sorted({*total.errors, line}))
            continue
        for judgement in judgements:
            natural = judgement.severity or rule.meta.severity
            found.append(_judged(rule, judgement, _severity(rule, natural, context, rules)))
    return found


def _judged(rule: Rule, judgement: Judgement, severity: Severity) -> Finding:
    return Finding(
        code=rule.meta.code,
        name=rule.meta.name,
        severity=severity,
        confidence=judgement.confidence,
        shard="",
        message=judgement.message,
        n_hits=judgement.n_hits,
        n_packs=judgement.n_packs,
        n_segments=judgement.n_segments,
        n_tokens=judgement.n_tokens,
        measured=dict(judgement.measured),
        locations=judgement.locations,
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
    partial_only = isinstance(rule, PackRule | DatasetRule) and tally.n_checked == 0
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


def _measures(counts: Counter[str]) -> dict[str, int | float]:
    measures: dict[str, int | float] = {
        name: counts[name] for name in ("n_packs", "n_segments", "n_tokens", "n_padding", "n_targets")
    }
    real = counts["n_tokens"] - counts["n_padding"]
    ratios = {
        "padding_fraction": (counts["n_padding"], counts["n_tokens"]),
        "samples_per_pack": (counts["n_segments"], counts["n_packs"]),
        "target_fraction": (counts["n_targets"], real),
        "mean_context_tokens": (counts["n_context_pairs"], counts["n_segment_tokens"]),
        "tokens_per_sample": (counts["n_segment_tokens"], counts["n_segments"]),
    }
    return measures | {name: a / b for name, (a, b) in ratios.items() if b}
