"""How a chat format is stated as text, before a tokenizer turns it into ids."""

from __future__ import annotations

from dataclasses import dataclass

from packlint.model.markers import Effect, Place
from packlint.model.roles import Part, Role

__all__ = ["ChatFormat", "TextMarker", "begin", "close", "open_turn", "part", "pieces"]

ASSISTANT_ONLY = frozenset({Role.ASSISTANT})


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMarker:
    """State one marker as text; the other fields are those of `packlint.model.markers.Marker`.

    Args:
        text: the marker.
        is_text: it may be written with ordinary tokens; else it counts only if a token that is never split
            is in it.
        is_needed: without it the format cannot be read with a vocabulary.
        lead: text that belongs to it if it precedes as a token of its own.
        tail: text that belongs to it if it follows.
    """

    text: str
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
    is_text: bool = False
    is_needed: bool = False
    lead: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFormat:
    """State one chat format.

    Args:
        name: what `[chat] format` takes.
        title: the models that use it.
        markers: all markers.
        signs: what a chat template of this format has in it, all of them.
        foreign: what it has not.
        tokens: tokens that are never split, and that tell the format where there is no template.
        ends_at_next_header: answers have no end marker.
        closed_roles: whose turns an end marker closes.
        alternates: its markers come in pairs, one of the user's and one of the assistant's.
        repeats_begin: each round begins with the begin token, unless the model's own template says otherwise.
        opens_calls: an answer that calls a tool need not be closed before the tool's results.
        stops: texts of tokens that end an answer, where they are no end markers.
        needs_eos: the tokenizer's end-of-text token is the end marker.
        eos_tail: text that belongs to it if it follows.
        source: where this was read.
    """

    name: str
    title: str
    markers: tuple[TextMarker, ...]
    signs: tuple[str, ...]
    foreign: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    ends_at_next_header: bool = False
    closed_roles: frozenset[Role] = frozenset({Role.ASSISTANT})
    alternates: bool = False
    repeats_begin: bool = False
    opens_calls: bool = False
    stops: tuple[str, ...] = ()
    needs_eos: bool = False
    eos_tail: str = ""
    source: str


def open_turn(
    text: str,
    role: Role,
    *,
    tail: str = "",
    is_text: bool = False,
    is_needed: bool | None = None,
    place: Place = Place.ANY,
    header_goes_on: bool = False,
    may_be_empty: bool = False,
) -> TextMarker:
    """Return a header; those of user and assistant are needed unless told otherwise."""
    return TextMarker(
        text=text,
        effect=Effect.OPEN,
        role=role,
        tail=tail,
        is_text=is_text,
        is_needed=role in (Role.USER, Role.ASSISTANT) if is_needed is None else is_needed,
        place=place,
        header_goes_on=header_goes_on,
        may_be_empty=may_be_empty,
    )


def close(text: str, *, tail: str = "", part: Part = Part.TEXT, is_needed: bool = True) -> TextMarker:
    """Return an end marker; `part` says what a turn that ends so was."""
    return TextMarker(text=text, effect=Effect.CLOSE, tail=tail, part=part, is_needed=is_needed)


def begin(text: str) -> TextMarker:
    """Return what stands before a chat."""
    return TextMarker(text=text, effect=Effect.BEGIN)


def part(
    text: str,
    *,
    becomes: Part = Part.TEXT,
    own: Part = Part.TEXT,
    within: frozenset[Role] = ASSISTANT_ONLY,
    is_text: bool = True,
) -> TextMarker:
    """Return a mark that the assistant writes."""
    return TextMarker(
        text=text, effect=Effect.PART, part=becomes, own_part=own, within=within, is_text=is_text
    )


def pieces(
    text: str,
    role: Role,
    *,
    within: frozenset[Role],
    lead: str = "",
    tail: str = "",
    is_text: bool = True,
) -> TextMarker:
    """Return a mark that the template writes inside a turn, and who speaks from there on."""
    return TextMarker(
        text=text,
        effect=Effect.PART,
        role=role,
        own_role=Role.TEMPLATE,
        within=within,
        lead=lead,
        tail=tail,
        is_text=is_text,
    )
