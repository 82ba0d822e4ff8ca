"""The markers of a chat format as token ids: all that the scanner in `packlint.model.turns` needs.

Formats by name and their texts live in `packlint.chat`, which compiles them to this with a tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum, IntFlag
from typing import Any

from packlint.model.roles import Part, Role
from packlint.model.spec import DatasetSpec, Known

__all__ = [
    "UNDECLARED",
    "ChatMarkers",
    "Effect",
    "Ids",
    "Marker",
    "Place",
    "Spelling",
    "Tail",
    "TrainOn",
    "end_of_turn_spec",
]

Ids = tuple[int, ...]


class Effect(IntEnum):
    """What a marker does.

    `BEGIN`: a text begins, and nobody speaks yet.
    `OPEN`: a turn begins.
    `CLOSE`: the turn ends.
    `PART`: inside a turn, a part of it begins or ends.
    """

    BEGIN = 0
    OPEN = 1
    CLOSE = 2
    PART = 3


class Place(IntFlag):
    """Where a marker counts: its text elsewhere is what somebody said.

    `ANY`: wherever it stands (markers of special tokens).
    `LINE`: at the beginning of a line or of a segment, or right behind another marker.
    `TURN`: before the answer of its round; from there to the next end marker the text is the assistant's.
    """

    ANY = 0
    LINE = 1
    TURN = 2


@dataclass(frozen=True, slots=True)
class Tail:
    """What belongs to a marker when it follows it.

    Args:
        pool: ids of one token that does, rising: the tail's own and those into which white space after it
            was merged.
        runs: sequences of two ids and more that do, longest first.
        is_due: templates always write it, as tokens of its own (line breaks).
    """

    pool: Ids = ()
    runs: tuple[Ids, ...] = ()
    is_due: bool = False


NO_TAIL = Tail()


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """One sequence of ids, and what it does.

    Args:
        ids: the sequence.
        effect: what it does.
        role: `OPEN`: whose turn it is. `PART`: who speaks from here on; `UNKNOWN`: the one whose turn it is.
        part: `PART`: what the assistant's tokens from here on are part of. `CLOSE`: what the whole turn was.
        own_role: `PART`: role of the marker's own tokens; `UNKNOWN`: the one whose turn it is.
        own_part: `PART`: part of the marker's own tokens.
        within: `PART`: roles in whose turns it counts; elsewhere it is text.
        header_goes_on: template goes on until a marker that `ends_header` (Harmony).
        ends_header: see there.
        may_be_empty: `OPEN`: with nothing before the next turn, there was no turn.
        place: where it counts.
        anchor: index in `ids` of the one to search for, the rarest.
        lead: `PART`: ids of one token that belongs to it when it precedes, rising.
        tail: what belongs to it when it follows.
    """

    ids: Ids
    effect: Effect
    role: Role = Role.UNKNOWN
    part: Part = Part.TEXT
    own_role: Role = Role.UNKNOWN
    own_part: Part = Part.TEXT
    within: frozenset[Role] = frozenset()
    header_goes_on: bool = False
    ends_header: bool = False
    may_be_empty: bool = False
    place: Place = Place.ANY
    anchor: int = 0
    lead: Ids = ()
    tail: Tail = NO_TAIL


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to write the text of a special token with ordinary tokens.

    Args:
        token_id: the special token.
        text: its text.
        ids: the ordinary tokens.
        is_tag: it looks like a tag of a web page (`</s>`), so that it says little in the midst of a text.
    """

    token_id: int
    text: str
    ids: Ids
    is_tag: bool = False


@dataclass(frozen=True, slots=True)
class TrainOn:
    """Say whether parts of answers are meant to be targets; none: either way is right.

    Args:
        thinking: reasoning before the answer.
        tool_calls: calls of tools.
    """

    thinking: bool | None = None
    tool_calls: bool | None = None


UNDECLARED = TrainOn()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMarkers:
    """State how a chat is written in ids.

    Args:
        name: name of the format, as `[chat] format` takes it.
        markers: all markers.
        end_of_turn_ids: ids that end an answer.
        ends_at_next_header: answers have no end marker: the next header ends them (GLM).
        closed_roles: whose turns an end marker closes.
        alternates: two turns of the user, or two answers, never follow one another: the template refuses it.
        repeats_begin: each round begins with the begin token, so that two rounds look like two samples.
        opens_calls: an answer that calls a tool need not be closed before the tool's results.
        line_end_ids: ids whose text ends in a line break, rising; for markers that count at line starts.
        train_on: which parts of answers are meant to be targets.
        spellings: special tokens of the format as ordinary tokens; empty without a tokenizer.
        known: name and origin, with the evidence.
    """

    name: str
    markers: tuple[Marker, ...]
    end_of_turn_ids: Ids
    ends_at_next_header: bool = False
    closed_roles: frozenset[Role] = frozenset()
    alternates: bool = False
    repeats_begin: bool = False
    opens_calls: bool = False
    line_end_ids: Ids = ()
    train_on: TrainOn = UNDECLARED
    spellings: tuple[Spelling, ...] = ()
    known: Known[str] | None = None
    _cache: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def with_text_ends(self, eos_ids: Ids, bos_id: int | None) -> ChatMarkers:
        """Return these and the tokens that end and begin a text, where the format does not use them."""
        used = {marker.ids[0] for marker in self.markers if len(marker.ids) == 1}
        ends = [i for i in dict.fromkeys(eos_ids) if i not in used]
        begins = [bos_id] if bos_id is not None and bos_id not in used and bos_id not in ends else []
        added = [Marker(ids=(i,), effect=Effect.CLOSE) for i in ends]
        added += [Marker(ids=(i,), effect=Effect.BEGIN) for i in begins]
        return replace(self, markers=self.markers + tuple(added))


def end_of_turn_spec(chat: ChatMarkers | None) -> DatasetSpec:
    """Return what a chat format says of the ids that end a turn, with its origin and evidence."""
    if chat is None or chat.known is None or not chat.end_of_turn_ids:
        return DatasetSpec()
    why = f"chat format {chat.name}: {chat.known.why}"
    return DatasetSpec(end_of_turn_ids=Known(chat.end_of_turn_ids, chat.known.origin, why))
