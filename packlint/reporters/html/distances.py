"""How far two sides are apart, as a table: a measure a row, a weighting a column, chance beside each.

                     by samples          by tokens           by targets
Jensen-Shannon       0.035 chance 0.002  0.12 chance 0.003   0.12 chance 0.003
largest move         9.7 points          23 points           23 points
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from packlint.reporters.html.axes import finite
from packlint.reporters.html.markup import element

__all__ = ["distance_table"]

_MEASURES = {
    "js": "Jensen-Shannon divergence",
    "js_within": "the same within one side",
    "psi": "population stability index",
    "l_infinity": "largest move of a share",
    "cramers_v": "Cramér's V",
    "wasserstein": "moved by, in tokens",
    "wasserstein_relative": "moved by, in deviations",
    "ks": "largest gap of summed shares",
}
_KEY = re.compile(r"(?P<measure>.+?)(?P<null>_null)?(?:_by_(?P<by>\w+))?")
_SHARES = frozenset({"l_infinity", "ks"})


def distance_table(distances: Mapping[str, Any], title: str) -> Markup | None:
    """Return the table, or none where nothing was measured.

    Args:
        distances: numbers by name: `js_by_tokens`, `js_null_by_tokens` (what chance alone gives), `js`.
        title: what the table is about, for those who do not see it.
    """
    cells: dict[tuple[str, str], float] = {}
    chance: dict[tuple[str, str], float] = {}
    for name, value in distances.items():
        found = _KEY.fullmatch(str(name))
        if found and isinstance(value, int | float) and not isinstance(value, bool):
            place = found["measure"], found["by"] or ""
            (chance if found["null"] else cells)[place] = finite(value)
    if not cells:
        return None
    columns = list(dict.fromkeys(by for _, by in cells))
    head = element("tr", element("td", ""), *(_head(by) for by in columns))
    rows = [
        element(
            "tr",
            element("th", _MEASURES.get(measure, measure.replace("_", " ")), scope="row"),
            *(_cell(measure, cells.get((measure, by)), chance.get((measure, by))) for by in columns),
        )
        for measure in dict.fromkeys(measure for measure, _ in cells)
    ]
    heads = (element("thead", head),) if any(columns) else ()
    table = element("table", *heads, element("tbody", *rows), class_="distances")
    label = f"How far both sides are apart: {title}"
    return element("div", table, class_="scroll", role="region", aria_label=label, tabindex="0")


def _head(by: str) -> Markup:
    return element("th", f"by {by}" if by else "value", scope="col", class_="n")


def _cell(measure: str, value: float | None, chance: float | None) -> Markup:
    if value is None:
        return element("td", "", class_="n")
    beside = (" ", element("small", f"chance {chance:.2g}")) if chance else ()
    return element("td", _written(measure, value), *beside, class_="n")


def _written(measure: str, value: float) -> str:
    if measure in _SHARES:
        return f"{100 * value:.3g} points"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}" if abs(value) >= 0.01 else f"{value:.2g}"
