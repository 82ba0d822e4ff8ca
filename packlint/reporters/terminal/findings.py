"""What was found, by rule, the worst first."""

from __future__ import annotations

from collections.abc import Sequence

from packlint.finding import Confidence, Finding
from packlint.report import Report, RuleReport
from packlint.reporters.grouping import by_rule
from packlint.reporters.paper import Paper
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.signs import SEVERITY_STYLES, count, severity_sign
from packlint.reporters.terminal.places import write_place

__all__ = ["write_findings", "write_findings_briefly"]

_MAX_SHARDS = 4
_MAX_PLACES = 5
_COLUMN = 7


def write_findings(paper: Paper, report: Report, presentation: Presentation) -> None:
    """Write one block per rule."""
    totals = {rule.code: rule for rule in report.rules} if not report.known_findings else {}
    for findings in map(_worst_first, by_rule(report.new_findings)):
        code = findings[0].code
        paper.blank()
        _head(paper, findings, totals.get(code))
        _messages(paper, findings, presentation)
        _worst(paper, report, findings, presentation)
        _advice(paper, presentation.advice.get(code, Advice()))


def write_findings_briefly(paper: Paper, report: Report) -> None:
    """Write one line per finding, however long: lines are for grep."""
    for finding in (f for findings in by_rule(report.new_findings) for f in _worst_first(findings)):
        style = SEVERITY_STYLES[finding.severity]
        where = f" {paper.show(finding.shard)}:" if finding.shard else ""
        words = (finding.severity.value, style)
        paper.unbroken(words, f" {finding.code} {finding.name}:{where} {paper.show(finding.message)}")


def _worst_first(findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings of a rule by severity, then by how much they hold."""
    return sorted(findings, key=lambda f: (f.severity.rank, -f.n_tokens, -f.n_hits, f.shard, f.message))


def _head(paper: Paper, findings: Sequence[Finding], total: RuleReport | None) -> None:
    worst = findings[0]
    style = SEVERITY_STYLES[worst.severity]
    sign = severity_sign(worst.severity, paper.glyphs)
    n_hits = sum(f.n_hits for f in findings) if total is None else total.n_hits
    n_packs = sum(f.n_packs for f in findings) if total is None else total.n_packs
    parts = [count(n_hits, "place")]
    if n_packs:
        parts.append(count(n_packs, "pack"))
    if shards := len({f.shard for f in findings} - {""}):
        parts.append(count(shards, "shard"))
    unsure = max((f.confidence for f in findings), key=lambda c: c.rank)
    if unsure is not Confidence.CERTAIN:
        parts.append(unsure.value)
    dot = f" {paper.glyphs.dot} "
    lead = f"{sign} {worst.severity}  "
    name = f"{worst.code} {paper.show(worst.name)}"
    counts = dot.join(parts)
    if len(lead) + len(name) + len(dot) + len(counts) <= paper.width:
        paper.line((lead, style), (name, "bold"), (dot + counts, "dim"))
        return
    paper.line((lead, style), (name, "bold"))
    paper.line((counts, "dim"), indent=2)


def _messages(paper: Paper, findings: Sequence[Finding], presentation: Presentation) -> None:
    """Write what each shard says; names get a column if they leave room, else a line of their own."""
    most = len(findings) if presentation.verbose else _MAX_SHARDS
    shown = findings[:most] if len(findings) > most + 1 else findings
    widest = max(len(paper.show(f.shard)) for f in shown) + 2
    worst = findings[0].severity
    for finding in shown:
        differs = f" ({finding.severity})" if finding.severity is not worst else ""
        message = paper.show(finding.message) + differs
        name = paper.show(finding.shard)
        if not name:
            paper.line(message, indent=2)
        elif widest <= paper.width // 4:
            paper.hang((name, "cyan"), message, indent=2, column=widest)
        else:
            paper.line((name, "cyan"), indent=2)
            paper.line(message, indent=4)
    if rest := len(findings) - len(shown):
        more = f"{paper.glyphs.ellipsis} and {count(rest, 'more shard')}; --verbose lists all"
        paper.line((more, "dim"), indent=2)


def _worst(paper: Paper, report: Report, findings: Sequence[Finding], presentation: Presentation) -> None:
    places = sorted((p for f in findings for p in f.locations if p.pack >= 0), key=lambda p: p.order)
    many = len(findings) > 1 or not findings[0].shard
    for index, place in enumerate(places[: _MAX_PLACES if presentation.verbose else 1]):
        lead = ("worst" if len(places) > 1 else "where") if index == 0 else ""
        write_place(paper, report, place, presentation, lead=lead, names_shard=many, column=_COLUMN)


def _advice(paper: Paper, advice: Advice) -> None:
    for name, text in (("why", advice.why), ("fix", advice.fix)):
        if text:
            paper.hang((name, "bold"), paper.show(text), indent=2, column=_COLUMN)
