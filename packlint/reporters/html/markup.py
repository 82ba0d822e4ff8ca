"""Markup made in Python: every string is made visible and escaped, every number is written the same way."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from packlint.reporters.untrusted import clipped, visible

__all__ = ["clip", "data_table", "element", "join", "number", "text"]

_EMPTY = frozenset({"rect", "line", "path", "polyline", "polygon", "circle", "use"})


def text(value: object) -> Markup:
    """Return anything as text: markup stays, a string is made visible and escaped."""
    if isinstance(value, Markup):
        return value
    return escape(visible(str(value)))


def clip(value: str, most: int) -> str:
    """Return a string with at most a number of characters, made visible."""
    return clipped(value, most)


def number(value: float) -> str:
    """Return a coordinate with at most two decimals."""
    written = f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return "0" if written == "-0" else written


def join(parts: Iterable[object]) -> Markup:
    """Return the parts end to end."""
    return Markup("").join(text(part) for part in parts)


def element(name: str, *children: object, **attributes: object) -> Markup:
    """Return an element; `class_` is `class`, other underlines are hyphens, none leaves an attribute out."""
    written = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    if name in _EMPTY and not children:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{join(children)}</{name}>")


def data_table(
    ident: str, title: str, head: Sequence[str], rows: Sequence[Sequence[object]], most: int = 200
) -> Markup:
    """Return a table folded in, the first column its head; what is more than `most` rows is counted."""
    columns = element(
        "tr", *(element("th", name, scope="col", class_="n" if i else None) for i, name in enumerate(head))
    )
    body = [
        element(
            "tr", element("th", row[0], scope="row"), *(element("td", cell, class_="n") for cell in row[1:])
        )
        for row in rows[:most]
    ]
    more = f"{len(rows) - most:,} more rows are in the JSON report" if len(rows) > most else ""
    table = element("table", element("thead", columns), element("tbody", *body))
    label = f"Data of {title}"
    region = element("div", table, class_="scroll", role="region", aria_label=label, tabindex="0")
    note = (element("p", more, class_="dim"),) if more else ()
    return element("details", element("summary", "Data"), region, *note, class_="data", id=f"{ident}-data")


def _attribute(key: str, value: object) -> str:
    name = key.rstrip("_").replace("_", "-")
    written = number(value) if isinstance(value, float) else str(value)
    return f' {name}="{escape(visible(written))}"'
