"""What is written: one module per report format, and the drawings of the other commands.

    terminal/         the report on a terminal: heading, findings, places, remainder
    json.py           the report as JSON, form v1; its schema lies in schema/
    jsonl.py          one finding a line
    sarif.py          code scanning; sarif_result.py one result, grouping.py within the hosts' limits
    junit.py          test reports: a suite per shard, a case per rule
    github.py         annotations and job summary of GitHub Actions
    gitlab.py         GitLab code quality
    html/             one page that needs no network: findings drawn, filters, charts
    markdown.py       for pull requests and job summaries; markdown_text.py escapes what comes from data
    verdict.py        the verdict in words
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

__all__ = ["NEED_PAGES", "REPORTERS", "USUAL_FILES", "render"]

REPORTERS = {
    "terminal": "packlint.reporters.terminal",
    "json": "packlint.reporters.json",
    "jsonl": "packlint.reporters.jsonl",
    "sarif": "packlint.reporters.sarif",
    "junit": "packlint.reporters.junit",
    "github": "packlint.reporters.github",
    "gitlab": "packlint.reporters.gitlab",
    "markdown": "packlint.reporters.markdown",
    "html": "packlint.reporters.html",
}
"""Module of every report format, imported when it is asked for."""

NEED_PAGES = frozenset({"html", "sarif"})
"""Formats that carry the pages of the rules, `Presentation.pages`."""

USUAL_FILES = {
    "html": "report.html",
    "json": "report.json",
    "sarif": "report.sarif",
    "junit": "report.junit.xml",
    "markdown": "report.md",
}
"""What `--output-dir` writes: file name by format."""


def render(format_name: str, report: Report, presentation: Presentation) -> str:
    """Return the report in one format."""
    text: str = import_module(REPORTERS[format_name]).render(report, presentation)
    return text
