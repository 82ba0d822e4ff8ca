"""SARIF 2.1.0: one run with the rules, what was not checked, and one result per rule and shard.

Limits of GitHub (docs.github.com, "SARIF support for code scanning"): 10 MB after gzip, 25,000 rules, 25,000
results of which the first 5,000 are kept, 1,000 locations per result, 20 tags per rule.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from packlint.report import Report, RuleReport, RuleStatus
from packlint.reporters.grouping import group_findings
from packlint.reporters.presentation import Presentation
from packlint.reporters.rule_page import HEADINGS, RulePage
from packlint.reporters.sarif_result import LEVELS, plain_text, result
from packlint.reporters.untrusted import visible

__all__ = ["render"]

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS = 5_000
"""More would be accepted, and dropped."""
MAX_GZIP_BYTES = 10_000_000

_KINDS = {"error": "error", "warning": "warning", "info": "recommendation"}


def render(report: Report, presentation: Presentation) -> str:
    """Return the log; what would be too large is brought together by rule."""
    text = _render(report, presentation, MAX_RESULTS)
    if len(text) > MAX_GZIP_BYTES and len(gzip.compress(text.encode(), 1)) > MAX_GZIP_BYTES:
        text = _render(report, presentation, 1)
    return text


def _render(report: Report, presentation: Presentation, most: int) -> str:
    rules = [rule for rule in report.rules if rule.status is not RuleStatus.OFF]
    known = {rule.code for rule in rules}
    rules += [_unlisted(report, code) for code in sorted({f.code for f in report.findings} - known)]
    places = {rule.code: place for place, rule in enumerate(rules)}
    run = {
        "tool": {
            "driver": {
                "name": "packlint",
                "version": report.version,
                "semanticVersion": report.version,
                "rules": [_rule(rule, presentation.pages.get(rule.code)) for rule in rules],
            }
        },
        "automationDetails": {"id": "packlint/"},
        "invocations": [_invocation(report, places)],
        "results": [
            result(group, report, places[group.first.code]) for group in group_findings(report, most)
        ],
        "properties": _properties(report),
    }
    return (
        json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, allow_nan=False) + "\n"
    )


def _unlisted(report: Report, code: str) -> RuleReport:
    """Return a rule that has findings but is not among the rules of the report."""
    finding = next(finding for finding in report.findings if finding.code == code)
    return RuleReport(code=code, name=finding.name, severity=finding.severity, status=RuleStatus.FOUND)


def _rule(rule: RuleReport, page: RulePage | None) -> dict[str, Any]:
    severity = page.severity if page else rule.severity.value
    says = page.says if page else rule.name.replace("-", " ")
    why = page.why if page and page.why else says
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in visible(rule.name).split("-")),
        "shortDescription": {"text": plain_text(says)},
        "fullDescription": {"text": plain_text(why)},
        "help": _help(rule, page),
        "defaultConfiguration": {"level": LEVELS[severity]},
        "properties": {
            "tags": ["packed-data", rule.code[:3]],
            "problem.severity": _KINDS[severity],
        },
    }


def _help(rule: RuleReport, page: RulePage | None) -> dict[str, str]:
    """Return the rule's page; its sections are Markdown."""
    command = f"packlint explain {rule.code}"
    if page is None:
        return {"text": command, "markdown": f"`{command}`"}
    sections = [(name, page.sections[name]) for name in HEADINGS if page.sections.get(name)]
    markdown = "\n\n".join(f"## {name}\n\n{body}" for name, body in sections)
    text = "\n\n".join(f"{name}\n{body}" for name, body in sections)
    return {"text": f"{text}\n\n{command}".strip(), "markdown": f"{markdown}\n\n`{command}`".strip()}


def _invocation(report: Report, places: Mapping[str, int]) -> dict[str, Any]:
    return {
        "executionSuccessful": not report.internal_errors,
        "exitCode": report.exit_code,
        "toolExecutionNotifications": [_notification(line, "error") for line in report.internal_errors],
        "toolConfigurationNotifications": [
            {**_notification(f"not checked: {text}", "note"), "associatedRule": _reference(code, places)}
            for code, text in _unchecked(report.rules)
        ],
    }


def _unchecked(rules: Sequence[RuleReport]) -> list[tuple[str, str]]:
    """Return why rules were not checked, wholly or in part."""
    ran = (rule for rule in rules if rule.status is not RuleStatus.OFF)
    return [(rule.code, "; ".join(rule.reasons)) for rule in ran if rule.reasons]


def _reference(code: str, places: Mapping[str, int]) -> dict[str, Any]:
    return {"id": code, "index": places[code]}


def _notification(text: str, level: str) -> dict[str, Any]:
    return {"message": {"text": plain_text(text)}, "level": level}


def _properties(report: Report) -> dict[str, Any]:
    table: dict[str, Any] = {
        "profile": visible(report.profile.name),
        "n_shards": len(report.inputs),
        "n_findings": len(report.findings),
    }
    if report.baseline is not None:
        changes = Counter(change.change for change in report.baseline.changes)
        table["baseline"] = {
            "source": visible(report.baseline.source),
            "n_entries": report.baseline.n_entries,
        }
        table["baseline"] |= dict(sorted(changes.items()))
    return table
