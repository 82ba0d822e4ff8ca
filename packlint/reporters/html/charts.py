"""Charts as inline SVG: the same bytes for the same numbers, readable without script, colour or much room.

Places along the width are percentages and those along the height pixels, so that a chart fits any width and
its text never scales. Every chart has a name, a description and its data in a table beside it.

bars         shares by category, series side by side, one panel per weighting
stacked      parts of a whole, one bar per row
histogram    distributions over bins
curve        lines over an axis, linear or logarithmic
strip        one row of cells per name: what the order looks like
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from packlint.reporters.html.axes import bin_labels, finite, folded, log_place, short, ticks
from packlint.reporters.html.markup import clip, data_table, element
from packlint.reporters.html.plot import (
    AXIS_HEIGHT,
    N_KINDS,
    PLOT_HEIGHT,
    TOP,
    axis,
    columns,
    grid,
    rect,
    steps,
    stretched,
)
from packlint.reporters.signs import percent

__all__ = ["Chart", "Series", "bars", "curve", "histogram", "stacked", "strip"]

_ROW_HEIGHT, _BAR_HEIGHT, _LABEL_HEIGHT = 6, 9, 17
_FULL_PERCENT = 78
_MAX_CATEGORIES, _MAX_BINS, _MAX_COLUMNS = 12, 80, 96
_MAX_LABEL = 34


@dataclass(frozen=True, slots=True)
class Series:
    """Name some values; a value that is no number counts as nothing."""

    name: str
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Chart:
    """Name a chart.

    Args:
        ident: unique in the page.
        title: what is shown.
        says: what is to be seen, in a sentence or two.
        is_titled: show the title; not where the same stands above already.
    """

    ident: str
    title: str
    says: str = ""
    is_titled: bool = True


def bars(
    chart: Chart,
    categories: Sequence[str],
    panels: Mapping[str, Sequence[Series]],
    form: Callable[[float], str] = percent,
) -> Markup:
    """Return horizontal bars: for each category a bar per series; one panel per weighting, on one scale."""
    top = max((finite(v) for p in panels.values() for s in p for v in s.values), default=0.0) or 1.0
    order = _largest(categories, panels)
    drawn = [
        _panel(chart, name, [(categories[i], i) for i in order], series, top, form)
        for name, series in panels.items()
    ]
    head = ["", *(f"{s.name}, {name}" if name else s.name for name, p in panels.items() for s in p)]
    rows = [
        [category, *(form(_at(s, i)) for p in panels.values() for s in p)]
        for i, category in enumerate(categories)
    ]
    left = len(categories) - len(order)
    more = f"{left:,} smaller ones are in the table" if left else ""
    series = next(iter(panels.values()), ())
    body = element("div", *drawn, class_=f"panels p{len(drawn)}")
    return _figure(
        chart, [s.name for s in series], body, data_table(chart.ident, chart.title, head, rows), more
    )


def stacked(
    chart: Chart, parts: Sequence[str], rows: Sequence[Series], form: Callable[[float], str] = percent
) -> Markup:
    """Return one bar per row, made of the parts of a whole."""
    height = 12 if len(rows) == 1 else _LABEL_HEIGHT
    drawn, y = [], 0
    for row in rows:
        if len(rows) > 1:
            drawn.append(element("text", clip(row.name, _MAX_LABEL), x=0, y=y + 12))
            y += height
        total = sum(finite(value) for value in row.values) or 1.0
        left = 0.0
        for i, value in enumerate(row.values):
            width = 100 * finite(value) / total
            hint = f"{parts[i]}: {form(finite(value))}"
            drawn.append(rect(f"k{i % N_KINDS}", left, y, width, 18, hint))
            left += width
        y += 26
    svg = _svg(chart, drawn, y)
    table = data_table(
        chart.ident, chart.title, ["", *parts], [[r.name, *(form(finite(v)) for v in r.values)] for r in rows]
    )
    return _figure(chart, _shares(parts, rows, form), svg, table, kinds="k")


def histogram(
    chart: Chart,
    edges: Sequence[float],
    series: Sequence[Series],
    form: Callable[[float], str] = percent,
) -> Markup:
    """Return distributions over bins of one width each: the first series as bars, the others as steps."""
    names = bin_labels(edges)
    n_bins = len(names)
    values = [[_at(s, i) for i in range(n_bins)] for s in series]
    shown = [folded(v, _MAX_BINS) for v in values]
    top = max((v for row in shown for v in row), default=0.0) or 1.0
    drawn = grid(top, form)
    for kind, row in enumerate(shown):
        drawn += columns(row, top) if kind == 0 else [steps(row, top, kind)]
    n_shown = len(shown[0]) if shown else n_bins
    at = [(100 * i / max(1, n_bins), short(edges[i])) for i in ticks(len(edges))] if n_shown else []
    svg = _svg(chart, [*drawn, *axis(at)], TOP + PLOT_HEIGHT + AXIS_HEIGHT)
    rows = [[name, *(form(row[i]) for row in values)] for i, name in enumerate(names)]
    head = ["from", *(s.name for s in series)]
    return _figure(chart, [s.name for s in series], svg, data_table(chart.ident, chart.title, head, rows))


def curve(
    chart: Chart,
    xs: Sequence[float],
    series: Sequence[Series],
    form: Callable[[float], str] = percent,
    *,
    is_log: bool = False,
) -> Markup:
    """Return lines; a logarithmic axis begins at the smallest positive place."""
    places = log_place(xs) if is_log else _linear(xs)
    top = max((finite(v) for s in series for v in s.values), default=0.0) or 1.0
    drawn = grid(top, form)
    for kind, s in enumerate(series):
        points = " ".join(f"{10 * x:.1f},{100 - 100 * _at(s, i) / top:.2f}" for i, x in enumerate(places))
        drawn.append(stretched(element("polyline", class_=f"line l{kind % N_KINDS}", points=points)))
    at = [(places[i], short(xs[i])) for i in ticks(len(xs))]
    svg = _svg(chart, [*drawn, *axis(at)], TOP + PLOT_HEIGHT + AXIS_HEIGHT)
    rows = [[short(x), *(form(_at(s, i)) for s in series)] for i, x in enumerate(xs)]
    table = data_table(chart.ident, chart.title, ["", *(s.name for s in series)], rows)
    return _figure(chart, [s.name for s in series], svg, table, kinds="l")


def strip(chart: Chart, rows: Sequence[Series], form: Callable[[float], str] = percent) -> Markup:
    """Return a row of cells per name, darker where the value is larger; long rows are averaged."""
    shown = [(row.name, folded([finite(v) for v in row.values], _MAX_COLUMNS)) for row in rows]
    top = max((v for _, cells in shown for v in cells), default=0.0) or 1.0
    drawn, y = [], 0
    for name, cells in shown[:_MAX_CATEGORIES]:
        drawn.append(element("text", clip(name, _MAX_LABEL), x=0, y=y + 12))
        y += _LABEL_HEIGHT
        width = 100 / max(1, len(cells))
        for i, value in enumerate(cells):
            level = round(8 * max(0.0, value) / top)
            if level:
                drawn.append(rect(f"h{level}", i * width, y, width, 14, form(value)))
        drawn.append(rect("frame", 0, y, 100, 14))
        y += 22
    n_columns = max((len(cells) for _, cells in shown), default=0)
    head = ["", *(str(i) for i in range(n_columns))]
    table = data_table(chart.ident, chart.title, head, [[n, *map(form, cells)] for n, cells in shown])
    return _figure(chart, [], _svg(chart, drawn, y), table, f"darker: more, up to {form(top)}")


def _panel(
    chart: Chart,
    name: str,
    categories: Sequence[tuple[str, int]],
    series: Sequence[Series],
    top: float,
    form: Callable[[float], str],
) -> Markup:
    drawn, y = [], 0
    for category, i in categories:
        drawn.append(element("text", clip(category, _MAX_LABEL), x=0, y=y + 12))
        y += _LABEL_HEIGHT
        for kind, s in enumerate(series):
            value = _at(s, i)
            width = _FULL_PERCENT * value / top
            drawn.append(
                rect(f"b{kind % N_KINDS}", 0, y, max(width, 0.3), _BAR_HEIGHT, f"{s.name}: {form(value)}")
            )
            label = element("text", form(value), x=f"{width + 1.5:.2f}%", y=y + 9, class_="v")
            drawn.append(label)
            y += _BAR_HEIGHT + 2
        y += _ROW_HEIGHT
    named = Chart(chart.ident, f"{chart.title}, {name}" if name else chart.title, chart.says)
    head = (element("p", name, class_="panel"),) if name else ()
    return element("div", *head, _svg(named, drawn, y))


def _largest(categories: Sequence[str], panels: Mapping[str, Sequence[Series]]) -> list[int]:
    """Return the categories to draw, the largest first; all orders are by value, then as given."""
    weight = [
        max((_at(s, i) for p in panels.values() for s in p), default=0.0) for i in range(len(categories))
    ]
    return sorted(range(len(categories)), key=lambda i: (-weight[i], i))[:_MAX_CATEGORIES]


def _figure(
    chart: Chart, names: Sequence[str], body: Markup, table: Markup, note: str = "", kinds: str = "b"
) -> Markup:
    swatches = [element("li", _swatch(kinds, i), name) for i, name in enumerate(names)]
    legend = (element("ul", *swatches, class_="legend"),) if swatches else ()
    says = (element("p", chart.says, class_="says"),) if chart.says else ()
    notes = (element("p", note, class_="dim"),) if note else ()
    title = (element("h3", chart.title),) if chart.is_titled else ()
    caption = (element("figcaption", *title, *says),) if title or says else ()
    return element("figure", *caption, *legend, body, *notes, table, class_="chart", id=chart.ident)


def _swatch(kinds: str, i: int) -> Markup:
    kind = f"{kinds}{i % N_KINDS}"
    if kinds == "l":
        mark = element("line", class_=f"line {kind}", x1=0, y1=6, x2=22, y2=6)
    else:
        mark = element("rect", class_=kind, x=0, y=1, width=22, height=10)
    return element("svg", mark, width=22, height=12, aria_hidden="true", class_="swatch")


def _svg(chart: Chart, drawn: Sequence[Markup], height: int) -> Markup:
    says = f"{chart.title}. {chart.says} The data stand in a table below.".replace("  ", " ")
    return element(
        "svg",
        element("title", chart.title),
        element("desc", chart.says),
        *drawn,
        class_="plot",
        width="100%",
        height=height,
        role="img",
        aria_label=says,
    )


def _shares(parts: Sequence[str], rows: Sequence[Series], form: Callable[[float], str]) -> list[str]:
    if len(rows) != 1:
        return list(parts)
    return [f"{name} {form(finite(value))}" for name, value in zip(parts, rows[0].values, strict=True)]


def _linear(xs: Sequence[float]) -> list[float]:
    low, high = (finite(xs[0]), finite(xs[-1])) if xs else (0.0, 1.0)
    return [100 * (finite(x) - low) / ((high - low) or 1.0) for x in xs]


def _at(series: Series, i: int) -> float:
    return finite(series.values[i]) if i < len(series.values) else 0.0
