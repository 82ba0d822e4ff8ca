"""One finding a line, each line a JSON object of its own: for jq, pandas and logs.

A line holds `schema` and the keys of a finding of the JSON form v1. A run without findings has no lines.
"""

from __future__ import annotations

import json

from packlint.report import Report
from packlint.reporters.presentation import Presentation

__all__ = ["SCHEMA", "render"]

SCHEMA = "packlint/finding/v1"


def render(report: Report, presentation: Presentation) -> str:
    """Return the lines in ASCII: no line separator of Unicode can cut one in two."""
    lines = ({"schema": SCHEMA, **report.finding_dict(finding)} for finding in report.findings)
    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
