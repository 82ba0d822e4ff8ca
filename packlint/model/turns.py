"""Ids → roles: find the markers of a chat format, and what lies between them.

1. The places of the ids that markers are searched by are known (`find_ids`); what else belongs to a marker is
   looked for there (`find_events`).
2. All else works on these places, thousands of times fewer than tokens. Who speaks after a marker depends on
   that marker alone (and, inside a turn, on whose turn it is), so that nothing is done one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.model.events import Events, find_events
from packlint.model.id_places import IdPlaces
from packlint.model.marker_table import MarkerTable, table_of
from packlint.model.markers import ChatMarkers, Effect
from packlint.model.roles import Part, Role, Roles, Turns, Uint8Array

__all__ = ["find_roles"]


def find_roles(
    tokens: IntArray,
    segment_starts: Int64Array,
    segment_stops: Int64Array,
    chat: ChatMarkers,
    special_places: IdPlaces,
) -> Roles:
    """Return who speaks.

    Nothing is carried over a segment's edge: until its first marker, the role is unknown.

    Args:
        tokens: `int[token]`.
        segment_starts: `int64[segment]`, rising.
        segment_stops: `int64[segment]`.
        chat: the markers.
        special_places: where the ids stand that markers are searched by, among others.
    """
    found = find_events(tokens, segment_starts, segment_stops, chat, special_places)
    steps = _steps(found, segment_starts, segment_stops, table_of(chat))
    turns = _turns(steps, segment_starts, chat)
    return _runs(steps, turns, tokens.size)


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """Events and resets in order.

    Args:
        places: `int64[step]`, first token of the marker.
        stops: `int64[step]`, one past it; the next step is not before.
        markers: `int64[step]`, row of the table.
        effect: `uint8[step]`, what the marker does.
        role: `uint8[step]`, its role.
        holders: `int64[step]`, the last step that is no part; the step itself where it is none.
        table: what the markers do.
    """

    places: Int64Array
    stops: Int64Array
    markers: Int64Array
    effect: Uint8Array
    role: Uint8Array
    holders: Int64Array
    table: MarkerTable


def _steps(found: Events, starts: Int64Array, stops: Int64Array, table: MarkerTable) -> _Steps:
    """Put resets at the edges of segments, and drop parts that stand in somebody else's turn."""
    resets = np.append(0, np.column_stack([starts, stops]).reshape(-1))
    places = np.concatenate([resets, found.places])
    order = np.argsort(places, kind="stable")
    ends = np.concatenate([resets, found.stops])[order]
    markers = np.concatenate([np.full(resets.size, table.reset), found.markers])[order]
    places, effect, role = places[order], table.effect[markers], table.role[markers]
    holders = np.arange(places.size)
    parts = np.flatnonzero(effect == Effect.PART) if table.has_parts else holders[:0]
    if parts.size:
        holder = _last_true(effect != Effect.PART)[parts]
        counts = (effect[holder] == Effect.OPEN) & ((table.within[markers[parts]] >> role[holder]) & 1 > 0)
        kept = np.ones(places.size, np.bool_)
        kept[parts[~counts]] = False
        places, ends, markers, effect, role = (a[kept] for a in (places, ends, markers, effect, role))
        holders = _last_true(effect != Effect.PART)
    if table.may_be_empty.any():
        empty = np.flatnonzero(table.may_be_empty[markers[:-1]] & (ends[:-1] == places[1:]))
        empty = empty[effect[empty + 1] != Effect.PART]
        markers[empty], effect[empty], role[empty] = table.reset, Effect.BEGIN, Role.UNKNOWN
    return _Steps(places, ends, markers, effect, role, holders, table)


def _last_true(flags: BoolArray) -> Int64Array:
    """Return for each place the last place at or before it that is true; the first is taken for true."""
    return np.maximum.accumulate(np.where(flags, np.arange(flags.size), 0))


def _turns(steps: _Steps, segment_starts: Int64Array, chat: ChatMarkers) -> Turns:
    """Pair each header with what ends its turn: the next step that is no part."""
    effect, majors = steps.effect, np.flatnonzero(steps.effect != Effect.PART)
    among = np.flatnonzero(effect[majors] == Effect.OPEN)
    opens, nexts = majors[among], majors[among + 1]  # a reset at the last segment's stop is always next
    is_closed = effect[nexts] == Effect.CLOSE
    is_ended = is_closed | (effect[nexts] == Effect.OPEN) if chat.ends_at_next_header else is_closed
    headers, stops = steps.places[opens], steps.places[nexts]
    counts = np.diff(np.searchsorted(headers, segment_starts), append=headers.size)
    separators, separator_stops = _separators(steps, nexts, is_closed)
    return Turns(
        roles=_turn_roles(steps, opens),
        headers=headers,
        header_stops=steps.stops[opens],
        starts=_content_starts(steps, opens, nexts),
        stops=stops,
        ends=np.where(is_ended, stops, -1),
        separators=separators,
        separator_stops=separator_stops,
        segments=np.repeat(np.arange(counts.size), counts),
        numbers=np.arange(opens.size) - np.repeat(np.cumsum(counts) - counts, counts),
        is_closed=is_closed,
        is_called=is_closed & (steps.table.part[steps.markers[nexts]] == Part.TOOL_CALL),
    )


def _turn_roles(steps: _Steps, opens: Int64Array) -> Uint8Array:
    """Return whose turns they are; what a user's header opens may be the results of tools (Qwen)."""
    if not steps.table.has_parts:
        return steps.role[opens]
    after = opens + 1
    is_result = (steps.effect[after] == Effect.PART) & (steps.role[after] == Role.TOOL)
    is_result &= steps.places[after] == steps.stops[opens]
    return np.where(is_result, np.uint8(Role.TOOL), steps.role[opens])


def _separators(steps: _Steps, nexts: Int64Array, is_closed: BoolArray) -> tuple[Int64Array, Int64Array]:
    """Return what follows the end token: the marker's tail, and a second end marker right behind it."""
    starts = steps.places[nexts] + np.where(is_closed, steps.table.n_ids[steps.markers[nexts]], 0)
    after = np.minimum(nexts + 1, steps.places.size - 1)
    again = is_closed & (steps.effect[after] == Effect.CLOSE) & (steps.places[after] == steps.stops[nexts])
    stops = np.where(again, steps.stops[after], np.where(is_closed, steps.stops[nexts], starts))
    return starts, np.maximum(starts, stops)


def _content_starts(steps: _Steps, opens: Int64Array, nexts: Int64Array) -> Int64Array:
    """Return one past each header; a header that goes on ends with the first part that says so."""
    starts, table = steps.stops[opens], steps.table
    if table.goes_on.any():
        longer = np.flatnonzero(table.goes_on[steps.markers[opens]])
        enders = np.append(np.flatnonzero(table.ends_header[steps.markers]), steps.places.size)
        ender = enders[np.searchsorted(enders, opens[longer])]
        inside = ender < nexts[longer]
        stops = np.append(steps.stops, 0)
        starts[longer] = np.where(inside, stops[ender], steps.places[nexts[longer]])
    return starts


def _runs(steps: _Steps, turns: Turns, n_tokens: int) -> Roles:
    """Lay two runs per step side by side: the marker itself, and what follows it."""
    table, n_steps = steps.table, steps.places.size
    is_open = steps.effect == Effect.OPEN
    in_turn = is_open[steps.holders]
    turn = np.where(in_turn, np.cumsum(is_open) - 1, -1)
    speaker = np.where(is_open, steps.role, Role.UNKNOWN).astype(np.uint8)[steps.holders]
    codes, parts = np.zeros((n_steps, 2), np.uint8), np.zeros((n_steps, 2), np.uint8)
    turn_of_run, starts = np.empty((n_steps, 2), np.int64), np.empty((n_steps, 2), np.int64)
    starts[:, 0], starts[:, 1] = steps.places, steps.stops
    codes[:, 0], codes[:, 1] = Role.TEMPLATE, speaker
    turn_of_run[:, 0] = turn_of_run[:, 1] = turn
    closes = np.flatnonzero((steps.effect[1:] == Effect.CLOSE) & in_turn[:-1]) + 1
    turn_of_run[closes, 0] = turn[closes - 1]
    if table.has_parts:
        minor = np.flatnonzero(steps.effect == Effect.PART)
        mine = steps.markers[minor]
        parts[minor, 0], parts[minor, 1] = table.own_part[mine], table.part[mine]
        codes[minor, 0] = np.where(table.own_role[mine] == Role.UNKNOWN, speaker[minor], table.own_role[mine])
        codes[minor, 1] = np.where(table.role[mine] == Role.UNKNOWN, speaker[minor], table.role[mine])
    codes[table.goes_on[steps.markers], 1] = Role.TEMPLATE
    return _tiled(
        starts.reshape(-1), codes.reshape(-1), parts.reshape(-1), turn_of_run.reshape(-1), turns, n_tokens
    )


def _tiled(
    starts: Int64Array,
    codes: Uint8Array,
    parts: Uint8Array,
    turn_of_run: Int64Array,
    turns: Turns,
    n_tokens: int,
) -> Roles:
    """Drop empty runs, and let turns that were calls by their end marker be calls."""
    kept = np.flatnonzero(np.append(starts[1:], n_tokens) > starts)
    codes, parts, turn_of_run = codes[kept], parts[kept], turn_of_run[kept]
    if turns.is_called.any():
        called = np.append(turns.is_called, False)[turn_of_run] & (codes == Role.ASSISTANT)
        parts[called] = Part.TOOL_CALL
    return Roles(n_tokens, starts[kept], codes, parts, turn_of_run, turns)
