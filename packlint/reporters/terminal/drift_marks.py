"""Bars, small histograms and tables in characters, for the comparison of two sides.

Each has its number beside it or a table below it: nothing hangs on colour or on how tall a sign is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packlint.report import Report, RuleStatus
from packlint.reporters.paper import Paper, Piece
from packlint.reporters.signs import SEVERITY_STYLES, severity_sign

__all__ = [
    "SIDES",
    "bar",
    "beside_chance",
    "figure",
    "fine_percent",
    "heading",
    "points",
    "profiles",
    "short",
    "table",
    "tokens_scale",
]

SIDES = (("reference", "reference"), ("packed", "packs"))
"""Both sides: their names in the data, and in words."""

_STYLES = {"reference": "dim", "packed": ""}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = " ▁▂▃▄▅▆▇█"
_ASCII_HEIGHTS = " .:-=+*#@"
_MAX_CELL = 3


def heading(
    paper: Paper, report: Report, title: str, rules: Mapping[str, str], facts: Sequence[str] = ()
) -> None:
    """Write what a part is about, what the rules say of it, and how far both sides are apart.

    Args:
        paper: where to.
        report: the report.
        title: what the part is about.
        rules: codes of the rules that judge it, each with what it must have measured for its finding to be
            about this part; nothing where any finding is.
        facts: distances in words.
    """
    paper.blank()
    paper.line((title, "bold"), *_marks(paper, report, rules), indent=2)
    if facts:
        paper.line((f" {paper.glyphs.dot} ".join(facts), "dim"), indent=2)


def _marks(paper: Paper, report: Report, rules: Mapping[str, str]) -> list[Piece]:
    found: list[Piece] = []
    for finding in report.findings:
        key = rules.get(finding.code)
        if key is not None and (not key or key in finding.measured):
            sign = severity_sign(finding.severity.value, paper.glyphs)
            words = f"{sign} {finding.code} {paper.show(finding.name)}"
            found += ["  ", (words, SEVERITY_STYLES[finding.severity])]
    if found:
        return found
    status = {r.code: r.status for r in report.rules if r.code in rules}
    silent = sorted(code for code, s in status.items() if s is RuleStatus.NOT_CHECKED)
    if silent:
        return ["  ", (f"not checked: {', '.join(silent)}", "dim")]
    is_judged = any(s is not RuleStatus.OFF for s in status.values())
    return ["  ", (f"{paper.glyphs.clean} within limits", "green")] if is_judged else []


def beside_chance(distances: Mapping[str, Any], name: str, weighting: str) -> str:
    """Return a distance by one weighting, and what chance alone gives, where it moves anything."""
    found, null = (distances.get(f"{n}_by_{weighting}", 0.0) for n in (name, f"{name}_null"))
    return f"{found:.2g} by {weighting}" + (f" (chance {null:.1g})" if null else "")


def short(paper: Paper, text: str, most: int) -> str:
    """Return an untrusted text made visible, cut with an ellipsis where it is longer than `most`."""
    shown = paper.show(text[: most + 1])
    ellipsis = paper.glyphs.ellipsis
    return shown if len(shown) <= most else shown[: most - len(ellipsis)] + ellipsis


def figure(number: float) -> str:
    """Return a number in three digits or more."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def points(change: float) -> str:
    """Return a change of a share in percentage points, with its sign."""
    number = 100 * change
    return f"{number:+.1f}" if abs(number) >= 0.05 or not number else f"{number:+.1g}".replace("e-0", "e-")


def fine_percent(share: float) -> str:
    """Return a small share in two digits."""
    return f"{100 * share:.2g}%"


def tokens_scale(number: int) -> str:
    """Return `512`, `1k`, `16k`, `1M`: powers of two as people say them."""
    for size, letter in ((1 << 20, "M"), (1 << 10, "k")):
        if number >= size and number % size == 0:
            return f"{number // size}{letter}"
    return str(number)


def bar(paper: Paper, share: float, largest: float, width: int) -> str:
    """Return a bar of at most `width` columns, filled up with spaces; what is not 0 is seen."""
    filled = min(max(share / largest, 0.0), 1.0) * width if largest > 0 else 0.0
    if not paper.unicode:
        return ("#" * max(round(filled), int(share > 0))).ljust(width)
    full, rest = divmod(max(round(8 * filled), int(share > 0)), 8)
    return ("█" * full + _EIGHTHS[rest].strip()).ljust(width)


def profiles(paper: Paper, edges: Sequence[int], pairs: Mapping[str, Mapping[str, Any]]) -> None:
    """Write two histograms over one scale for each pair, without the bins at the ends that are empty.

    Args:
        paper: where to.
        edges: where bins begin, and where the last ends.
        pairs: shares of the bins by side, by what they are shares of.
    """
    used = [i for p in pairs.values() for side, _ in SIDES for i, share in enumerate(p[side]) if share]
    if not used:
        return
    first, last = min(used), max(used) + 1
    label = max(len(f"{words}, {what}") for what in pairs for _, words in SIDES) + 2
    cell = max(1, min(_MAX_CELL, (paper.width - 4 - label) // (last - first)))
    for what, pair in pairs.items():
        largest = max(max(pair[side]) for side, _ in SIDES)
        for side, words in SIDES:
            drawn = _heights(paper, pair[side][first:last], largest, cell)
            line = f"{words}, {what}".ljust(label) + drawn
            paper.unbroken((line, _STYLES[side]) if _STYLES[side] else line, indent=4)
    paper.unbroken((" " * label + _scale(edges[first:last], cell), "dim"), indent=4)


def _heights(paper: Paper, shares: Sequence[float], largest: float, cell: int) -> str:
    signs = _HEIGHTS if paper.unicode else _ASCII_HEIGHTS
    top = len(signs) - 1
    return "".join(signs[max(round(top * share / largest), int(share > 0))] * cell for share in shares)


def _scale(edges: Sequence[int], cell: int) -> str:
    """Return where bins begin, as many powers of two as stand apart."""
    text = ""
    for place, edge in enumerate(edges):
        if edge & (edge - 1) == 0 and (not text or len(text) + 1 < place * cell):
            text = text.ljust(place * cell) + tokens_scale(edge)
    return text


def table(
    paper: Paper, rows: Sequence[Sequence[str]], *, indent: int, n_text: int = 0, n_heads: int = 1
) -> None:
    """Write rows of cells; columns that do not fit are left out from the right.

    Args:
        paper: where to.
        rows: cells, equally many in each row.
        indent: columns before the first.
        n_text: columns at the end that stand to the left as the first does, not to the right.
        n_heads: rows at the beginning that are heads.
    """
    n_columns = len(rows[0])
    widths = [max(len(row[i]) for row in rows) for i in range(n_columns)]
    is_text = [i == 0 or i >= n_columns - n_text for i in range(n_columns)]
    while n_columns > 2 and indent + sum(widths[:n_columns]) + 2 * (n_columns - 1) > paper.width:
        n_columns -= 1
    for number, row in enumerate(rows):
        cells = (
            cell.ljust(width) if text else cell.rjust(width)
            for cell, width, text in zip(row[:n_columns], widths, is_text, strict=False)
        )
        line = "  ".join(cells).rstrip()
        paper.unbroken((line, "dim") if number < n_heads else line, indent=indent)
