"""The job summary of GitHub Actions: appended to the file that the runner names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from packlint.report import Report
from packlint.reporters.presentation import Presentation

__all__ = ["append_job_summary"]

_VARIABLE = "GITHUB_STEP_SUMMARY"


def append_job_summary(report: Report, presentation: Presentation) -> None:
    """Append what fits; a summary that cannot be written is said on standard error and fails nothing."""
    name = os.environ.get(_VARIABLE)
    if not name:
        return
    from packlint.reporters.github import MAX_SUMMARY_BYTES, summary

    path = Path(name)
    try:
        held = path.stat().st_size if path.exists() else 0
        text = summary(report, presentation, MAX_SUMMARY_BYTES - held)
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        print(f"packlint: no job summary: {_VARIABLE}: {error.strerror}", file=sys.stderr)
