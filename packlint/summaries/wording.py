"""Figures in words, as messages of rules about samples have them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.model.metadata import Categories

__all__ = ["categories_of", "lengths_of", "number_of_copies", "share_of"]

_MAX_NAMED = 3


def share_of(part: int, whole: int) -> str:
    """Return a share in percent, never rounded to 0 or 100 where it is not."""
    if whole == 0 or part in (0, whole):
        return "0 %" if part == 0 else "100 %"
    percent = 100 * part / whole
    if percent < 0.01:
        return "< 0.01 %"
    return "> 99.9 %" if percent > 99.9 else f"{percent:.3g} %"


def number_of_copies(n: int, what: str) -> str:
    """Return how many things are copies, as the beginning of a sentence."""
    return f"1 {what} is a copy" if n == 1 else f"{n:,} {what}s are copies"


def lengths_of(n_tokens: Int64Array) -> str:
    """Return smallest, median and largest length."""
    low, high = int(n_tokens.min()), int(n_tokens.max())
    if low == high:
        return f"{low:,} tokens each" if n_tokens.size > 1 else f"{low:,} tokens"
    return f"{low:,} to {high:,} tokens, median {int(np.median(n_tokens)):,}"


def categories_of(metadata: Mapping[str, Categories], which: Int64Array) -> list[str]:
    """Return for each column the values that some samples have, the most frequent first."""
    told = []
    for name, column in sorted(metadata.items()):
        codes = column.codes[which]
        counts = np.bincount(codes[codes >= 0], minlength=len(column.names))
        order = [int(i) for i in np.argsort(-counts, kind="stable") if counts[i]]
        if order:
            more = f" and {len(order) - _MAX_NAMED:,} more" if len(order) > _MAX_NAMED else ""
            told.append(
                f"{name}: " + ", ".join(f"{column.names[i]} {counts[i]:,}" for i in order[:_MAX_NAMED]) + more
            )
    return told
