"""One place of a fault, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from packlint.finding import Location
from packlint.reporters.html.attention import draw_attention
from packlint.reporters.html.pack_map import draw_map
from packlint.reporters.html.ribbons import Ribbon, make_ribbon
from packlint.reporters.presentation import Presentation

__all__ = ["Place", "make_place"]

_SEES = frozenset({"ISO"})
_SEES_PADDING = "ISO002"
_COUNTS_POSITIONS = frozenset({"BND003", "BND004"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Show one place.

    Args:
        where: pack, segment and tokens, in words.
        shard: the shard, where the finding is about several; else empty.
        note: what is special about it, or empty.
        ribbon: its tokens, or none.
        map: the pack in outline, or none.
        sight: who can see whom, or none.
        text: its decoded text, where the tokens cannot be decoded one by one.
    """

    where: str
    shard: str = ""
    note: str = ""
    ribbon: Ribbon | None = None
    map: Markup | None = None
    sight: Markup | None = None
    text: str = ""

    @property
    def is_drawn(self) -> bool:
        """Whether there is more of it than a line."""
        return bool(self.ribbon or self.map or self.sight or self.text)


def make_place(place: Location, code: str, shard: str, text: str, presentation: Presentation) -> Place:
    """Return what is drawn of a place.

    Args:
        place: the place.
        code: code of the rule.
        shard: shard of the finding.
        text: decoded text of its tokens, or empty.
        presentation: how to decode.
    """
    layout = place.excerpt.layout if place.excerpt else None
    return Place(
        where=_where(place),
        shard=place.shard if place.shard != shard else "",
        note=place.note,
        ribbon=make_ribbon(place, presentation.spell, shows_positions=code in _COUNTS_POSITIONS),
        map=draw_map(layout, place.start, place.stop) if layout else None,
        sight=draw_attention(layout, shows_padding=code == _SEES_PADDING)
        if layout and code[:3] in _SEES
        else None,
        text="" if presentation.decode else text,
    )


def _where(place: Location) -> str:
    if place.pack < 0:
        return ""
    parts = [f"pack {place.pack:,}"]
    if place.segment >= 0:
        parts.append(f"segment {place.segment:,}")
    if place.stop - place.start == 1:
        parts.append(f"token {place.start:,}")
    elif place.context or place.stop > place.start:
        parts.append(f"tokens {place.start:,}:{place.stop:,}")
    layout = place.excerpt.layout if place.excerpt else None
    if layout:
        parts.append(f"of {layout.n_tokens:,} slots")
    return " · ".join(parts)
