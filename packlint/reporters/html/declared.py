"""What manifests declare against what was measured, from the findings of the family MAN."""

from __future__ import annotations

from dataclasses import dataclass

from packlint.report import Report, RuleStatus

__all__ = ["Declared", "make_declared"]

_FAMILY = "MAN"
_MAX_ROWS = 40
_SUMMARIES = {"MAN003": "declared, not so", "MAN002": "declared nowhere", "MAN001": "no manifest"}


@dataclass(frozen=True, slots=True)
class Declared:
    """Hold what the section shows.

    Args:
        verdict: what holds, in a sentence.
        rows: what is wrong, where, and the words of the rule.
        n_left: rows that are only counted.
    """

    verdict: str
    rows: tuple[tuple[str, str, str], ...]
    n_left: int = 0


def make_declared(report: Report) -> Declared:
    """Return the section; it says so where nothing is declared."""
    rows = []
    for finding in sorted(report.findings, key=lambda f: f.code, reverse=True):
        if finding.code[:3] != _FAMILY:
            continue
        what = _SUMMARIES.get(finding.code, finding.name.replace("-", " "))
        noted = [place for place in finding.locations if place.note]
        rows += [(what, place.shard, place.note) for place in noted]
        rows += [(what, finding.shard, finding.message)] if not noted else []
    return Declared(_verdict(report), tuple(rows[:_MAX_ROWS]), max(0, len(rows) - _MAX_ROWS))


def _verdict(report: Report) -> str:
    status = {rule.code: rule.status for rule in report.rules if rule.code[:3] == _FAMILY}
    found = {finding.code: finding.message for finding in report.findings if finding.code[:3] == _FAMILY}
    if "MAN003" in found:
        return found["MAN003"]
    if status.get("MAN003") is RuleStatus.CLEAN:
        return "Every declared value that can be measured holds."
    if "MAN001" in found:
        return found["MAN001"]
    return "Nothing declared was compared: no manifest stands beside the shards, or its rules are off."
