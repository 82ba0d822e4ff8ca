"""GitLab code quality: the JSON that a merge request compares with that of its target branch.

Source: docs.gitlab.com/ci/testing/code_quality, "Code Quality report format". GitLab keeps the first of
several issues with one fingerprint, so a rule and shard have one issue together.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from packlint.finding import Severity
from packlint.report import Report
from packlint.reporters.grouping import Group, file_of, group_findings
from packlint.reporters.presentation import Presentation
from packlint.reporters.untrusted import clipped, visible

__all__ = ["render"]

_SEVERITIES = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}
_MAX_ISSUES = 5_000
_MAX_CHARACTERS = 1_000


def render(report: Report, presentation: Presentation) -> str:
    """Return the list of issues."""
    issues = [_failure(line, report) for line in report.internal_errors]
    issues += [_issue(group, report) for group in group_findings(report, _MAX_ISSUES)]
    return json.dumps(issues, indent=1) + "\n"


def _issue(group: Group, report: Report) -> dict[str, Any]:
    text = f"{group.first.code} {group.first.name}: {group.message}"
    return _entry(
        text, group.first.code, group.fingerprint, _SEVERITIES[group.severity], group.shards[0], report
    )


def _failure(line: str, report: Report) -> dict[str, Any]:
    name = hashlib.blake2b(line.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    return _entry(f"packlint itself failed: {line}", "packlint", name, "blocker", "", report)


def _entry(text: str, rule: str, name: str, severity: str, shard: str, report: Report) -> dict[str, Any]:
    return {
        "description": clipped(text, _MAX_CHARACTERS),
        "check_name": rule,
        "fingerprint": name,
        "severity": severity,
        "location": {"path": visible(file_of(shard, report)), "lines": {"begin": 1}},
    }
