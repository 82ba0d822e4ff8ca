"""What moved, drawn: one function for each part of `report.drift`, each of which may be missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from packlint.reporters.html.axes import finite
from packlint.reporters.html.charts import Chart, Series, bars, curve, histogram, strip
from packlint.reporters.html.markup import element
from packlint.reporters.html.plain import list_of, numbers_of, plain, rows_of, table_of
from packlint.reporters.signs import percent

__all__ = [
    "SIDES",
    "column_chart",
    "context_chart",
    "distributions",
    "order_charts",
    "quantile_table",
    "weight_chart",
]

SIDES = ("reference", "packed")
_WEIGHTINGS = ("samples", "tokens", "targets")
_MAX_QUANTILES = 12
_VISIBLE = 0.005
Table = Mapping[str, Any]


def column_chart(ident: str, name: str, column: Table) -> Markup | None:
    """Return the shares of each value, weighted three ways."""
    categories = [str(category) for category in list_of(column, "categories")]
    panels = {
        weighting: [Series(side, numbers_of(table_of(column, side), weighting)) for side in SIDES]
        for weighting in _WEIGHTINGS
        if any(list_of(table_of(column, side), weighting) for side in SIDES)
    }
    says = "Share of each value in the reference and in the packs, weighted three ways."
    title = f"Shares by {name}"
    return bars(Chart(ident, title, says, False), categories, panels) if categories and panels else None


def distributions(key: str, title: str, part: Table, first: str) -> Iterator[Markup]:
    """Yield a histogram for each weighting that a part has, but for targets where they are like the tokens.

    Bins at the ends that are empty are left out.

    Args:
        key: name of the part, for ids.
        title: what is distributed.
        part: `edges`, both sides, and the other weightings as tables of both sides.
        first: what the sides of the part itself are weighted by.
    """
    edges = numbers_of(part, "edges")
    drawn: dict[str, list[Series]] = {}
    for what in (first, *(w for w in _WEIGHTINGS if w != first)):
        pair = part if what == first else table_of(part, what)
        series = _series(pair)
        low, high = _used(edges, series)
        if not series or high <= low or (what == "targets" and _are_alike(series, drawn.get("tokens", []))):
            continue
        drawn[what] = series
        shown = [Series(s.name, s.values[low:high]) for s in series]
        chart = Chart(f"{key}-{what}", f"{title}, share of {what}")
        yield histogram(chart, edges[low : high + 1], shown)


def quantile_table(part: Table) -> Markup | None:
    """Return mean and quantiles of both sides."""
    rows = rows_of(part, "quantiles")[:_MAX_QUANTILES]
    means = table_of(part, "means")
    if not rows and not means:
        return None
    names = ["mean", *(f"{100 * finite(row.get('fraction')):g} %" for row in rows)]
    head = element("tr", element("td", ""), *(element("th", n, scope="col", class_="n") for n in names))
    body = [
        element(
            "tr",
            element("th", side, scope="row"),
            element("td", f"{finite(means.get(side)):,.0f}", class_="n"),
            *(element("td", plain(row.get(side, "")), class_="n") for row in rows),
        )
        for side in SIDES
    ]
    table = element("table", element("thead", head), element("tbody", *body))
    label = "Mean and quantiles"
    return element("div", table, class_="scroll", role="region", aria_label=label, tabindex="0")


def context_chart(part: Table) -> Markup | None:
    """Return how much context tokens have of their own sample."""
    lengths, series = numbers_of(part, "lengths"), _series(part)
    says = "Share of tokens that see at least so many tokens of their own sample."
    chart = Chart("context", "Effective context", says, False)
    return curve(chart, lengths, series, is_log=True) if lengths and series else None


def weight_chart(ident: str, name: str, column: Table, by_token: Table) -> Markup | None:
    """Return the part of the loss that each value has: of all tokens, and where packs are averaged.

    Args:
        ident: unique in the page.
        name: name of the column.
        column: `categories` and their shares under a mean over packs.
        by_token: the same column of the packs, weighted by targets.
    """
    categories = [str(category) for category in list_of(column, "categories")]
    shares = numbers_of(table_of(by_token, "packed"), "targets")
    series = [Series("mean over tokens", shares), Series("mean over packs", numbers_of(column, "pack_mean"))]
    chart = Chart(
        ident, f"Part of the loss by {name}", "Averaged over tokens, or over packs of equal weight."
    )
    is_same = [str(category) for category in list_of(by_token, "categories")] == categories
    return bars(chart, categories, {"": series}) if categories and shares and is_same else None


def order_charts(order: Table) -> Iterator[Markup]:
    """Yield strips of what consecutive parts of the data hold: shares of categories, and other numbers."""
    says = "Consecutive parts of the data from left to right; an even row is what shuffling gives."
    categories, shares = list_of(order, "categories"), list_of(order, "shares")
    rows = [
        Series(str(name), [finite(v) for v in values])
        for name, values in zip(categories, shares, strict=False)
        if isinstance(values, list | tuple)
    ]
    if rows:
        yield strip(Chart("order-shares", "Shares along the data", says), rows)
    for i, (name, values) in enumerate(order.items()):
        if name in ("categories", "shares") or not isinstance(values, list | tuple) or not values:
            continue
        words = str(name).replace("_", " ")
        series = [Series(words, [finite(v) for v in values])]
        yield strip(Chart(f"order-{i}", f"{words.capitalize()} along the data", says), series, form=plain)


def share_points(change: float) -> str:
    """Return a change of a share in percentage points."""
    return f"{100 * change:+.3g} points"


def fine(share: float) -> str:
    """Return a share in percent, with more digits where it is small."""
    return f"{100 * share:.3g}%" if 0.001 <= share < 0.1 else percent(share)


def _series(part: Table) -> list[Series]:
    return [Series(side, numbers_of(part, side)) for side in SIDES if list_of(part, side)]


def _are_alike(some: Sequence[Series], others: Sequence[Series]) -> bool:
    """Tell whether all shares are the same, as far as a chart can show it."""
    if len(some) != len(others):
        return False
    pairs = [
        pair for a, b in zip(some, others, strict=True) for pair in zip(a.values, b.values, strict=False)
    ]
    return all(abs(a - b) < _VISIBLE for a, b in pairs)


def _used(edges: Sequence[float], series: Sequence[Series]) -> tuple[int, int]:
    """Return the first bin in which there is something, and one past the last."""
    used = [i for s in series for i, value in enumerate(s.values[: len(edges) - 1]) if value]
    return (min(used), max(used) + 1) if used else (0, 0)
