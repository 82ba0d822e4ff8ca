"""The pack in outline: segments side by side, padding hatched, the place of the fault marked.

0                                                            192
|   0   |     1     |  2  |        3        |   4   |////////|
                    ▲▲▲▲▲▲▲
"""

from __future__ import annotations

from markupsafe import Markup

from packlint.finding import Layout
from packlint.reporters.html.markup import element
from packlint.reporters.signs import count

__all__ = ["draw_map"]

_HEIGHT, _TOP, _BAR = 40, 5, 17
_LABEL_FRACTION = 0.035


def draw_map(layout: Layout, start: int, stop: int) -> Markup:
    """Return the outline of a pack with tokens `[start, stop)` marked."""
    span = max(1, layout.stop - layout.start)

    def at(token: int) -> float:
        return 100 * (min(max(token, layout.start), layout.stop) - layout.start) / span

    parts = [_bar("whole", 0.0, 100.0)]
    for i, (a, b) in enumerate(layout.segments, layout.first_segment):
        parts.append(_bar(f"seg s{i % 4}", at(a), at(b), _hint(f"segment {i}", a, b)))
    parts += [_bar("pad", at(a), at(b), _hint("padding", a, b)) for a, b in layout.padding]
    parts += _numbers(layout, span)
    low, high = at(start), at(stop)
    width = max(high - low, 0.6)
    low = min(low, 100 - width)
    parts.append(_rect("fault", low, low + width, _TOP - 3, _BAR + 6))
    parts.append(_label(f"{layout.start:,}", "0", "start"))
    parts.append(_label(f"{layout.stop:,}", "100%", "end"))
    says = _description(layout, start, stop)
    return element("svg", *parts, class_="map", width="100%", height=_HEIGHT, role="img", aria_label=says)


def _numbers(layout: Layout, span: int) -> list[Markup]:
    """Return the numbers of the segments that are wide enough for one."""
    labels = []
    for i, (a, b) in enumerate(layout.segments, layout.first_segment):
        if (b - a) / span >= _LABEL_FRACTION:
            middle = 100 * ((a + b) / 2 - layout.start) / span
            labels.append(
                element("text", i, x=f"{middle:.2f}%", y=_TOP + _BAR - 4, text_anchor="middle", class_="no")
            )
    return labels


def _bar(kind: str, low: float, high: float, hint: str = "") -> Markup:
    return _rect(kind, low, high, _TOP, _BAR, hint)


def _rect(kind: str, low: float, high: float, y: int, height: int, hint: str = "") -> Markup:
    title = (element("title", hint),) if hint else ()
    width = f"{max(high - low, 0):.2f}%"
    return element("rect", *title, class_=kind, x=f"{low:.2f}%", y=y, width=width, height=height)


def _label(words: str, x: str, anchor: str) -> Markup:
    return element("text", words, x=x, y=_HEIGHT - 3, text_anchor=anchor, class_="edge")


def _hint(name: str, start: int, stop: int) -> str:
    return f"{name}, tokens {start:,}:{stop:,}"


def _description(layout: Layout, start: int, stop: int) -> str:
    shown = f"tokens {layout.start:,}:{layout.stop:,} of a" if _is_part(layout) else "the"
    parts = [f"Outline of {shown} pack of {layout.n_tokens:,} slots", count(layout.n_segments, "segment")]
    if layout.padding:
        parts.append(f"{sum(b - a for a, b in layout.padding):,} slots of padding")
    return f"{', '.join(parts)}; the fault is at tokens {start:,}:{stop:,}"


def _is_part(layout: Layout) -> bool:
    return layout.stop - layout.start < layout.n_tokens
