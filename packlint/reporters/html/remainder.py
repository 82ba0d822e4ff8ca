"""What a page says beside its findings: what was not checked or is off, what the baseline knows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from packlint.report import Report, RuleReport, RuleStatus
from packlint.reporters.verdict import CHANGES, difference

__all__ = ["Baselined", "Remainder", "make_remainder"]

_MAX_CHANGES = 100
_MAX_ERRORS = 50

Reasons = tuple[tuple[str, tuple[RuleReport, ...]], ...]


@dataclass(frozen=True, slots=True)
class Baselined:
    """Say what became of the baseline's entries: rule, shard and words of each that differs."""

    source: str
    n_entries: int
    n_known: int
    changes: tuple[tuple[str, str, str], ...]
    n_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """Hold the rules that found nothing, by what became of them.

    Args:
        not_checked: rules by reason.
        partly: rules that looked in some places only, by reason.
        off: rules by reason.
        clean: rules that found nothing anywhere.
        errors: rules that raised.
        n_errors_left: errors that are only counted.
        baseline: what the baseline says, or none.
    """

    not_checked: Reasons
    partly: Reasons
    off: Reasons
    clean: tuple[RuleReport, ...]
    errors: tuple[str, ...]
    n_errors_left: int
    baseline: Baselined | None

    @property
    def n_not_checked(self) -> int:
        """Rules that could not be checked at all."""
        return len({rule.code for _, rules in self.not_checked for rule in rules})


def make_remainder(report: Report) -> Remainder:
    """Return what is left to say."""
    ran = [rule for rule in report.rules if rule.status is not RuleStatus.OFF]
    return Remainder(
        not_checked=_by_reason(r for r in ran if r.status is RuleStatus.NOT_CHECKED),
        partly=_by_reason(r for r in ran if r.status is not RuleStatus.NOT_CHECKED),
        off=_by_reason(r for r in report.rules if r.status is RuleStatus.OFF),
        clean=tuple(r for r in ran if r.status is RuleStatus.CLEAN),
        errors=report.internal_errors[:_MAX_ERRORS],
        n_errors_left=max(0, len(report.internal_errors) - _MAX_ERRORS),
        baseline=_baselined(report),
    )


def _by_reason(rules: Iterable[RuleReport]) -> Reasons:
    """Return the rules by reason, the reason of most rules first; a rule may have several."""
    groups: dict[str, list[RuleReport]] = {}
    for rule in rules:
        for reason in rule.reasons:
            groups.setdefault(reason, []).append(rule)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple((reason, tuple(members)) for reason, members in ordered)


def _baselined(report: Report) -> Baselined | None:
    told = report.baseline
    if told is None:
        return None
    order = [*CHANGES]
    changes = sorted(told.changes, key=lambda change: order.index(change.change))
    rows = [
        (change.code, change.shard or "the whole data set", f"{CHANGES[change.change]}: {difference(change)}")
        for change in changes[:_MAX_CHANGES]
    ]
    n_left = max(0, len(changes) - _MAX_CHANGES)
    return Baselined(told.source, told.n_entries, len(report.known_findings), tuple(rows), n_left)
