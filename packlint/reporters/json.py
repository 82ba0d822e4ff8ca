"""The report as JSON, form v1 (`schema/report-v1.json`)."""

from __future__ import annotations

from packlint.report import Report
from packlint.reporters.presentation import Presentation

__all__ = ["render"]


def render(report: Report, presentation: Presentation) -> str:
    """Return the JSON form; the same bytes for the same report."""
    return report.to_json()
