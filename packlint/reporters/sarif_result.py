"""One result of a SARIF log: a rule in a shard, counted, with its worst places.

A shard has no lines. The result sits on line 1 of its file, as hosts want a line, and names its places as
logical locations: shard/pack/segment/token.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from packlint.finding import BaselineState, Location
from packlint.report import Report
from packlint.reporters.grouping import Group, file_of
from packlint.reporters.untrusted import clipped, visible

__all__ = ["LEVELS", "plain_text", "result"]

LEVELS = {"error": "error", "warning": "warning", "info": "note"}

_MAX_MESSAGE = 1_000
_MAX_TEXT = 200
_MAX_PLACES = 20
_MAX_SHARDS = 100
_FINGERPRINT = "packlint/v1"
_STATES = {BaselineState.NEW: "new", BaselineState.KNOWN: "unchanged"}


def result(group: Group, report: Report, rule_index: int) -> dict[str, Any]:
    """Return the result of a group of findings."""
    table = {
        "ruleId": group.first.code,
        "ruleIndex": rule_index,
        "level": LEVELS[group.severity],
        "message": {"text": plain_text(group.message)},
        "locations": [_location(group, report)],
        "occurrenceCount": max(1, group.total("n_hits")),
        # GitHub tells alerts apart by the second; without lines there is nothing else to take it from.
        "partialFingerprints": {
            _FINGERPRINT: group.fingerprint,
            "primaryLocationLineHash": f"{group.fingerprint}:1",
        },
        "properties": _properties(group, report),
    }
    if report.baseline is not None:
        table |= _baseline(group, report.baseline.source)
    return table


def plain_text(text: str) -> str:
    """Return text that a viewer shows as it is: `[words](target)` would be a link in a SARIF message."""
    shown = clipped(text, _MAX_MESSAGE)
    return re.sub(r"([\[\]])", r"\\\1", shown) if "](" in shown else shown


def _baseline(group: Group, source: str) -> dict[str, Any]:
    state = group.first.baseline
    suppression = {
        "kind": "external",
        "status": "accepted",
        "justification": f"known from {visible(source)}",
    }
    return {
        "baselineState": _STATES[state],
        "suppressions": [suppression] if state is BaselineState.KNOWN else [],
    }


def _location(group: Group, report: Report) -> dict[str, Any]:
    uri = quote(file_of(group.shards[0], report), safe="/", errors="replace")
    physical = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
    places = [_logical(place) for place in group.worst_places(_MAX_PLACES)]
    # Places that differ only in what is said of them have one name, and the schema wants each name once.
    logical = list({place["fullyQualifiedName"]: place for place in places}.values())
    return {"physicalLocation": physical} | ({"logicalLocations": logical} if logical else {})


def _logical(place: Location) -> dict[str, Any]:
    """Return one place by its name; what does not apply is a dash."""
    numbers = (place.pack, place.segment, place.start if place.stop > place.start else -1)
    steps = [visible(place.shard), *("-" if n < 0 else str(n) for n in numbers)]
    words = ["pack", "segment", "token"]
    kind, number = next(
        ((word, n) for word, n in reversed([*zip(words, numbers, strict=True)]) if n >= 0), ("shard", -1)
    )
    name = f"{kind} {number}" if number >= 0 else kind
    return {"name": name, "fullyQualifiedName": "/".join(steps), "kind": kind}


def _properties(group: Group, report: Report) -> dict[str, Any]:
    table: dict[str, Any] = {
        name: group.total(name) for name in ("n_hits", "n_packs", "n_segments", "n_tokens")
    }
    table["confidence"] = group.confidence.value
    table["places"] = [_place(place, report) for place in group.worst_places(_MAX_PLACES)]
    if len(group.shards) > 1:
        table["n_shards"] = len(group.shards)
        table["shards"] = [visible(shard) for shard in group.shards[:_MAX_SHARDS]]
    return table


def _place(place: Location, report: Report) -> dict[str, Any]:
    return {
        "shard": visible(place.shard),
        "pack": place.pack,
        "segment": place.segment,
        "start": place.start,
        "stop": place.stop,
        "text": clipped(report.text_of(place), _MAX_TEXT),
        "note": clipped(place.note, _MAX_TEXT),
    }
