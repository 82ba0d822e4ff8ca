"""Findings brought together: by rule for people, within a number of results for hosts that count them."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from packlint.finding import BaselineState, Confidence, Finding, Location, Severity
from packlint.report import Report, fingerprint

__all__ = ["Group", "by_rule", "file_of", "group_findings"]


@dataclass(frozen=True, slots=True)
class Group:
    """Hold the findings that become one result; they share rule and baseline state.

    Args:
        findings: those of one rule in one shard; of many shards where there would be too many results.
    """

    findings: tuple[Finding, ...]

    @property
    def first(self) -> Finding:
        """The finding of the gravest severity: a report has them in this order."""
        return self.findings[0]

    @property
    def severity(self) -> Severity:
        """The gravest severity."""
        return self.first.severity

    @property
    def confidence(self) -> Confidence:
        """The least sure confidence."""
        return max((finding.confidence for finding in self.findings), key=lambda c: c.rank)

    @property
    def shards(self) -> tuple[str, ...]:
        """Names of the shards, in order; the empty name is the whole data set."""
        return tuple(dict.fromkeys(finding.shard for finding in self.findings))

    def worst_places(self, most: int) -> list[Location]:
        """Return the worst places, a few."""
        places = (place for finding in self.findings for place in finding.locations)
        return heapq.nsmallest(most, places, key=lambda place: place.order)

    @property
    def message(self) -> str:
        """What the rule says; of many shards, what it says of the worst."""
        if len(self.shards) == 1:
            return "; ".join(finding.message for finding in self.findings)
        worst = max(self.findings, key=lambda finding: finding.n_hits)
        return f"in {len(self.shards):,} shards, for instance {worst.shard}: {worst.message}"

    @property
    def fingerprint(self) -> str:
        """A name that stays the same while counts change, and is no other group's."""
        if len(self.shards) == 1:
            return fingerprint(self.first)
        key = f"{self.first.code}\0*\0{self.first.baseline}".encode()
        return hashlib.blake2b(key, digest_size=8).hexdigest()

    def total(self, name: str) -> int:
        """Return the sum of one count, e.g. `n_hits`."""
        return sum(getattr(finding, name) for finding in self.findings)


def by_rule(findings: Iterable[Finding]) -> list[list[Finding]]:
    """Return the findings of each rule together; the gravest rule first, then the one of most tokens."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: (f.severity.rank, f.code, f.shard, f.message)):
        groups.setdefault(finding.code, []).append(finding)
    return sorted(groups.values(), key=_weight)


def group_findings(report: Report, most: int) -> list[Group]:
    """Return one group per rule and shard, in the order of the report.

    Args:
        report: the report.
        most: groups to return at most. Rules found in more shards than their share have one group for all
            shards, or two where some are known.
    """
    single: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        single.setdefault((finding.code, finding.shard), []).append(finding)
    if len(single) <= most:
        return [Group(tuple(members)) for members in single.values()]
    by_code: dict[tuple[str, BaselineState], list[list[Finding]]] = {}
    for members in single.values():
        by_code.setdefault((members[0].code, members[0].baseline), []).append(members)
    share = max(1, most // len(by_code))
    return [group for lists in by_code.values() for group in _merged(lists, share)]


def file_of(shard: str, report: Report) -> str:
    """Return the file to show a finding at; of the whole data set, the first shard: hosts want some file."""
    return shard or next((entry.path for entry in report.inputs if entry.path), "packlint")


def _merged(lists: Sequence[Sequence[Finding]], share: int) -> list[Group]:
    if len(lists) <= share:
        return [Group(tuple(members)) for members in lists]
    return [Group(tuple(finding for members in lists for finding in members))]


def _weight(findings: Sequence[Finding]) -> tuple[int, int, str]:
    return findings[0].severity.rank, -sum(f.n_tokens for f in findings), findings[0].code
