"""Numbers of a comparison in words, as findings say them: now, and then in the reference."""

from __future__ import annotations

from packlint.summaries.drift.categories import CategoryDrift, Moved

__all__ = ["category_words", "column_words", "percent", "share_words"]

_MAX_NAME = 40


def percent(share: float) -> str:
    """Return `12.3 %`; small shares keep their digits."""
    return f"{100 * share:.3g} %"


def share_words(packed: float, reference: float, of: str) -> str:
    """Return `12.3 % of tokens, 45.6 % in the reference`."""
    return f"{percent(packed)} of {of}, {percent(reference)} in the reference"


def category_words(drift: CategoryDrift, category: int, weighting: str) -> str:
    """Return what share a category has by one weighting, and in brackets by the others, now / then."""
    p, q = drift.shares(weighting)
    rest = []
    for other in drift.weightings:
        if other != weighting:
            there, here = drift.shares(other)
            rest.append(f"{other} {percent(here[category])} / {percent(there[category])}")
    name = drift.names[category]
    shown = name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"
    new = " (new)" if p[category] == 0 else ""
    return f"{shown}{new} is {share_words(q[category], p[category], weighting)} ({', '.join(rest)})"


def column_words(drift: CategoryDrift, moved: Moved) -> str:
    """Return what of a column moved most, how far the whole moved, and what of it is not known."""
    parts = [category_words(drift, place, moved.weighting) for place in moved.movers]
    least = min(drift.known_fractions)
    known = "" if least == 1 else f"; known of {percent(least)} of samples"
    return f"{drift.column}: {', '.join(parts)}; Jensen-Shannon {moved.divergence:.3g}{known}"
