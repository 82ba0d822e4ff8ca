"""What a chat template writes around turns, as ids: line breaks that are due, and template-only ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, are_among
from packlint.model.batch import PackBatch
from packlint.model.markers import ChatMarkers, Effect, Marker, Place
from packlint.model.roles import Role, Roles

__all__ = [
    "TemplateIds",
    "bare_gaps",
    "bare_headers",
    "has_next",
    "is_free_text",
    "nameless",
    "next_headers",
    "template_ids",
]


@dataclass(frozen=True, slots=True, eq=False)
class TemplateIds:
    """Hold ids by what they do around turns, each array rising.

    Args:
        header_ends: ids that a header ends in; empty where no line break is due after one.
        closing: end markers after which a line break is due.
        after_name: ids that only the template writes, and never as a role's name.
    """

    header_ends: Int64Array
    closing: Int64Array
    after_name: Int64Array


def template_ids(chat: ChatMarkers) -> TemplateIds:
    """Return the ids of a format; made on first use."""
    if "template_ids" not in chat._cache:
        chat._cache["template_ids"] = _make(chat)
    found: TemplateIds = chat._cache["template_ids"]
    return found


def _make(chat: ChatMarkers) -> TemplateIds:
    opens = [m for m in chat.markers if m.effect is Effect.OPEN and m.role is not Role.UNKNOWN]
    closes = [m for m in chat.markers if m.effect is Effect.CLOSE and len(m.ids) == 1]
    ends: set[int] = set()
    if any(m.tail.is_due for m in opens) and not is_free_text(chat):
        ends = {i for m in opens for i in _last_ids(m)}
    spaces = {i for m in opens for i in m.tail.pool} | {run[0] for m in opens for run in m.tail.runs}
    marks = {m.ids[0] for m in chat.markers if m.ends_header or m.effect in (Effect.CLOSE, Effect.OPEN)}
    return TemplateIds(
        header_ends=_array(ends),
        closing=_array({m.ids[0] for m in closes if m.tail.is_due and not is_free_text(chat)}),
        after_name=_array(spaces | marks),
    )


def _last_ids(marker: Marker) -> set[int]:
    """Return the ids that a header may end in: its line break, or a token into which that was merged."""
    if not marker.tail.is_due:
        return {marker.ids[-1]}
    return set(marker.tail.pool) | {run[-1] for run in marker.tail.runs}


def _array(ids: set[int]) -> Int64Array:
    return np.array(sorted(ids), np.int64)


def is_free_text(chat: ChatMarkers) -> bool:
    """Tell whether headers are ordinary text that counts in some places only (Alpaca, Vicuna, Zephyr)."""
    return any(m.place is not Place.ANY for m in chat.markers if m.effect is Effect.OPEN)


def next_headers(batch: PackBatch, roles: Roles) -> Int64Array:
    """Return `int64[turn]`, first token of the next turn of the same segment, or the segment's end."""
    key = "next_headers"
    if key not in batch._cache:
        turns = roles.turns
        after = np.append(turns.headers[1:], 0)[: len(turns)]
        batch._cache[key] = np.where(has_next(roles), after, batch.segments.stops[turns.segments])
    following: Int64Array = batch._cache[key]
    return following


def has_next(roles: Roles) -> BoolArray:
    """Return `bool[turn]`, whether another turn of the same segment follows."""
    segments = roles.turns.segments
    found = np.zeros(segments.size, np.bool_)
    np.equal(segments[1:], segments[:-1], out=found[:-1])
    return found


def bare_headers(batch: PackBatch, roles: Roles, chat: ChatMarkers) -> BoolArray:
    """Return `bool[turn]`, whether the header of a known role lacks the line break that is due after it."""
    turns, ends = roles.turns, template_ids(chat).header_ends
    if ends.size == 0:
        return np.zeros(len(turns), np.bool_)
    last = batch.tokens[turns.header_stops - 1].astype(np.int64)
    is_known = (turns.roles != Role.UNKNOWN) & (turns.header_stops < batch.segments.stops[turns.segments])
    return np.asarray(is_known & ~are_among(last, ends), np.bool_)


def bare_gaps(batch: PackBatch, roles: Roles, chat: ChatMarkers, max_separator_tokens: int) -> BoolArray:
    """Return `bool[turn]`, whether no line break, or more, parts the end marker from the next turn."""
    turns, closing = roles.turns, template_ids(chat).closing
    if closing.size == 0:
        return np.zeros(len(turns), np.bool_)
    following = next_headers(batch, roles)
    gap = following - turns.separators
    right = (gap > 0) & (turns.separator_stops == following)
    found = has_next(roles) & turns.is_closed & ~right & (gap <= max_separator_tokens)
    at = np.flatnonzero(found)
    found[at] = are_among(batch.tokens[turns.ends[at]].astype(np.int64), closing)
    return np.asarray(found, np.bool_)


def nameless(batch: PackBatch, roles: Roles, chat: ChatMarkers) -> BoolArray:
    """Return `bool[turn]`, whether a header begins and names nobody."""
    turns = roles.turns
    found = (turns.roles == Role.UNKNOWN) & (turns.header_stops < batch.segments.stops[turns.segments])
    at = np.flatnonzero(found)
    after = batch.tokens[turns.header_stops[at]].astype(np.int64)
    found[at] = are_among(after, template_ids(chat).after_name)
    return np.asarray(found, np.bool_)
