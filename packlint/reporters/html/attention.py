"""Who can see whom: queries downwards, keys to the right, so that causal attention fills the lower left.

    ◣            own sample        what a token should see
    ▨◣           leaked            what the trainer lets it see of another sample
    ▨▨◣          hidden            what it should see of its own sample and cannot (dotted)

Layers, from the bottom: the trainer's blocks hatched, the pieces of true segments inside them plain, the
outline of the true segments. What stays hatched is the leak; what stays empty inside an outline is hidden.
Padding is taken out: what it sees does not matter, nor who sees it, but for the rule that is about that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby

from markupsafe import Markup

from packlint.finding import Layout
from packlint.reporters.html.markup import element

__all__ = ["draw_attention"]

_SIZE = 240
_LABEL_SIZE = 18
_MAX_LINKS = 200


def draw_attention(layout: Layout, *, shows_padding: bool = False) -> Markup | None:
    """Return the picture, or none where neither blocks nor a mask are known.

    Args:
        layout: the pack in outline.
        shows_padding: leave padding in where it is seen.
    """
    if layout.grid:
        return _frame(layout, list(_cells(layout.grid)), "from the stored mask, in a few cells")
    if not layout.blocks or not layout.segments:
        return None
    scale = _Scale(layout)
    parts = [scale.triangle("leak", a, b) for a, b, _ in layout.blocks]
    parts += _links(layout, scale)
    for a, b in layout.padding:
        parts.append(scale.rows("void", a, b))
        parts += [] if shows_padding else [scale.rect("void", (a, b), (b, layout.stop))]
    pieces = [(a, b) for a, b, _, _ in _pieces(layout)]
    parts += [scale.triangle("own", a, b) for a, b in pieces]
    parts += [scale.triangle("outline", a, b) for a, b in layout.segments]
    parts += scale.labels()
    return _frame(layout, parts, "from the blocks that the trainer builds")


class _Scale:
    """Turn tokens into coordinates."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._factor = _SIZE / max(1, layout.stop - layout.start)

    def at(self, token: int) -> float:
        return (token - self._layout.start) * self._factor

    def triangle(self, kind: str, start: int, stop: int) -> Markup:
        a, b = self.at(start), self.at(stop)
        return element("path", class_=kind, d=f"M{a:.1f} {a:.1f}V{b:.1f}H{b:.1f}Z")

    def rows(self, kind: str, start: int, stop: int) -> Markup:
        """Return what some tokens could see at all."""
        a, b = self.at(start), self.at(stop)
        return element("path", class_=kind, d=f"M0 {a:.1f}V{b:.1f}H{b:.1f}L{a:.1f} {a:.1f}Z")

    def rect(self, kind: str, keys: tuple[int, int], queries: tuple[int, int]) -> Markup:
        x, y = self.at(keys[0]), self.at(queries[0])
        width, height = self.at(keys[1]) - x, self.at(queries[1]) - y
        return element("rect", class_=kind, x=x, y=y, width=width, height=height)

    def labels(self) -> Iterator[Markup]:
        for i, (a, b) in enumerate(self._layout.segments, self._layout.first_segment):
            if self.at(b) - self.at(a) >= _LABEL_SIZE:
                x, y = (2 * self.at(a) + self.at(b)) / 3, (self.at(a) + 2 * self.at(b)) / 3
                yield element("text", i, x=x, y=y + 4, text_anchor="middle", class_="no")


def _pieces(layout: Layout) -> list[tuple[int, int, int, int]]:
    """Return start, stop, segment and group of each part of a segment inside a block."""
    pieces = []
    for segment, (a, b) in enumerate(layout.segments):
        for start, stop, group in layout.blocks:
            if max(a, start) < min(b, stop):
                pieces.append((max(a, start), min(b, stop), segment, group))
    return sorted(pieces)


def _links(layout: Layout, scale: _Scale) -> Iterator[Markup]:
    """Yield what blocks of one group see of each other: numbers of a mask that come back."""
    if len({group for _, _, group in layout.blocks}) == len(layout.blocks):
        return
    n_links = 0
    for first, second in combinations(_pieces(layout), 2):
        if first[3] != second[3] or n_links >= _MAX_LINKS:
            continue
        n_links += 1
        kind = "own" if first[2] == second[2] else "leak"
        yield scale.rect(kind, first[:2], second[:2])


def _cells(grid: Sequence[str]) -> Iterator[Markup]:
    size = _SIZE / len(grid)
    kinds = {"#": "leak", "o": "own"}
    for row, cells in enumerate(grid):
        column = 0
        for cell, run in groupby(cells):
            n_cells = len(list(run))
            if cell in kinds:
                x, y, width = column * size, row * size, n_cells * size
                yield element("rect", class_=kinds[cell], x=x, y=y, width=width, height=size)
            column += n_cells


def _frame(layout: Layout, parts: Sequence[Markup], source: str) -> Markup:
    leaks = _leaking(layout)
    says = f"Who can see whom, {source}: queries downwards, keys to the right; {leaks}"
    box = element("rect", class_="whole", x=0, y=0, width=_SIZE, height=_SIZE)
    view = f"-1 -1 {_SIZE + 2} {_SIZE + 2}"
    return element("svg", box, *parts, class_="sight", viewBox=view, role="img", aria_label=says)


def _leaking(layout: Layout) -> str:
    """Say which segments see others, as far as the picture shows it."""
    if layout.grid:
        has_leak = any("#" in row for row in layout.grid)
        return "hatched cells reach another sample" if has_leak else "nothing reaches another sample"
    together: dict[int, set[int]] = {}
    for _, _, segment, group in _pieces(layout):
        together.setdefault(group, set()).add(segment + layout.first_segment)
    mixed = [sorted(members) for members in together.values() if len(members) > 1]
    if not mixed:
        return "no sample sees another"
    words = [f"segments {members[0]} to {members[-1]}" for members in mixed[:3]]
    more = f" and {len(mixed) - 3} more groups" if len(mixed) > 3 else ""
    return f"{', '.join(words)}{more} can see the ones before them (hatched)"
