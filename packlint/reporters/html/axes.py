"""Numbers on axes: where ticks stand and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

__all__ = ["bin_labels", "finite", "folded", "log_place", "short", "ticks"]

_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_MAX_TICKS = 5


def finite(value: object) -> float:
    """Return a number, nothing for what is none: a report may hold holes."""
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return 0.0


def short(value: object) -> str:
    """Return `950`, `8,192`, `65.5k`, `4.1M`; what is no number as it is."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return str(value)
    if not math.isfinite(value):
        return "∞" if value > 0 else str(value)
    if 100 <= abs(value) < 10_000:
        return f"{value:,.0f}"
    for size, unit in _UNITS:
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def ticks(n: int) -> list[int]:
    """Return a few indices out of `n`, the first and the last among them."""
    if n <= _MAX_TICKS:
        return list(range(n))
    return [round(i * (n - 1) / (_MAX_TICKS - 1)) for i in range(_MAX_TICKS)]


def bin_labels(edges: Sequence[float]) -> list[str]:
    """Return one label per bin between edges."""
    return [f"{short(a)} to {short(b)}" for a, b in pairwise(edges)]


def folded(values: Sequence[float], most: int) -> list[float]:
    """Return at most a number of values: means of neighbours, as many in each."""
    size = -(-len(values) // most) if values else 1
    return [sum(values[i : i + size]) / len(values[i : i + size]) for i in range(0, len(values), size)]


def log_place(xs: Sequence[float]) -> list[float]:
    """Return places from 0 to 100 on a logarithmic axis; what is not positive stands at its begin."""
    positive = [finite(x) for x in xs if finite(x) > 0]
    if not positive:
        return [0.0 for _ in xs]
    low, high = math.log(min(positive)), math.log(max(positive))
    span = (high - low) or 1.0
    return [100 * (math.log(finite(x)) - low) / span if finite(x) > 0 else 0.0 for x in xs]
