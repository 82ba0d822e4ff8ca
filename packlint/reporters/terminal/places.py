"""One place of a fault: where it is, and its tokens with their context, the faulty ones marked.

with ids     … 5 7 8 [0 0 0 0] 9 …
with text    … the answer is »<pad><pad>« the …
"""

from __future__ import annotations

from collections.abc import Iterator

from packlint.finding import Location
from packlint.report import Report
from packlint.reporters.paper import Paper, Piece
from packlint.reporters.presentation import Presentation

__all__ = ["write_place"]

_FAULTY = "bold red underline"
_MAX_CHARACTERS = 240
_MAX_TOKENS = 16


def write_place(
    paper: Paper,
    report: Report,
    place: Location,
    presentation: Presentation,
    *,
    lead: str,
    names_shard: bool,
    column: int,
) -> None:
    """Write where a place is, its note, and its tokens."""
    dot = f" {paper.glyphs.dot} "
    where = [paper.show(place.shard)] if names_shard and place.shard else []
    where.append(f"pack {place.pack}")
    if place.segment >= 0:
        where.append(f"segment {place.segment}")
    where.append(_tokens(place))
    paper.hang((lead, "bold"), dot.join(part for part in where if part), indent=2, column=column)
    if place.note:
        paper.hang("", paper.show(place.note), indent=2, column=column)
    if place.context:
        paper.hang("", *_context(paper, place, presentation), indent=2, column=column)


def _tokens(place: Location) -> str:
    if not place.context and place.start == place.stop:
        return ""
    if place.stop - place.start == 1:
        return f"token {place.start}"
    return f"tokens {place.start}:{place.stop}"


def _context(paper: Paper, place: Location, presentation: Presentation) -> Iterator[Piece]:
    """Yield the tokens before, in and after the place; what the context leaves out is an ellipsis."""
    first = max(0, place.start - place.context_start)
    last = min(len(place.context), place.stop - place.context_start)
    is_cut = place.stop > place.context_start + len(place.context)
    if is_cut:
        last = min(last, first + _MAX_TOKENS)
    parts = place.context[:first], place.context[first:last], place.context[last:] if not is_cut else ()
    before, inside, after = (_spelled(paper, ids, presentation) for ids in parts)
    opening, closing = paper.glyphs.cut_open, paper.glyphs.cut_close
    if presentation.decode is None:
        opening, closing = "[", "]"
    if place.context_start > 0:
        yield (f"{paper.glyphs.ellipsis} ", "dim")
    if before:
        yield f"{before.strip(' ')} "
    yield (opening, "bold red")
    yield (inside.strip(" "), _FAULTY)
    if is_cut:
        yield f" {paper.glyphs.ellipsis}"
    yield (closing, "bold red")
    if after:
        yield f" {after.lstrip(' ')}"


def _spelled(paper: Paper, ids: tuple[int, ...], presentation: Presentation) -> str:
    if presentation.decode is None:
        return " ".join(map(str, ids))
    text = paper.show(presentation.decode(ids))
    return text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + paper.glyphs.ellipsis
