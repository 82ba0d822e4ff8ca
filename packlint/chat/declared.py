"""The table `[chat]` of the configuration: a format by name, or one's own markers as text or ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from packlint.chat.chat_format import TextMarker
from packlint.chat.compile import NotInVocabulary, WhiteSpace, compile_format, compile_marker
from packlint.chat.detect import detect
from packlint.chat.formats import FORMATS
from packlint.chat.spelling import spellings_of
from packlint.chat.tokenizer import Tokenizer
from packlint.errors import ConfigError
from packlint.model.markers import ChatMarkers, Effect, Marker, Spelling, Tail, TrainOn
from packlint.model.roles import Part, Role
from packlint.model.spec import Known, Origin

__all__ = ["find_chat"]

_TURNS = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
_PARTS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "thinking": (
        {"part": Part.THINKING, "own_part": Part.THINKING, "within": frozenset({Role.ASSISTANT})},
        {"own_part": Part.THINKING, "within": frozenset({Role.ASSISTANT})},
    ),
    "tool_call": (
        {"part": Part.TOOL_CALL, "own_part": Part.TOOL_CALL, "within": frozenset({Role.ASSISTANT})},
        {"own_part": Part.TOOL_CALL, "within": frozenset({Role.ASSISTANT})},
    ),
    "tool_result": (
        {"role": Role.TOOL, "own_role": Role.TEMPLATE, "within": frozenset({Role.USER, Role.TOOL})},
        {"own_role": Role.TEMPLATE, "within": frozenset({Role.USER, Role.TOOL})},
    ),
}
_NO_CHAT = "none"


def find_chat(options: Mapping[str, Any], tokenizer: Tokenizer | None) -> tuple[ChatMarkers | None, str]:
    """Return how the chats of this run are written, and how that is known; or none, and why.

    Args:
        options: the table `[chat]` as `packlint.config_schema` lets it through.
        tokenizer: the tokenizer, or none.

    Raises:
        ConfigError: the table makes no sense.
    """
    train_on = TrainOn(**(options.get("train_on") or {}))
    name, markers = options.get("format"), options.get("markers")
    if name and markers:
        raise ConfigError("[chat]: give format or markers, not both")
    if markers:
        return _own(options, train_on, tokenizer)
    if name == _NO_CHAT:
        return None, "[chat] format = none"
    if name:
        return _built_in(name, train_on, tokenizer)
    if tokenizer is None:
        return None, "no tokenizer and no [chat]"
    return detect(tokenizer, train_on)


def _built_in(name: str, train_on: TrainOn, tokenizer: Tokenizer | None) -> tuple[ChatMarkers, str]:
    if name not in FORMATS:
        close = get_close_matches(name, FORMATS, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(FORMATS)}"
        raise ConfigError(f"[chat] format = {name!r} is not known{hint}")
    if tokenizer is None:
        raise ConfigError(f"[chat] format = {name!r} needs a tokenizer; or give [chat] markers as ids")
    why = f"[chat] format = {name}"
    try:
        return compile_format(FORMATS[name], tokenizer, Known(name, Origin.CONFIG, why), train_on), why
    except NotInVocabulary as error:
        raise ConfigError(f"[chat] format = {name!r}: {error}") from None


def _own(
    options: Mapping[str, Any], train_on: TrainOn, tokenizer: Tokenizer | None
) -> tuple[ChatMarkers, str]:
    table, ends_at_next = options["markers"], bool(options.get("ends_at_next_turn"))
    for needed in ("user", "assistant"):
        if not table.get(needed):
            raise ConfigError(f"[chat.markers] needs {needed}")
    if not table.get("end") and not ends_at_next:
        raise ConfigError("[chat.markers] needs end, or [chat] ends_at_next_turn = true")
    build = _Builder(tokenizer, _separator(table, tokenizer, bool(options.get("separator_is_due"))))
    markers = tuple(build.all(table))
    ends = [m.ids[0] for m in markers if m.effect is Effect.CLOSE or (ends_at_next and _ends_answer(m))]
    why = "[chat] markers"
    chat = ChatMarkers(
        name="declared",
        markers=markers,
        end_of_turn_ids=tuple(dict.fromkeys(ends)),
        ends_at_next_header=ends_at_next,
        closed_roles=frozenset() if ends_at_next else frozenset({Role.ASSISTANT}),
        train_on=train_on,
        spellings=_spellings(table, markers, tokenizer),
        known=Known("declared", Origin.CONFIG, why),
    )
    return chat, why


def _spellings(
    table: Mapping[str, Any], markers: tuple[Marker, ...], tokenizer: Tokenizer | None
) -> tuple[Spelling, ...]:
    """Return how special tokens look as text: as the tokenizer splits them, and as declared."""
    told = (tuple(ids) for ids in table.get("end_as_text") or ())
    declared = tuple(Spelling(token_id=-1, text="end", ids=ids) for ids in told if len(ids) > 1)
    return declared + (spellings_of(markers, tokenizer) if tokenizer else ())


def _ends_answer(marker: Marker) -> bool:
    return marker.effect is Effect.OPEN and marker.role in (Role.USER, Role.TOOL)


class _Builder:
    """Turn the values of `[chat.markers]` into markers; text needs a tokenizer."""

    def __init__(self, tokenizer: Tokenizer | None, separator: Tail) -> None:
        self._tokenizer = tokenizer
        self._separator = separator
        self._space = WhiteSpace.of(tokenizer) if tokenizer else None

    def all(self, table: Mapping[str, Any]) -> Iterator[Marker]:
        for key, role in _TURNS.items():
            yield from self._each(key, table.get(key), effect=Effect.OPEN, role=role)
        yield from self._each("begin", table.get("begin"), effect=Effect.BEGIN)
        yield from self._each("end", table.get("end"), effect=Effect.CLOSE)
        for key, (start, stop) in _PARTS.items():
            marks = table.get(key)
            if marks:
                yield from self._each(f"{key}.start", marks["start"], effect=Effect.PART, **start)
                yield from self._each(f"{key}.stop", marks["stop"], effect=Effect.PART, **stop)

    def _each(self, key: str, value: Any, **what: Any) -> Iterator[Marker]:
        for one in _alternatives(value):
            if isinstance(one, str):
                yield from self._of_text(key, one, what)
            elif one:
                tail = self._separator if what["effect"] in (Effect.OPEN, Effect.CLOSE) else Tail()
                yield Marker(ids=tuple(one), anchor=one.index(max(one)), tail=tail, **what)

    def _of_text(self, key: str, text: str, what: dict[str, Any]) -> tuple[Marker, ...]:
        if self._tokenizer is None or self._space is None:
            raise ConfigError(f"[chat.markers] {key} is a text: that needs a tokenizer; or give ids")
        core = text.rstrip()
        if not core:
            raise ConfigError(f"[chat.markers] {key} is nothing but white space")
        marker = TextMarker(text=core, tail=text[len(core) :], is_text=True, **what)
        return compile_marker(marker, self._tokenizer, self._space)


def _separator(table: Mapping[str, Any], tokenizer: Tokenizer | None, is_due: bool) -> Tail:
    """Return what may, or must, follow headers and end markers that are given as ids."""
    runs: list[tuple[int, ...]] = []
    for one in _alternatives(table.get("separator")):
        if isinstance(one, str):
            if tokenizer is None:
                raise ConfigError("[chat.markers] separator is a text: that needs a tokenizer; or give ids")
            one = tokenizer.encode(one)[0]
        runs.append(tuple(one))
    pool = sorted(run[0] for run in runs if len(run) == 1)
    longer = tuple(sorted((r for r in runs if len(r) > 1), key=len, reverse=True))
    return Tail(tuple(pool), longer, is_due and bool(runs))


def _alternatives(value: Any) -> list[Any]:
    """Return the alternatives of a marker: a text, one sequence of ids, or a list of either."""
    if not value:
        return []
    if isinstance(value, str) or isinstance(value[0], int):
        return [value]
    return list(value)
