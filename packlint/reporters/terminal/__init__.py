"""The report on a terminal: the verdict first, then the evidence, then what was not looked at.

heading.py     verdict, the numbers that matter, inputs, profile
drift.py       the comparison with a reference, where there is one
findings.py    what was found, by rule, the worst first
places.py      the worst place of a rule, with its context
known.py       what the baseline knows
remainder.py   what was not checked or is off, and what to do next
"""

from __future__ import annotations

from packlint.report import Report
from packlint.reporters.presentation import Presentation
from packlint.reporters.terminal.drift import draw_drift
from packlint.reporters.terminal.findings import write_findings, write_findings_briefly
from packlint.reporters.terminal.heading import write_inputs, write_numbers, write_verdict
from packlint.reporters.terminal.known import write_known
from packlint.reporters.terminal.remainder import (
    write_internal_errors,
    write_next,
    write_off,
    write_unchecked,
)

__all__ = ["render"]


def render(report: Report, presentation: Presentation) -> str:
    """Return the report as text that fits the width."""
    paper = presentation.paper()
    write_verdict(paper, report, presentation)
    if presentation.quiet:
        write_findings_briefly(paper, report)
        write_internal_errors(paper, report)
        return paper.text()
    write_numbers(paper, report)
    write_inputs(paper, report, presentation)
    draw_drift(paper, report, presentation)
    write_findings(paper, report, presentation)
    write_known(paper, report, presentation)
    write_internal_errors(paper, report)
    write_unchecked(paper, report, presentation)
    write_off(paper, report, presentation)
    write_next(paper, report, presentation)
    return paper.text()
