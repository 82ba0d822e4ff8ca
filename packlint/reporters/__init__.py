"""What is written: one module per report format, and the drawings of the other commands.

    terminal/         the report on a terminal: heading, findings, places, remainder
    json.py           the report as JSON, form v1; its schema lies in schema/
    pack_view.py      one pack, token by token
    rule_page.py      a rule's page as data; rule_text.py and rule_list.py write it
    trainer_view.py   trainer contracts
    paper.py          a sheet of text: width, colour, signs; the only use of rich
    untrusted.py      no character of a shard reaches the terminal unseen
    presentation.py   what a reporter is told beside the report

To add a format: a module with `render(report, presentation) -> str`, and a row in `REPORTERS`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packlint.report import Report
    from packlint.reporters.presentation import Presentation

__all__ = ["REPORTERS", "render"]

REPORTERS = {
    "terminal": "packlint.reporters.terminal",
    "json": "packlint.reporters.json",
}
"""Module of every report format, imported when it is asked for."""


def render(format_name: str, report: Report, presentation: Presentation) -> str:
    """Return the report in one format."""
    text: str = import_module(REPORTERS[format_name]).render(report, presentation)
    return text
