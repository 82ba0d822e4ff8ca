"""What the scanner looks up for each marker, as arrays; made once for each chat format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.markers import ChatMarkers, Effect, Ids, Marker
from packlint.model.roles import Role, Uint8Array

__all__ = ["MarkerTable", "table_of"]

_RESET = Marker(ids=(), effect=Effect.BEGIN)


@dataclass(frozen=True, slots=True, eq=False)
class MarkerTable:
    """Hold one value per marker in each array; the last one is of the reset at a segment's edge.

    Args:
        effect: `uint8[marker]`, likewise the other fields of `Marker`.
        within: `int64[marker]`, one bit per role.
        anchor: `int64[marker]`, index of the id that it is searched by.
        has_parts: whether some marker begins or ends a part of a turn.
        opens_answer: `bool[marker]`.
        ends_round: `bool[marker]`, whether an answer ends here at the latest.
        anchors: rising ids to search for.
        by_anchor: markers by the id that they are searched by, the longest first.
        tails: pool, runs, and `bool[marker]` whose tail it is.
        leads: pool, and `bool[marker]` whose lead it is.
        line_end_ids: ids whose text ends in a line break, rising.
    """

    effect: Uint8Array
    role: Uint8Array
    part: Uint8Array
    own_role: Uint8Array
    own_part: Uint8Array
    place: Uint8Array
    within: Int64Array
    anchor: Int64Array
    n_ids: Int64Array
    has_parts: bool
    goes_on: BoolArray
    ends_header: BoolArray
    may_be_empty: BoolArray
    opens_answer: BoolArray
    ends_round: BoolArray
    anchors: Int64Array
    by_anchor: tuple[tuple[int, tuple[int, ...]], ...]
    tails: tuple[tuple[Int64Array, tuple[Ids, ...], BoolArray], ...]
    leads: tuple[tuple[Int64Array, BoolArray], ...]
    line_end_ids: Int64Array

    @property
    def reset(self) -> int:
        """The marker that does nothing."""
        return int(self.effect.size - 1)


def table_of(chat: ChatMarkers) -> MarkerTable:
    """Return the table of a format; made on first use."""
    if "table" not in chat._cache:
        chat._cache["table"] = _make(chat)
    table: MarkerTable = chat._cache["table"]
    return table


def _make(chat: ChatMarkers) -> MarkerTable:
    rows = (*chat.markers, _RESET)
    anchors = np.array(sorted({m.ids[m.anchor] for m in chat.markers}), np.int64)
    tails = {m.tail: None for m in chat.markers if m.tail.pool or m.tail.runs}
    leads = {m.lead: None for m in chat.markers if m.lead}
    return MarkerTable(
        effect=_bytes(m.effect for m in rows),
        role=_bytes(m.role for m in rows),
        part=_bytes(m.part for m in rows),
        own_role=_bytes(m.own_role for m in rows),
        own_part=_bytes(m.own_part for m in rows),
        place=_bytes(m.place for m in rows),
        within=np.array([sum(1 << role for role in m.within) for m in rows], np.int64),
        anchor=np.array([m.anchor for m in rows], np.int64),
        n_ids=np.array([len(m.ids) for m in rows], np.int64),
        has_parts=any(m.effect is Effect.PART for m in rows),
        goes_on=_flags(m.header_goes_on for m in rows),
        ends_header=_flags(m.ends_header for m in rows),
        may_be_empty=_flags(m.may_be_empty for m in rows),
        opens_answer=_flags(m.effect is Effect.OPEN and m.role is Role.ASSISTANT for m in rows),
        ends_round=_flags(m.effect in (Effect.CLOSE, Effect.BEGIN) for m in rows),
        anchors=anchors,
        by_anchor=tuple((int(anchor), _of_anchor(chat, int(anchor))) for anchor in anchors),
        tails=tuple((np.array(t.pool, np.int64), t.runs, _flags(m.tail == t for m in rows)) for t in tails),
        leads=tuple((np.array(lead, np.int64), _flags(m.lead == lead for m in rows)) for lead in leads),
        line_end_ids=np.array(chat.line_end_ids, np.int64),
    )


def _of_anchor(chat: ChatMarkers, anchor: int) -> tuple[int, ...]:
    mine = [i for i, m in enumerate(chat.markers) if m.ids[m.anchor] == anchor]
    return tuple(sorted(mine, key=lambda i: -len(chat.markers[i].ids)))


def _bytes(values: Iterable[int]) -> Uint8Array:
    return np.array(list(values), np.uint8)


def _flags(values: Iterable[bool]) -> BoolArray:
    return np.array(list(values), np.bool_)
