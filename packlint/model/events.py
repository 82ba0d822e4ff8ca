"""Places of markers in the tokens, from the places of the ids that they are searched by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray, are_among, empty_int64
from packlint.model.id_places import IdPlaces
from packlint.model.marker_table import MarkerTable, table_of
from packlint.model.markers import ChatMarkers, Effect, Ids, Place

__all__ = ["Events", "find_events"]


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """Hold markers found, rising and disjoint.

    Args:
        places: `int64[event]`, first token.
        stops: `int64[event]`, one past the last token, its tail included.
        markers: `int64[event]`, index in `ChatMarkers.markers`.
    """

    places: Int64Array = field(default_factory=empty_int64)
    stops: Int64Array = field(default_factory=empty_int64)
    markers: Int64Array = field(default_factory=empty_int64)

    def keep(self, kept: BoolArray) -> Events:
        """Return those of `bool[event]`."""
        if kept.all():
            return self
        return Events(self.places[kept], self.stops[kept], self.markers[kept])


def find_events(
    tokens: IntArray,
    segment_starts: Int64Array,
    segment_stops: Int64Array,
    chat: ChatMarkers,
    special_places: IdPlaces,
) -> Events:
    """Return the markers that lie whole in one segment, where they count.

    Args:
        tokens: `int[token]`.
        segment_starts: `int64[segment]`, rising.
        segment_stops: `int64[segment]`.
        chat: the markers.
        special_places: where the ids stand that markers are searched by, among others.
    """
    table = table_of(chat)
    events = _matches(tokens, special_places.of(table.anchors), chat, table)
    if segment_starts.size == 0:
        return Events()
    events, firsts, limits = _inside_segments(events, segment_starts, segment_stops)
    if table.place.any():
        events, kept = _at_their_place(tokens, events, firsts, table)
        firsts, limits = firsts[kept], limits[kept]
    apart = np.append(True, np.maximum.accumulate(events.stops[:-1]) <= events.places[1:])
    if not apart.all():
        apart = apart[: events.places.size]
        events, firsts, limits = events.keep(apart), firsts[apart], limits[apart]
    limits[:-1] = np.minimum(limits[:-1], events.places[1:])
    return _with_leads(tokens, _with_tails(tokens, events, limits, table), firsts, table)


def _inside_segments(
    events: Events, segment_starts: Int64Array, segment_stops: Int64Array
) -> tuple[Events, Int64Array, Int64Array]:
    """Return the events that lie whole in one segment, and where that begins and ends."""
    counts = np.diff(np.searchsorted(events.places, segment_starts), append=events.places.size)
    n_outside = events.places.size - int(counts.sum())
    firsts, limits = np.repeat(segment_starts, counts), np.repeat(segment_stops, counts)
    events = Events(events.places[n_outside:], events.stops[n_outside:], events.markers[n_outside:])
    inside = events.stops <= limits
    return (events, firsts, limits) if inside.all() else (events.keep(inside), firsts[inside], limits[inside])


def _matches(tokens: IntArray, candidates: Int64Array, chat: ChatMarkers, table: MarkerTable) -> Events:
    """Verify every marker at the places of its anchor; where several match, the longest counts."""
    ids, following = tokens[candidates], tokens[np.minimum(candidates + 1, tokens.size - 1)]
    found = np.full(candidates.size, table.reset)
    for anchor, indices in table.by_anchor:
        free = ids == anchor
        for index in indices:
            marker = chat.markers[index]
            after = marker.ids[marker.anchor + 1 : marker.anchor + 2]
            chosen = np.flatnonzero(free & (following == after[0]) if after else free)
            if len(marker.ids) > 1:
                known = (marker.anchor, marker.anchor + 1)
                chosen = chosen[_stand(tokens, candidates[chosen] - marker.anchor, marker.ids, skip=known)]
            found[chosen], free[chosen] = index, False
    kept = np.flatnonzero(found != table.reset)
    if kept.size < found.size:
        candidates, found = candidates[kept], found[kept]
    places = candidates - table.anchor[found]
    if table.anchor.any():
        order = np.lexsort((-table.n_ids[found], places))
        places, found = places[order], found[order]
    return Events(places, places + table.n_ids[found], found)


def _stand(tokens: IntArray, starts: Int64Array, ids: Ids, skip: tuple[int, ...] = ()) -> Int64Array:
    """Return the indices of the starts at which a sequence stands; ids at indices `skip` are known to."""
    left = np.flatnonzero((starts >= 0) & (starts + len(ids) <= tokens.size))
    for offset, token_id in enumerate(ids):
        if offset not in skip and left.size:
            left = left[tokens[starts[left] + offset] == token_id]
    return left


def _with_tails(tokens: IntArray, events: Events, limits: Int64Array, table: MarkerTable) -> Events:
    """Let the markers reach over their tails, but not past the segment or the next marker."""
    stops = events.stops.copy()
    for pool, runs, has_it in table.tails:
        chosen = np.flatnonzero(has_it[events.markers] & (stops < limits))
        stops[chosen] += _tail_lengths(tokens, stops[chosen], limits[chosen], pool, runs)
    return Events(events.places, stops, events.markers)


def _tail_lengths(
    tokens: IntArray, stops: Int64Array, limits: Int64Array, pool: Int64Array, runs: Sequence[Ids]
) -> Int64Array:
    lengths = are_among(tokens[stops].astype(np.int64), pool).astype(np.int64)
    for ids in runs:
        found = np.zeros(stops.size, np.bool_)
        found[_stand(tokens, stops, ids)] = True
        found &= stops + len(ids) <= limits
        lengths = np.where(found, np.maximum(lengths, len(ids)), lengths)
    return lengths


def _with_leads(tokens: IntArray, events: Events, firsts: Int64Array, table: MarkerTable) -> Events:
    """Let the markers reach back over the token that belongs to them, but not over another marker."""
    if not table.leads:
        return events
    places = events.places.copy()
    floors = np.maximum(firsts, np.append(0, events.stops[:-1])[: places.size])
    for lead, has_it in table.leads:
        chosen = np.flatnonzero(has_it[events.markers])
        chosen = chosen[places[chosen] > floors[chosen]]
        places[chosen] -= are_among(tokens[places[chosen] - 1].astype(np.int64), lead)
    return Events(places, events.stops, events.markers)


def _at_their_place(
    tokens: IntArray, events: Events, firsts: Int64Array, table: MarkerTable
) -> tuple[Events, Int64Array]:
    """Drop markers written as text where they do not count: in the middle of a line, or of an answer.

    Returns:
        those that count, and their indices.
    """
    place = table.place[events.markers]
    before = tokens[np.maximum(events.places - 1, 0)].astype(np.int64)
    at_line = (events.places == firsts) | are_among(before, table.line_end_ids) | (place & Place.LINE == 0)
    left = np.flatnonzero(_reached(at_line, events))
    for is_said in (_in_answer, _repeats):
        left = left[~is_said(events.markers[left], firsts[left], table) | (place[left] & Place.TURN == 0)]
    return Events(events.places[left], events.stops[left], events.markers[left]), left


def _reached(at_line: BoolArray, events: Events) -> BoolArray:
    """Return which events stand at their place, or right behind one that does, or behind that one."""
    touches = np.append(False, events.places[1:] == events.stops[:-1])[: at_line.size]
    index = np.arange(at_line.size)
    first = np.maximum.accumulate(np.where(touches, 0, index))  # of the row of events that touch
    last_at_line = np.maximum.accumulate(np.where(at_line, index, -1))
    return np.asarray(last_at_line >= first, np.bool_)


def _in_answer(markers: Int64Array, firsts: Int64Array, table: MarkerTable) -> BoolArray:
    """Tell for each event whether an answer was opened before it, since the last end marker."""
    index = np.arange(markers.size)
    is_first = np.append(True, firsts[1:] != firsts[:-1])[: index.size]
    begins = np.maximum.accumulate(np.where(is_first | table.ends_round[markers], index, 0))
    answers = np.append(0, np.cumsum(table.opens_answer[markers]))
    return np.asarray(answers[index] > answers[begins], np.bool_)


def _repeats(markers: Int64Array, firsts: Int64Array, table: MarkerTable) -> BoolArray:
    """Tell which events open a turn of the role whose turn it is: that is what was said."""
    opens, role = table.effect[markers] == Effect.OPEN, table.role[markers]
    again = opens[1:] & opens[:-1] & (role[1:] == role[:-1]) & (firsts[1:] == firsts[:-1])
    return np.append(False, again)[: markers.size]
