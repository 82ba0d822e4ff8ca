"""The report in Markdown, for pull requests and job summaries: verdict, rules, then details folded in.

Bounded: what does not fit the number of bytes is left out, by whole sections, and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from packlint.baseline import BaselineChange
from packlint.finding import Finding, Location
from packlint.report import Report, RuleReport, RuleStatus
from packlint.reporters.grouping import by_rule
from packlint.reporters.markdown_text import code, prose, table
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.signs import count
from packlint.reporters.untrusted import visible
from packlint.reporters.verdict import CHANGES, difference, plain_verdict

__all__ = ["render", "render_within"]

_MAX_BYTES = 1_000_000
_MAX_SHARDS = 20
_MAX_CHANGES = 20
_ROOM_FOR_LAST_LINE = 200


def render(report: Report, presentation: Presentation) -> str:
    """Return the document."""
    return render_within(report, presentation, _MAX_BYTES)


def render_within(report: Report, presentation: Presentation, n_bytes: int) -> str:
    """Return the document, of at most a number of UTF-8 bytes; nothing where not even the verdict fits."""
    blocks = list(_blocks(report, presentation))
    room = n_bytes - _ROOM_FOR_LAST_LINE
    kept: list[str] = []
    for block in blocks:
        size = len(block.encode(errors="backslashreplace")) + 2
        if size > room:
            break
        kept.append(block)
        room -= size
    if not kept:
        return ""
    if left := len(blocks) - len(kept):
        kept.append(f"*{count(left, 'section')} left out for their size; the JSON report has all.*")
    return "\n\n".join(kept) + "\n"


def _blocks(report: Report, presentation: Presentation) -> Iterator[str]:
    yield f"## packlint: {_sign(report)} {prose(plain_verdict(report, presentation.fail_on))}"
    yield _numbers(report)
    if report.internal_errors:
        lines = [f"- {prose(line)}" for line in report.internal_errors[:_MAX_SHARDS]]
        yield "\n".join(["**Internal errors**: what these rules would have found is missing.", "", *lines])
    groups = by_rule(report.new_findings)
    if groups:
        yield table(["severity", "rule", "places", "shards", "what it says"], [_row(f) for f in groups])
    for findings in groups:
        yield _details(findings, report, presentation.advice.get(findings[0].code, Advice()))
    if known := by_rule(report.known_findings):
        rows = [_row(findings) for findings in known]
        yield _folded(
            f"Known from the baseline: {count(len(report.known_findings), 'finding')}",
            table(["severity", "rule", "places", "shards", "what it says"], rows),
        )
    if report.baseline and report.baseline.changes:
        yield _changes(report.baseline.changes)
    yield from _unchecked(report.rules)


def _sign(report: Report) -> str:
    return "❌" if report.exit_code else "⚠️" if report.new_findings else "✅"


def _numbers(report: Report) -> str:
    measures, profile = report.measures, report.profile
    rows, tokens = measures.get("n_packs", 0), measures.get("n_tokens", 0)
    held = f"profile {code(profile.name)} ({profile.source}: {prose(profile.why)})"
    return f"{count(len(report.inputs), 'shard')} · {rows:,} packs · {tokens:,} tokens · {held}"


def _row(findings: Sequence[Finding]) -> list[str]:
    worst = max(findings, key=lambda f: (-f.severity.rank, f.n_hits))
    shards = len({f.shard for f in findings} - {""})
    where = f"{code(worst.shard)}: " if worst.shard else ""
    return [
        worst.severity.value,
        f"**{worst.code}** {prose(worst.name)}",
        f"{sum(f.n_hits for f in findings):,}",
        f"{shards:,}" if shards else "all",
        f"{where}{prose(worst.message)}",
    ]


def _details(findings: Sequence[Finding], report: Report, advice: Advice) -> str:
    """Return a rule's shards with the worst place of each."""
    head = findings[0]
    lines = [
        f"**{word}** {prose(text)}  " for word, text in (("Why", advice.why), ("Fix", advice.fix)) if text
    ]
    worst = sorted(findings, key=lambda f: (f.severity.rank, -f.n_hits, f.shard))[:_MAX_SHARDS]
    rows = [_shard_row(finding, report) for finding in worst]
    parts = ["\n".join([*lines, f"`packlint explain {head.code}`"])]
    parts.append(table(["shard", "places", "packs", "worst place", "what it says"], rows))
    if rest := len(findings) - len(worst):
        parts.append(f"and {count(rest, 'more finding')}")
    return _folded(f"{head.code} {head.name}: {count(len(findings), 'finding')}", "\n\n".join(parts))


def _shard_row(finding: Finding, report: Report) -> list[str]:
    places = [place for place in finding.locations if place.pack >= 0]
    return [
        code(finding.shard) if finding.shard else "all",
        f"{finding.n_hits:,}",
        f"{finding.n_packs:,}",
        _place(min(places, key=lambda p: p.order), report, finding.shard) if places else "",
        prose(finding.message),
    ]


def _place(place: Location, report: Report, shard: str) -> str:
    where = f"{code(place.shard)} " if place.shard != shard else ""
    tokens = f", tokens {place.start}:{place.stop}" if place.stop > place.start else ""
    text = report.text_of(place)
    return f"{where}pack {place.pack}{tokens}" + (f": {code(text, 120)}" if text else "")


def _folded(title: str, body: str) -> str:
    """Return a block that opens on a click; the title is ours or a rule's."""
    plain = visible(title).replace("&", "&amp;").replace("<", "&lt;")
    return f"<details><summary>{plain}</summary>\n\n{body}\n\n</details>"


def _changes(changes: Sequence[BaselineChange]) -> str:
    order = [*CHANGES]
    ordered = sorted(changes, key=lambda change: order.index(change.change))
    rows = [
        [
            change.code,
            code(change.shard) if change.shard else "all",
            f"{CHANGES[change.change]}: {difference(change)}",
        ]
        for change in ordered[:_MAX_CHANGES]
    ]
    more = f"\n\nand {count(len(changes) - _MAX_CHANGES, 'more')}" if len(changes) > _MAX_CHANGES else ""
    return _folded("Baseline: what differs from it", table(["rule", "shard", "what"], rows) + more)


def _unchecked(rules: Iterable[RuleReport]) -> Iterator[str]:
    ran = [rule for rule in rules if rule.reasons and rule.status is not RuleStatus.OFF]
    not_checked = [rule for rule in ran if rule.status is RuleStatus.NOT_CHECKED]
    partly = [rule for rule in ran if rule.status is not RuleStatus.NOT_CHECKED]
    for title, members in (("Not checked", not_checked), ("Checked only in part", partly)):
        if members:
            rows = [[f"{rule.code} {prose(rule.name)}", prose("; ".join(rule.reasons))] for rule in members]
            yield _folded(f"{title}: {count(len(members), 'rule')}", table(["rule", "why"], rows))
