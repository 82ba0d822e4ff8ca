"""What charts are drawn of; places are percentages of the width and pixels of the height."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from packlint.reporters.html.markup import element

__all__ = [
    "AXIS_HEIGHT",
    "N_KINDS",
    "PLOT_HEIGHT",
    "TOP",
    "axis",
    "columns",
    "grid",
    "rect",
    "steps",
    "stretched",
]

PLOT_HEIGHT, AXIS_HEIGHT, TOP = 150, 20, 16
"""Pixels of the plot, of the words below it, and of the room above it."""
N_KINDS = 6
"""Fills and lines that the style sheet tells apart."""


def rect(kind: str, x: float, y: float, width: float, height: float, hint: str = "") -> Markup:
    """Return a bar; its hint is shown by the browser over it."""
    title = (element("title", hint),) if hint else ()
    return element(
        "rect", *title, class_=kind, x=f"{x:.2f}%", y=y, width=f"{max(width, 0):.2f}%", height=height
    )


def grid(top: float, form: Callable[[float], str]) -> list[Markup]:
    """Return three lines with their values, inside the plot."""
    drawn = []
    for share in (0.0, 0.5, 1.0):
        y = TOP + PLOT_HEIGHT * (1 - share)
        drawn.append(element("line", class_="grid", x1="0", y1=y, x2="100%", y2=y))
        if share:
            drawn.append(element("text", form(top * share), x=0, y=y - 3, class_="v"))
    return drawn


def axis(places: Sequence[tuple[float, str]]) -> list[Markup]:
    """Return the words below the plot, at percentages of its width."""
    y = TOP + PLOT_HEIGHT + 14
    drawn = []
    for i, (x, words) in enumerate(places):
        anchor = "start" if i == 0 else "end" if i == len(places) - 1 else "middle"
        drawn.append(element("text", words, x=f"{x:.2f}%", y=y, text_anchor=anchor, class_="v"))
    return drawn


def columns(row: Sequence[float], top: float) -> list[Markup]:
    """Return a bar per value, standing on the axis."""
    width = 100 / max(1, len(row))
    drawn = []
    for i, value in enumerate(row):
        height = PLOT_HEIGHT * value / top
        if value:
            drawn.append(rect("b0", i * width, TOP + PLOT_HEIGHT - height, width, height))
    return drawn


def steps(row: Sequence[float], top: float, kind: int) -> Markup:
    """Return the outline of bars, as one line."""
    width = 1000 / max(1, len(row))
    points = ["0,100"]
    for i, value in enumerate(row):
        y = f"{100 - 100 * value / top:.2f}"
        points += [f"{i * width:.1f},{y}", f"{(i + 1) * width:.1f},{y}"]
    return stretched(
        element("polyline", class_=f"line l{kind % N_KINDS}", points=" ".join([*points, "1000,100"]))
    )


def stretched(child: Markup) -> Markup:
    """Return a drawing of 1000 by 100 stretched over the plot, its lines of one width all the same."""
    return element(
        "svg",
        child,
        y=TOP,
        width="100%",
        height=PLOT_HEIGHT,
        viewBox="0 0 1000 100",
        preserveAspectRatio="none",
        overflow="visible",
    )
