"""The report as one HTML file that needs nothing else: no network, no script to be read.

page.py         the page put together: environment, content security policy, what each section is told
groups.py       findings by rule, bounded
places.py       one place of a fault
ribbons.py      its tokens, one by one
pack_map.py     its pack in outline
attention.py    who can see whom
rule_prose.py   the page of a rule
remainder.py    what was not checked, what is off, what the baseline says
measures.py     what was measured; meter.py a share as a bar
declared.py     manifests against measures
drift.py        the packed data against their reference; drift_charts.py what moved, distances.py how far
plain.py        parts of plain data that may hold anything
charts.py       bars, histograms, curves, strips; plot.py what they are drawn of, axes.py numbers on axes
markup.py       elements; every string is made visible and escaped
templates/      page.html, its parts, report.css, report.js
"""

from __future__ import annotations

from packlint.report import Report
from packlint.reporters.presentation import Presentation

__all__ = ["render"]


def render(report: Report, presentation: Presentation) -> str:
    """Return the page; the same bytes for the same report."""
    from packlint.reporters.html.page import make_page  # jinja2 is imported only here

    return make_page(report, presentation)
