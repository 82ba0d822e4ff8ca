"""A share as a small bar, for tables."""

from __future__ import annotations

from markupsafe import Markup

from packlint.reporters.html.markup import element

__all__ = ["meter", "seesaw"]


def meter(share: float) -> Markup:
    """Return a bar of a share of its width; the number stands beside it."""
    width = f"{100 * min(max(share, 0.0), 1.0):.2f}%"
    bar = element("rect", class_="b1", x=0, y=0, width=width, height=10)
    frame = element("rect", class_="frame", x=0, y=0, width="100%", height=10)
    return element("svg", bar, frame, class_="meter", width="100%", height=10, aria_hidden="true")


def seesaw(value: float, most: float) -> Markup:
    """Return a bar to the right of the middle for more, to the left for less."""
    width = 50 * min(abs(value) / most, 1.0) if most else 0.0
    left = 50.0 if value >= 0 else 50 - width
    kind = "b1" if value >= 0 else "b0"
    bar = element("rect", class_=kind, x=f"{left:.2f}%", y=0, width=f"{width:.2f}%", height=10)
    middle = element("line", class_="grid", x1="50%", x2="50%", y1=0, y2=10)
    return element("svg", bar, middle, class_="meter", width="100%", height=10, aria_hidden="true")
