"""What the baseline knows: counted apart, and what of the baseline has changed."""

from __future__ import annotations

from collections.abc import Sequence

from packlint.baseline import BaselineChange
from packlint.report import Report
from packlint.reporters.grouping import by_rule
from packlint.reporters.paper import Paper
from packlint.reporters.presentation import Presentation
from packlint.reporters.signs import SEVERITY_STYLES, count
from packlint.reporters.verdict import CHANGES, difference

__all__ = ["write_known"]

_COLUMN = 9
_MAX_CHANGES = 5


def write_known(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Write the known findings, a line per rule, then the entries that differ from this run."""
    if report.baseline is None:
        return
    if groups := by_rule(report.known_findings):
        paper.blank()
        paper.line(
            ("Known", "bold"),
            f": {count(len(report.known_findings), 'finding')}, not counted against the run",
        )
        for findings in groups:
            worst = findings[0]
            counts = [count(sum(f.n_hits for f in findings), "place")]
            if shards := len({f.shard for f in findings} - {""}):
                counts.append(count(shards, "shard"))
            text = f" {paper.glyphs.dot} ".join([f"{worst.code} {paper.show(worst.name)}", *counts])
            style = SEVERITY_STYLES[worst.severity]
            paper.hang((worst.severity.value, style), text, indent=2, column=_COLUMN)
    _write_changes(paper, report, presentation)


def _write_changes(paper: Paper, report: Report, presentation: Presentation) -> None:
    assert report.baseline is not None
    changes = report.baseline.changes
    paper.blank()
    entries = count(report.baseline.n_entries, "entry", "entries")
    paper.line(("Baseline", "bold"), f": {paper.show(report.baseline.source)}, {entries}")
    for kind, words in CHANGES.items():
        members = [change for change in changes if change.change == kind]
        if members:
            paper.hang(f"{len(members):,}", words, indent=2, column=_COLUMN)
            _list(paper, members, presentation)
    if not report.new_findings and any(change.change in ("gone", "fallen") for change in changes):
        hint = f"`packlint baseline PATH... > {report.baseline.source}` lowers it to what is there"
        paper.line((paper.show(hint), "dim"), indent=2)


def _list(paper: Paper, changes: Sequence[BaselineChange], presentation: Presentation) -> None:
    most = len(changes) if presentation.verbose else _MAX_CHANGES
    for change in changes[:most]:
        shard = paper.show(change.shard) or "the whole data set"
        text = f"{change.code} {shard}: {difference(change)}"
        paper.hang("", (text, "dim"), indent=2, column=_COLUMN)
    if rest := max(0, len(changes) - most):
        paper.hang("", (f"{paper.glyphs.ellipsis} and {rest:,} more", "dim"), indent=2, column=_COLUMN)
