"""The baseline: findings that were there before, so that a run fails only on new ones.

    {"schema": "packlint/baseline/v1", "entries": [{"code": "TGT001", "shard": "a.parquet", "n_hits": 9, …}]}

An entry is a ceiling for one rule in one shard: counts may fall, never rise. Unreadable shards and internal
errors are never in it, as nobody knows what they hide, nor are failed expectations of a suite.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from packlint.errors import ConfigError
from packlint.finding import BaselineState, Finding

__all__ = [
    "FILE_NAME",
    "NEVER_KNOWN",
    "UNREAD",
    "Baseline",
    "BaselineChange",
    "BaselineReport",
    "compare",
    "make_baseline",
    "parse_baseline",
    "read_baseline",
]

FILE_NAME = ".packlint-baseline.json"
SCHEMA = "packlint/baseline/v1"
COUNTS = ("n_hits", "n_packs", "n_segments", "n_tokens")
UNREAD = frozenset({"SHD001"})
"""An unreadable shard hides what else is wrong with it."""
NEVER_KNOWN = UNREAD | {"EXP001"}
"""A failed expectation is changed in its suite: several share one key, and one could hide another."""

Key = tuple[str, str]
"""Rule code and shard: what a finding's fingerprint is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Hold the ceilings.

    Args:
        source: name of the file, without its folder.
        entries: counts by rule code and shard.
    """

    source: str = ""
    entries: Mapping[Key, Mapping[str, int]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the form v1, sorted: small changes are small in a review."""
        entries = [
            {"code": code, "shard": shard, **counts} for (code, shard), counts in sorted(self.entries.items())
        ]
        return json.dumps({"schema": SCHEMA, "entries": entries}, indent=1) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineChange:
    """Say how a run differs from one entry.

    Args:
        code: rule code.
        shard: name of the shard, or empty for the whole data set.
        change: `gone`; `fallen` or `risen` counts; `unchecked` where this run did not look.
        before: counts in the baseline.
        now: counts in this run.
    """

    code: str
    shard: str
    change: str
    before: Mapping[str, int]
    now: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineReport:
    """Say what a run was held against.

    Args:
        source: name of the file, without its folder.
        n_entries: entries in it.
        changes: entries that the run does not repeat as they are, sorted by code and shard.
    """

    source: str
    n_entries: int
    changes: tuple[BaselineChange, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the report."""
        names = ("code", "shard", "change")
        changes = [
            {name: getattr(change, name) for name in names}
            | {"before": dict(change.before), "now": dict(change.now)}
            for change in self.changes
        ]
        return {"source": self.source, "n_entries": self.n_entries, "changes": changes}


def make_baseline(findings: Iterable[Finding]) -> Baseline:
    """Return the baseline that knows these findings, all but those that none may know."""
    known = (finding for finding in findings if finding.code not in NEVER_KNOWN)
    return Baseline(entries={key: dict(counts) for key, counts in _counts(known).items()})


def compare(
    findings: Sequence[Finding], baseline: Baseline, *, shards: Set[str], rules: Set[str]
) -> tuple[tuple[Finding, ...], BaselineReport]:
    """Return the findings, each new or known, and what became of the entries.

    Args:
        findings: what a run found.
        baseline: what was there before.
        shards: names of the shards that were read; the empty name where all were.
        rules: codes of the rules that looked everywhere.
    """
    now = _counts(findings)
    risen = {key for key, counts in now.items() if _is_more(counts, baseline.entries.get(key, {}))}
    state = {key: BaselineState.NEW if key in risen else BaselineState.KNOWN for key in now}
    told = tuple(replace(finding, baseline=state[finding.code, finding.shard]) for finding in findings)
    changes = []
    for (code, shard), before in sorted(baseline.entries.items()):
        counts = now.get((code, shard), Counter())
        looked = code in rules and shard in shards
        if change := _change(before, counts, looked):
            after = {name: counts[name] for name in COUNTS}
            changes.append(
                BaselineChange(code=code, shard=shard, change=change, before=dict(before), now=after)
            )
    report = BaselineReport(source=baseline.source, n_entries=len(baseline.entries), changes=tuple(changes))
    return told, report


def read_baseline(path: Path) -> Baseline:
    """Return the baseline of a file.

    Raises:
        ConfigError: it cannot be read or is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: cannot be read: {error}") from None
    return parse_baseline(text, path.name)


def parse_baseline(text: str, source: str) -> Baseline:
    """Return the baseline that a text holds.

    Raises:
        ConfigError: it is none, or of another version.
    """
    if not text.strip():
        raise ConfigError(f"{source}: empty; run `packlint baseline PATH... > {source}` again")
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source}: not valid JSON: {error}") from None
    if not isinstance(table, dict) or table.get("schema") != SCHEMA:
        raise ConfigError(f'{source}: no baseline that this version reads; "schema" must be "{SCHEMA}"')
    entries = table.get("entries")
    if not isinstance(entries, list):
        raise ConfigError(f"{source}: entries must be a list")
    found: dict[Key, Mapping[str, int]] = {}
    for key, counts in _entries(entries, source):
        if key in found:
            raise ConfigError(f"{source}: {key[0]} in {key[1] or 'the whole data set'} stands there twice")
        found[key] = counts
    return Baseline(source=source, entries=found)


def _entries(entries: Sequence[Any], source: str) -> Iterator[tuple[Key, Mapping[str, int]]]:
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict) or {*entry} != {"code", "shard", *COUNTS}:
            raise ConfigError(f"{source}: entry {number} must have code, shard, {', '.join(COUNTS)}")
        code, shard = entry["code"], entry["shard"]
        counts = {name: entry[name] for name in COUNTS}
        if not isinstance(code, str) or not isinstance(shard, str):
            raise ConfigError(f"{source}: entry {number}: code and shard must be strings")
        if any(type(value) is not int or value < 0 for value in counts.values()):
            raise ConfigError(f"{source}: entry {number}: counts must be integers from 0 on")
        if code in NEVER_KNOWN:
            raise ConfigError(f"{source}: entry {number}: {code} is never in a baseline")
        yield (code, shard), counts


def _counts(findings: Iterable[Finding]) -> dict[Key, Counter[str]]:
    """Return the counts by key; a rule on the whole data set may have several findings."""
    found: dict[Key, Counter[str]] = {}
    for finding in findings:
        counts = found.setdefault((finding.code, finding.shard), Counter())
        counts.update({name: getattr(finding, name) for name in COUNTS})
    return found


def _is_more(counts: Mapping[str, int], ceiling: Mapping[str, int]) -> bool:
    return not ceiling or any(counts[name] > ceiling[name] for name in COUNTS)


def _change(before: Mapping[str, int], now: Mapping[str, int], looked: bool) -> str:
    """Return the kind of change, or nothing where all is as it was."""
    if not now:
        return "gone" if looked else "unchecked"
    if _is_more(now, before):
        return "risen"
    return "fallen" if any(now[name] < before[name] for name in COUNTS) else ""
