"""`Report`: what a run says, as plain data with a versioned JSON form.

The form v1 is a contract of its own, written out here by hand, not a dump of internal types. Its schema is
`packlint/reporters/schema/report-v1.json`. Same input, same bytes: sorted, no clock, no absolute path.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from packlint.baseline import UNREAD, Baseline, BaselineReport, compare
from packlint.finding import BaselineState, Finding, Location, Severity
from packlint.json_text import indented
from packlint.model.spec import Known

__all__ = [
    "SCHEMA",
    "InputReport",
    "ProfileReport",
    "Report",
    "RuleReport",
    "RuleStatus",
    "fingerprint",
    "hold_against",
]

SCHEMA = "packlint/report/v1"


class RuleStatus(StrEnum):
    """What became of a rule; `not_checked` is never `clean`."""

    FOUND = "found"
    CLEAN = "clean"
    NOT_CHECKED = "not_checked"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReport:
    """Describe one shard and its exact counts.

    Args:
        path: name of the shard, relative to the inputs.
        format: name of the format.
        unit: what one row is: `pack`, `sample`, `document` or `pair`.
        trainer: name of the contract, or empty when no trainer is known.
        trainer_source: `config`, `format` or empty.
        evidence: how format and trainer were recognised.
        n_packs: packs; none for a stream of documents that was not cut into windows.
        n_segments: true segments, padding runs excluded.
        n_tokens: all slots, padding included.
        n_padding: slots that are padding.
        n_targets: token-aligned targets as stored, before any collator.
        n_outside_targets: targets whose token the pack does not hold.
        n_bytes: bytes on disk, 0 in memory.
    """

    path: str
    format: str
    unit: str = "pack"
    trainer: str = ""
    trainer_source: str = ""
    evidence: tuple[str, ...] = ()
    n_packs: int | None = 0
    n_segments: int = 0
    n_tokens: int = 0
    n_padding: int = 0
    n_targets: int = 0
    n_outside_targets: int = 0
    n_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleReport:
    """Say what became of one rule over the whole run.

    Args:
        code: rule code.
        name: rule name.
        severity: the worst severity found, else the default.
        status: found, clean, not checked or off.
        reasons: why it was not checked (or only in part), or why it is off.
        n_hits: places found.
        n_packs: packs with a place.
        n_segments: segments with a place.
        n_tokens: tokens in all places.
        measured: what the rule measured, added up, also where nothing is wrong.
    """

    code: str
    name: str
    severity: Severity
    status: RuleStatus
    reasons: tuple[str, ...] = ()
    n_hits: int = 0
    n_packs: int = 0
    n_segments: int = 0
    n_tokens: int = 0
    measured: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileReport:
    """Name the policy that the data was held to."""

    name: str
    source: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Hold all that a run has to say.

    Args:
        version: version of packlint.
        exit_code: 0 clean, 1 findings at or above `fail_on`, 2 internal error.
        spec: conventions shared by all shards, by field name.
        profile: the policy.
        inputs: shards, sorted by path.
        rules: all rules, sorted by code.
        findings: sorted by severity, code, shard.
        measures: figures of the whole data set.
        internal_errors: rules that raised, one line each.
        baseline: what the findings were held against, or none.
        texts: decoded text by place, where a tokenizer was given.
        drift: the comparison with a reference, as tables; empty without one.
    """

    version: str
    exit_code: int
    profile: ProfileReport
    spec: Mapping[str, Known[Any]] = field(default_factory=dict)
    inputs: tuple[InputReport, ...] = ()
    rules: tuple[RuleReport, ...] = ()
    findings: tuple[Finding, ...] = ()
    measures: Mapping[str, int | float] = field(default_factory=dict)
    internal_errors: tuple[str, ...] = ()
    baseline: BaselineReport | None = None
    texts: Mapping[Location, str] = field(default_factory=dict)
    drift: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """`clean` or `findings`."""
        return "findings" if self.findings else "clean"

    @property
    def new_findings(self) -> tuple[Finding, ...]:
        """Findings that no baseline knows: all of them, without one."""
        return tuple(f for f in self.findings if f.baseline is BaselineState.NEW)

    @property
    def known_findings(self) -> tuple[Finding, ...]:
        """Findings that the baseline knows."""
        return tuple(f for f in self.findings if f.baseline is BaselineState.KNOWN)

    @property
    def unread_shards(self) -> frozenset[str]:
        """Shards that could not be read, or not to their end: silence about them means nothing."""
        unread = {entry.path for entry in self.inputs if entry.format == "unreadable"}
        return frozenset(unread | {f.shard for f in self.findings if f.code in UNREAD})

    def text_of(self, location: Location) -> str:
        """Return the decoded context of a place, or its ids when there is no tokenizer."""
        return self.texts.get(location) or " ".join(map(str, location.context))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form v1."""
        return {
            "schema": SCHEMA,
            "tool": {"name": "packlint", "version": self.version},
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "spec": {name: _known(known) for name, known in self.spec.items()},
            "profile": {
                "name": self.profile.name,
                "source": self.profile.source,
                "why": self.profile.why,
            },
            "inputs": [_input(entry) for entry in self.inputs],
            "rules": [_rule(entry) for entry in self.rules],
            "findings": [self.finding_dict(finding) for finding in self.findings],
            "measures": {name: _number(value) for name, value in sorted(self.measures.items())},
            "drift": dict(self.drift),
            "baseline": self.baseline.to_dict() if self.baseline else None,
            "internal_errors": list(self.internal_errors),
        }

    def to_json(self) -> str:
        """Return the JSON form v1 as text, the same bytes for the same input."""
        return indented(self.to_dict()) + "\n"

    def finding_dict(self, finding: Finding) -> dict[str, Any]:
        """Return one finding as the JSON form v1 has it."""
        return {
            "code": finding.code,
            "name": finding.name,
            "severity": finding.severity.value,
            "confidence": finding.confidence.value,
            "shard": finding.shard,
            "message": finding.message,
            "n_hits": finding.n_hits,
            "n_packs": finding.n_packs,
            "n_segments": finding.n_segments,
            "n_tokens": finding.n_tokens,
            "measured": {name: _number(value) for name, value in sorted(finding.measured.items())},
            "baseline": finding.baseline.value,
            "fingerprint": fingerprint(finding),
            "locations": [self._location(place) for place in finding.locations],
        }

    def _location(self, place: Location) -> dict[str, Any]:
        return {
            "shard": place.shard,
            "pack": place.pack,
            "segment": place.segment,
            "start": place.start,
            "stop": place.stop,
            "text": self.text_of(place),
            "note": place.note,
        }


def hold_against(report: Report, baseline: Baseline, fail_on: Severity) -> Report:
    """Return the report with each finding new or known; only new ones fail, internal errors always do."""
    findings, told = compare(
        report.findings, baseline, shards=_read_shards(report), rules=_sure_rules(report)
    )
    failed = any(f.baseline is BaselineState.NEW and f.severity.rank <= fail_on.rank for f in findings)
    exit_code = 2 if report.internal_errors else int(failed)
    return replace(report, findings=findings, baseline=told, exit_code=exit_code)


def _read_shards(report: Report) -> set[str]:
    """Return the shards that were read to their end; the empty name stands for all of them."""
    unread = report.unread_shards
    return {entry.path for entry in report.inputs} - unread | (set() if unread else {""})


def _sure_rules(report: Report) -> set[str]:
    """Return the rules whose silence means something: they looked everywhere, and none of them raised."""
    if report.internal_errors:
        return set()
    looked = (rule for rule in report.rules if rule.status in (RuleStatus.FOUND, RuleStatus.CLEAN))
    return {rule.code for rule in looked if not rule.reasons}


def fingerprint(finding: Finding) -> str:
    """Return a name for the finding that stays the same while counts change."""
    key = f"{finding.code}\0{finding.shard}".encode(errors="surrogatepass")
    return hashlib.blake2b(key, digest_size=8).hexdigest()


def _known(known: Known[Any]) -> dict[str, Any]:
    value = known.value
    plain = list(value) if isinstance(value, tuple) else value
    return {"value": plain, "source": known.origin.value, "why": known.why}


def _input(entry: InputReport) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in InputReport.__slots__} | {"evidence": list(entry.evidence)}


def _rule(entry: RuleReport) -> dict[str, Any]:
    return {
        "code": entry.code,
        "name": entry.name,
        "severity": entry.severity.value,
        "status": entry.status.value,
        "reason": "; ".join(entry.reasons),
        "n_hits": entry.n_hits,
        "n_packs": entry.n_packs,
        "n_segments": entry.n_segments,
        "n_tokens": entry.n_tokens,
        "measured": dict(sorted(entry.measured.items())),
    }


def _number(value: int | float | str | Sequence[int]) -> Any:
    """Round floats to 12 digits, so that summation order cannot show; JSON has no NaN."""
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else str(value)
    return value
