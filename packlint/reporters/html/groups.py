"""Findings by rule, the worst first, as many as a page can hold.

Bounded: of each rule the worst findings are drawn, more are listed by a line each, and the rest is counted.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packlint.finding import Confidence, Finding, Severity
from packlint.report import Report
from packlint.reporters.grouping import by_rule
from packlint.reporters.html.places import Place, make_place
from packlint.reporters.html.rule_prose import Section, sections_of
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.signs import count

__all__ = ["FindingView", "Group", "make_groups"]

_MAX_LISTED = 1500
_MAX_LISTED_PER_RULE = 200
_MAX_DRAWN = 120
_MAX_DRAWN_PER_RULE = 8
_MAX_PLACES_OF_WORST, _MAX_PLACES = 3, 1
_WORDS = {"n_hits": "place", "n_packs": "pack", "n_segments": "segment", "n_tokens": "token"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingView:
    """Show what one rule found in one shard.

    Args:
        finding: the finding.
        counts: its counts in words.
        places: the places that are drawn.
        n_kept: places that the report holds.
        is_open: show the places at once.
    """

    finding: Finding
    counts: str
    places: tuple[Place, ...] = ()
    n_kept: int = 0
    is_open: bool = False

    @property
    def drawn(self) -> list[Place]:
        """The places of which there is more than a line."""
        return [place for place in self.places if place.is_drawn]

    @property
    def notes(self) -> list[Place]:
        """The other places."""
        said = self.finding.message
        return [
            place for place in self.places if not place.is_drawn and (place.where or place.note not in said)
        ]

    @property
    def shard(self) -> str:
        """Name of the shard, or words for all of them."""
        return self.finding.shard or "the whole data set"

    @property
    def measured(self) -> list[tuple[str, str]]:
        """Names and numbers behind the message."""
        return [
            (name.replace("_", " "), figure(value)) for name, value in sorted(self.finding.measured.items())
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Show what one rule found.

    Args:
        code: rule code.
        name: rule name.
        severity: the worst.
        counts: totals in words.
        advice: why it matters and how to fix it.
        page: the rule's page, or nothing.
        findings: the worst findings.
        n_left: findings that are only counted.
        is_unsure: not all findings are certain.
    """

    code: str
    name: str
    severity: Severity
    counts: str
    advice: Advice
    page: tuple[Section, ...]
    findings: tuple[FindingView, ...]
    n_left: int = 0
    is_unsure: bool = False


def make_groups(report: Report, found: Iterable[Finding], presentation: Presentation) -> list[Group]:
    """Return the groups, the gravest rule first."""
    rules = by_rule(found)
    if not rules:
        return []
    n_listed = min(_MAX_LISTED_PER_RULE, max(3, _MAX_LISTED // len(rules)))
    n_drawn = min(_MAX_DRAWN_PER_RULE, max(1, _MAX_DRAWN // (len(rules) + _MAX_PLACES_OF_WORST)))
    drawn_rules = _MAX_DRAWN // _MAX_PLACES_OF_WORST
    return [
        _group(report, findings, presentation, n_listed, n_drawn if i < drawn_rules else 0)
        for i, findings in enumerate(rules)
    ]


def figure(value: int | float | str) -> str:
    """Return a measured value as people read it."""
    if isinstance(value, float):
        return f"{value:,.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _group(
    report: Report, findings: Sequence[Finding], presentation: Presentation, n_listed: int, n_drawn: int
) -> Group:
    worst = heapq.nsmallest(
        n_listed, findings, key=lambda f: (f.severity.rank, -f.n_hits, f.shard, f.message)
    )
    head = worst[0]
    page = presentation.pages.get(head.code)
    return Group(
        code=head.code,
        name=head.name,
        severity=head.severity,
        counts=_totals(findings),
        advice=presentation.advice.get(head.code) or (Advice(page.why, page.fix) if page else Advice()),
        page=sections_of(page) if page else (),
        findings=tuple(_view(report, f, presentation, i, n_drawn) for i, f in enumerate(worst)),
        n_left=len(findings) - len(worst),
        is_unsure=any(f.confidence is not Confidence.CERTAIN for f in findings),
    )


def _view(report: Report, finding: Finding, presentation: Presentation, i: int, n_drawn: int) -> FindingView:
    most = 0 if i >= n_drawn else _MAX_PLACES if i else _MAX_PLACES_OF_WORST
    places = sorted(finding.locations, key=lambda place: place.order)
    shown = [place for place in places if place.pack >= 0 or place.note or place.shard != finding.shard]
    return FindingView(
        finding=finding,
        counts=_counts(finding),
        places=tuple(
            make_place(place, finding.code, finding.shard, report.texts.get(place, ""), presentation)
            for place in shown[: max(most, 5 if most and not finding.shard else 0)]
        ),
        n_kept=len(shown),
        is_open=i == 0,
    )


def _counts(finding: Finding) -> str:
    return _in_words({name: getattr(finding, name) for name in _WORDS})


def _totals(findings: Sequence[Finding]) -> str:
    words = _in_words({name: sum(getattr(f, name) for f in findings) for name in _WORDS})
    shards = len({f.shard for f in findings} - {""})
    return f"{words} · {count(shards, 'shard')}" if shards else words


def _in_words(counts: dict[str, int]) -> str:
    """Return the counts that say something."""
    kept = {name: n for name, n in counts.items() if n or name == "n_hits"}
    return " · ".join(count(n, _WORDS[name]) for name, n in kept.items())
