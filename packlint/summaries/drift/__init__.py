"""Two compositions side by side: what moved between a reference and the packs made from it.

    sides.py        what comparisons of shares have in common
    categories.py   shares of the values of a metadata column
    lengths.py      lengths of samples
    tokens.py       ids, and special tokens per sample
    positions.py    where in their sample tokens and targets sit
    weights.py      what part of the loss a sample has
    tables.py       all of it as the plain, bounded data of a report

Each has `between(reference, packed)`. All derive from exact counts in a fixed order, so that the same counts
give the same figures to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping

from packlint.summaries.composition import Composition
from packlint.summaries.distances import Weighted

__all__ = ["WEIGHTINGS", "settled"]

WEIGHTINGS = ("samples", "tokens", "targets")
"""By what shares are taken: a sample counts one, its tokens, or its targets."""


def settled(reference: Composition, side: Mapping[str, Weighted]) -> dict[str, Weighted]:
    """Return figures of a side: exact ones where the packs were made from the samples of the reference."""
    return {name: figures.exact() if reference.is_source else figures for name, figures in side.items()}
