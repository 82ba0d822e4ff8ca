"""The verdict in words, for every format that people read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from packlint.baseline import BaselineChange
from packlint.finding import Finding, Severity
from packlint.report import Report, RuleStatus
from packlint.reporters.signs import count

__all__ = [
    "CHANGES",
    "below_limit",
    "clean_words",
    "counts_by_severity",
    "difference",
    "found_words",
    "known_words",
    "plain_verdict",
    "where",
]

_WORDS = {"error": ("error", "errors"), "warning": ("warning", "warnings"), "info": ("note", "notes")}
CHANGES = {
    "risen": "above the baseline, so new",
    "gone": "no longer found",
    "fallen": "below the baseline",
    "unchecked": "not looked at in this run",
}
"""What became of an entry of the baseline, in the order in which it matters."""

_COUNTED = {"n_hits": "place", "n_packs": "pack", "n_segments": "segment", "n_tokens": "token"}


def plain_verdict(report: Report, fail_on: str) -> str:
    """Return the verdict in one line, without a sign or colour."""
    if report.internal_errors:
        return f"packlint itself failed: {found_words(report)}"
    if not report.findings:
        return f"clean: {clean_words(report)}"
    return found_words(report) + below_limit(report, fail_on)


def found_words(report: Report) -> str:
    """Return what was found and where: new first, then known."""
    if not report.findings:
        return "no findings, and the run is incomplete"
    new = report.new_findings
    parts = ", ".join(words for words, _ in counts_by_severity(new)) + where(report, new)
    return (parts if new else "nothing new") + known_words(report)


def clean_words(report: Report) -> str:
    """Return how much was looked at, and how much was not."""
    clean = sum(rule.status is RuleStatus.CLEAN for rule in report.rules)
    skipped = sum(rule.status is RuleStatus.NOT_CHECKED for rule in report.rules)
    rest = f", {skipped} could not be checked" if skipped else ""
    return f"{count(clean, 'rule')} found nothing in {count(len(report.inputs), 'shard')}{rest}"


def counts_by_severity(findings: Sequence[Finding]) -> list[tuple[str, Severity]]:
    """Return `2 errors`, `1 warning` and so on, with the severity."""
    counts = Counter(finding.severity for finding in findings)
    return [(count(counts[s], *_WORDS[s]), s) for s in Severity if counts[s]]


def where(report: Report, findings: Sequence[Finding]) -> str:
    """Return in how many of the shards, after a space."""
    shards = {finding.shard for finding in findings}
    of = f"{len(shards - {''}):,} of {count(len(report.inputs), 'shard')}"
    if shards == {""}:
        return f" over the whole data set ({count(len(report.inputs), 'shard')})"
    return f" in {of} and over the whole data set" if "" in shards else f" in {of}"


def known_words(report: Report) -> str:
    """Return how many findings the baseline knows, after a separator; nothing where it knows none."""
    if report.baseline is None or not (n := len(report.known_findings)):
        return ""
    return f"; {n:,} known from {report.baseline.source}"


def below_limit(report: Report, fail_on: str) -> str:
    """Return why new findings do not fail the run, after a separator."""
    return f"; below --fail-on {fail_on}, exit 0" if report.new_findings and not report.exit_code else ""


def difference(change: BaselineChange) -> str:
    """Return what differs most plainly from an entry: the places, else the first other count that does."""
    differs = (name for name in _COUNTED if change.before[name] != change.now[name])
    if change.change in ("risen", "fallen"):
        is_more = change.change == "risen"
        differs = (name for name in differs if (change.now[name] > change.before[name]) == is_more)
    name = next(differs, "n_hits")
    before, now = change.before[name], change.now[name]
    if change.change in ("gone", "unchecked"):
        return f"{count(before, _COUNTED[name])} before"
    return f"{count(now, _COUNTED[name])}, {before:,} before"
