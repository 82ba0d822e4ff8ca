"""The end of the report: what was not checked, what is off, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from packlint.report import Report, RuleReport, RuleStatus
from packlint.reporters.grouping import by_rule
from packlint.reporters.paper import Paper
from packlint.reporters.presentation import Presentation
from packlint.reporters.signs import count

__all__ = ["write_internal_errors", "write_next", "write_off", "write_unchecked"]

_COLUMN = 10
_MAX_EXPLAINED = 3
_MAX_REASONS = 5


def write_internal_errors(paper: Paper, report: Report) -> None:
    """Write which rules raised: our fault or a plugin's, and nothing that the data did wrong."""
    if not report.internal_errors:
        return
    paper.blank()
    paper.line(("Internal errors", "bold red"), ": what these rules would have found is missing")
    for line in report.internal_errors:
        paper.line(paper.show(line), indent=2)


def write_unchecked(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Write what was not looked at, by reason."""
    not_checked = [rule for rule in report.rules if rule.status is RuleStatus.NOT_CHECKED]
    partly = [r for r in report.rules if r.reasons and r.status in (RuleStatus.FOUND, RuleStatus.CLEAN)]
    if not_checked:
        paper.blank()
        paper.line(("Not checked", "bold"))
        _by_reason(paper, not_checked)
    if partly:
        paper.blank()
        paper.line(("Checked only in part", "bold"))
        _by_reason(paper, partly, most=None if presentation.verbose else _MAX_REASONS)


def write_off(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Write how many rules are off and why; which ones, when verbose."""
    off = [rule for rule in report.rules if rule.status is RuleStatus.OFF]
    if not off:
        return
    paper.blank()
    if presentation.verbose:
        paper.line(("Off", "bold"))
        _by_reason(paper, off)
        return
    groups = _reasons(off)
    reasons = [f"{len(rules)} {paper.show(reason)}" for reason, rules in groups.items()]
    if len(groups) == 1:
        reasons = [paper.show(next(iter(groups)))]
    paper.hang(("Off", "bold"), count(len(off), "rule"), ": ", (", ".join(reasons), "dim"), column=5)


def write_next(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Write the commands that lead on."""
    groups = by_rule(report.new_findings)
    if not groups:
        return
    paper.blank()
    paper.line(("Next", "bold"))
    codes = [findings[0].code for findings in groups[:_MAX_EXPLAINED]]
    for code in codes:
        paper.unbroken(f"packlint explain {code}", indent=2)
    places = (p for findings in groups for f in findings for p in f.locations)
    place = next((p for p in places if p.pack >= 0 and p.shard in presentation.paths), None)
    if place is not None:
        path = shlex.quote(presentation.paths[place.shard])
        command = f"packlint show {path} --pack {place.pack}{presentation.show_options}"
        paper.unbroken(paper.show(command), indent=2)


def _by_reason(paper: Paper, rules: Iterable[RuleReport], most: int | None = None) -> None:
    groups = _reasons(rules)
    for reason, members in list(groups.items())[:most]:
        paper.hang(count(len(members), "rule"), paper.show(reason), indent=2, column=_COLUMN)
        paper.hang("", (" ".join(rule.code for rule in members), "dim"), indent=2, column=_COLUMN)
    if most is not None and len(groups) > most:
        rest = count(len(groups) - most, "more reason")
        paper.line((f"{paper.glyphs.ellipsis} and {rest}; --verbose lists all", "dim"), indent=2)


def _reasons(rules: Iterable[RuleReport]) -> dict[str, list[RuleReport]]:
    """Return the rules by reason, the reason of most rules first; a rule may have several."""
    groups: dict[str, list[RuleReport]] = {}
    for rule in rules:
        for reason in rule.reasons:
            groups.setdefault(reason, []).append(rule)
    return dict(sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])))
