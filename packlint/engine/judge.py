"""Rules that look at the whole run: summaries, the reference, two compositions → findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from packlint.engine.tally import ShardResult
from packlint.finding import Finding, Severity
from packlint.rule import Dataset, DatasetRule, DriftRule, Judgement, ReferenceRule, Rule
from packlint.summaries.composition import Composition
from packlint.summaries.reconciliation import Reconciliation

__all__ = ["NO_EVIDENCE", "Evidence", "judge", "measure"]

_NO_REFERENCE = "no reference: give the unpacked samples with --reference"
_NO_SAMPLES = "the reference is a summary of an earlier build, without its samples"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evidence:
    """Hold what the run was compared with.

    Args:
        found: what became of every sample of the reference, or none.
        reference: what the reference, or an earlier build, is made of, or none.
        packed: what the packs are made of, or none.
    """

    found: Reconciliation | None = None
    reference: Composition | None = None
    packed: Composition | None = None


NO_EVIDENCE = Evidence()


def judge(
    rules: Sequence[Rule],
    total: ShardResult,
    dataset: Dataset,
    evidence: Evidence,
    severity_of: Callable[[Rule, Severity], Severity],
) -> list[Finding]:
    """Return the findings about the whole run; notes in `total` what could not be judged, and what raised.

    Args:
        rules: rules that run.
        total: what the scan of all shards has found.
        dataset: what the run is about.
        evidence: what it was compared with.
        severity_of: the severity of a rule's judgement, after profile and configuration.
    """
    found = []
    for rule in rules:
        try:
            judgements = list(_judgements(rule, total, dataset, evidence))
        except Exception as error:  # a rule's bug must not hide the findings of the others
            _note_error(total, rule, error)
            continue
        for judgement in judgements:
            found.append(
                _finding(rule, judgement, severity_of(rule, judgement.severity or rule.meta.severity))
            )
    return found


def measure(rules: Sequence[Rule], total: ShardResult, dataset: Dataset) -> dict[str, int | float]:
    """Return the figures of the whole run that rules give, by name; notes in `total` what raised.

    Args:
        rules: rules that run.
        total: what the scan of all shards has found.
        dataset: what the run is about.
    """
    figures: dict[str, int | float] = {}
    for rule in rules:
        if not isinstance(rule, DatasetRule) or rule.meta.code not in total.summaries:
            continue
        try:
            figures |= rule.measures(total.summaries[rule.meta.code], dataset)
        except Exception as error:  # as in `judge`
            _note_error(total, rule, error)
    return figures


def _note_error(total: ShardResult, rule: Rule, error: Exception) -> None:
    line = f"{rule.meta.code} raised {type(error).__name__} while judging: {error}"
    total.errors = tuple(sorted({*total.errors, line}))


def _judgements(rule: Rule, total: ShardResult, dataset: Dataset, evidence: Evidence) -> Iterator[Judgement]:
    code = rule.meta.code
    if evidence.found is not None and (shown := rule.judge_found(evidence.found, dataset)) is not None:
        _note(total, code, None)
        total.tally(code).unchecked.clear()
        yield from shown
    if evidence.found is not None and (reason := rule.unfound(evidence.found)):
        total.tally(code).n_checked = 0
        _note(total, code, reason)
        return
    if isinstance(rule, DatasetRule) and code in total.summaries:
        yield from rule.judge(total.summaries[code], dataset)
    if isinstance(rule, ReferenceRule):
        reason = _unmatched(rule, dataset, evidence)
        _note(total, code, reason)
        if not reason and evidence.found is not None:
            yield from rule.judge(evidence.found, dataset)
    if isinstance(rule, DriftRule):
        reference, packed = evidence.reference, evidence.packed
        if reference is None or packed is None:
            _note(total, code, _NO_REFERENCE)
            return
        reason = rule.unchecked(reference, packed)
        _note(total, code, reason)
        if not reason:
            yield from rule.judge(reference, packed, dataset)


def _unmatched(rule: ReferenceRule, dataset: Dataset, evidence: Evidence) -> str | None:
    if evidence.found is None:
        return _NO_REFERENCE if evidence.reference is None else _NO_SAMPLES
    return rule.unchecked(evidence.found, dataset)


def _note(total: ShardResult, code: str, reason: str | None) -> None:
    """Note that a rule could, or could not, judge all rows."""
    n_rows = max(total.counts["n_packs"], 1)
    if reason is None:
        total.tally(code).n_checked += n_rows
    else:
        total.tally(code).unchecked[reason] += n_rows


def _finding(rule: Rule, judgement: Judgement, severity: Severity) -> Finding:
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
