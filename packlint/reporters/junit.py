"""JUnit XML: a suite per shard with a case per rule, and one for what holds of the whole data set.

    failure    a new finding at or above --fail-on
    skipped    the rule was not checked, or only in part and found nothing, or the shard could not be read
    error      the rule raised
    passed     clean; a finding that is known or below --fail-on is told in system-out

Without a clock there are no times. Of very many shards, the last make one suite together, clean ones first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from xml.etree import ElementTree

from packlint.finding import BaselineState, Finding, Severity
from packlint.report import Report, RuleReport, RuleStatus
from packlint.reporters.presentation import Presentation
from packlint.reporters.signs import count
from packlint.reporters.untrusted import clipped, visible

__all__ = ["render"]

_MAX_CASES = 50_000
"""A host reads some tens of MB: GitLab takes 30 MB a file."""
_MAX_TEXT = 1_000
_MAX_TOLD = 20
_WHOLE = "whole data set"

Element = ElementTree.Element


@dataclass(frozen=True, slots=True)
class _Suite:
    """Hold what one suite tells.

    Args:
        name: name of the shard, or what stands for several.
        findings: by rule code.
        is_unread: the shard could not be read, or not to its end.
        raised: codes of the rules that raised somewhere.
    """

    name: str
    findings: Mapping[str, Sequence[Finding]]
    is_unread: bool = False
    raised: Set[str] = frozenset()


def render(report: Report, presentation: Presentation) -> str:
    """Return the document."""
    limit = Severity(presentation.fail_on)
    root = Element("testsuites", name="packlint")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for name, cases in _suites(report, limit):
        element = ElementTree.SubElement(root, "testsuite", name=visible(name))
        element.extend(cases)
        counts = {"tests": len(cases)}
        for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            counts[key] = sum(case.find(tag) is not None for case in cases)
        for key, number in counts.items():
            element.set(key, str(number))
            totals[key] += number
    for key, number in totals.items():
        root.set(key, str(number))
    ElementTree.indent(root, " ")
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suites(report: Report, limit: Severity) -> Iterator[tuple[str, list[Element]]]:
    """Yield name and cases of each suite: the whole data set, then the shards."""
    found: dict[str, dict[str, list[Finding]]] = {entry.path: {} for entry in report.inputs}
    for finding in report.findings:
        found.setdefault(finding.shard, {}).setdefault(finding.code, []).append(finding)
    whole = found.pop("", {})
    rules = {rule.code: rule for rule in report.rules if rule.status is not RuleStatus.OFF}
    suite = _Suite(_WHOLE, whole)
    cases = [_case(suite, code, rules.get(code), limit) for code in sorted(whole)]
    cases += [_raised(number, line) for number, line in enumerate(report.internal_errors, 1)]
    if cases:
        yield _WHOLE, cases
    for suite in _of_shards(report, found):
        codes = {*rules} - {*whole} | {*suite.findings}  # what holds of the whole is no matter of a shard
        yield suite.name, [_case(suite, code, rules.get(code), limit) for code in sorted(codes)]


def _of_shards(report: Report, found: Mapping[str, Mapping[str, Sequence[Finding]]]) -> Iterator[_Suite]:
    """Yield the shards' suites; of very many shards those with findings have one of their own first."""
    unread = report.unread_shards
    raised = {line.partition(" ")[0] for line in report.internal_errors}
    most = max(1, _MAX_CASES // max(1, len(report.rules)))
    names = sorted(found, key=lambda name: (not found[name], name))
    kept = names if len(names) <= most else names[: most - 1]
    yield from (_Suite(name, found[name], name in unread, raised) for name in sorted(kept))
    if rest := sorted(names[len(kept) :]):
        merged: dict[str, list[Finding]] = {}
        for name in rest:
            for code, findings in found[name].items():
                merged.setdefault(code, []).extend(findings)
        yield _Suite(count(len(rest), "more shard"), merged, not unread.isdisjoint(rest), raised)


def _raised(number: int, line: str) -> Element:
    case = Element("testcase", classname=_WHOLE, name=f"internal error {number}")
    ElementTree.SubElement(case, "error", message=clipped(line, _MAX_TEXT), type="internal error")
    return case


def _case(suite: _Suite, code: str, rule: RuleReport | None, limit: Severity) -> Element:
    findings = suite.findings.get(code, ())
    name = rule.name if rule else findings[0].name
    case = Element("testcase", classname=visible(suite.name), name=f"{code} {visible(name)}")
    failed = [f for f in findings if f.baseline is BaselineState.NEW and f.severity.rank <= limit.rank]
    if failed:
        worst = failed[0]
        message = clipped(worst.message, _MAX_TEXT)
        failure = ElementTree.SubElement(case, "failure", message=message, type=worst.severity.value)
        failure.text = _tell(failed, suite)
    elif findings:
        ElementTree.SubElement(case, "system-out").text = _tell(findings, suite)
    elif reason := _why_skipped(suite, rule):
        ElementTree.SubElement(case, "skipped", message=clipped(reason, _MAX_TEXT))
    return case


def _why_skipped(suite: _Suite, rule: RuleReport | None) -> str:
    """Return why silence says nothing here; empty where it does."""
    reasons = "; ".join(rule.reasons) if rule else ""
    if rule and rule.status is RuleStatus.NOT_CHECKED:
        return reasons or "not checked"
    if rule and rule.code in suite.raised:
        return "the rule raised: an internal error"
    if suite.is_unread:
        return "a shard could not be read, or not to its end"
    return f"checked only in part: {reasons}" if reasons else ""


def _tell(findings: Sequence[Finding], suite: _Suite) -> str:
    """Return a line per finding with its worst place."""
    lines = []
    for finding in findings[:_MAX_TOLD]:
        known = " (known)" if finding.baseline is BaselineState.KNOWN else ""
        shard = f"{visible(finding.shard)}: " if finding.shard != suite.name and finding.shard else ""
        lines.append(f"{finding.severity}{known}: {shard}{clipped(finding.message, _MAX_TEXT)}")
        if finding.locations and finding.locations[0].pack >= 0:
            place = finding.locations[0]
            where = f"{visible(place.shard)}, " if place.shard != suite.name else ""
            lines.append(f"  at {where}pack {place.pack}, tokens {place.start}:{place.stop}")
    if rest := len(findings) - _MAX_TOLD:
        lines += [f"and {count(rest, 'more finding')}"] if rest > 0 else []
    return "\n".join(lines)
