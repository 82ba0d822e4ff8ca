"""Tokens of a place as a ribbon: runs of one segment and role, each token marked as what it is.

segment 2 · user         segment 3 · assistant      padding
| what  is  </s> |       | <s>  it  IS  </s> |      | <pad> <pad> |
         ▲ fault                ▔▔  ▔▔  targets       (hatched)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from packlint.finding import Excerpt, Location
from packlint.reporters.html.markup import clip

__all__ = ["Ribbon", "Run", "Token", "make_ribbon"]

Decode = Callable[[tuple[int, ...]], str]

_MAX_CHARACTERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """Show one token.

    Args:
        word: its text, or its id.
        id: its id where `word` is text, else empty.
        below: what else is to be seen of it: its label where that is another token's, or its position.
        is_target: the loss asks for it.
        is_fault: it lies in the place.
        is_first: it is the first of them that is shown.
    """

    word: str
    id: str = ""
    below: str = ""
    is_target: bool = False
    is_fault: bool = False
    is_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Show neighbours of one segment and role.

    Args:
        name: what they are, in words.
        kind: `s0` to `s3` by segment, `pad`, `none`, or `plain` where nothing is known.
        tokens: the tokens.
    """

    name: str
    kind: str
    tokens: tuple[Token, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ribbon:
    """Show the tokens around a place.

    Args:
        runs: neighbours of one kind.
        n_before: tokens of the pack before them.
        is_cut: the place goes on after the last token.
        has_targets: some are targets, and not all of them are.
    """

    runs: tuple[Run, ...]
    n_before: int
    is_cut: bool
    has_targets: bool


def make_ribbon(place: Location, decode: Decode | None, *, shows_positions: bool) -> Ribbon | None:
    """Return the ribbon, or none where the place has no tokens."""
    if not place.context:
        return None
    tokens = list(_tokens(place, decode, shows_positions))
    names = _names(place)
    runs = []
    for (name, kind), members in groupby(zip(names, tokens, strict=True), key=lambda pair: pair[0]):
        runs.append(Run(name=name, kind=kind, tokens=tuple(token for _, token in members)))
    return Ribbon(
        runs=tuple(runs),
        n_before=place.context_start,
        is_cut=place.stop > place.context_start + len(place.context),
        has_targets=any(token.is_target for token in tokens),
    )


def _tokens(place: Location, decode: Decode | None, shows_positions: bool) -> Iterator[Token]:
    excerpt = place.excerpt
    for i, token_id in enumerate(place.context):
        slot = place.context_start + i
        yield Token(
            word=_word(token_id, decode),
            id=str(token_id) if decode else "",
            below=_below(excerpt, i, token_id, decode, shows_positions) if excerpt else "",
            is_target=bool(excerpt and excerpt.is_target[i]),
            is_fault=place.start <= slot < place.stop,
            is_first=place.start <= slot < place.stop and slot == max(place.start, place.context_start),
        )


def _word(token_id: int, decode: Decode | None) -> str:
    if decode is None:
        return str(token_id)
    shown = clip(decode((token_id,)), _MAX_CHARACTERS)
    return shown if shown.strip() else "␠" * max(1, len(shown))


def _below(excerpt: Excerpt, i: int, token_id: int, decode: Decode | None, shows_positions: bool) -> str:
    """Return a label that differs from its token, or the position."""
    if excerpt.labels and excerpt.is_target[i] and excerpt.labels[i] != token_id:
        return f"label {_word(excerpt.labels[i], decode)}"
    return f"pos {excerpt.positions[i]}" if shows_positions and excerpt.positions else ""


def _names(place: Location) -> list[tuple[str, str]]:
    """Return name and kind of the run of each token."""
    excerpt = place.excerpt
    if excerpt is None:
        return [("", "plain")] * len(place.context)
    names = []
    for i, segment in enumerate(excerpt.segments):
        role = excerpt.roles[i] if excerpt.roles else ""
        if excerpt.is_padding[i]:
            names.append(("padding", "pad"))
        elif segment < 0:
            names.append(("in no segment", "none"))
        else:
            names.append((f"segment {segment}" + (f" · {role}" if role else ""), f"s{segment % 4}"))
    return names
