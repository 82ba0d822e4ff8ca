"""Shares of the values of a metadata column, by samples, by tokens and by targets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from packlint.model.arrays import BoolArray
from packlint.summaries.composition import CategoryShares, Composition
from packlint.summaries.distances import (
    Weighted,
    cramers_v,
    l_infinity,
)
from packlint.summaries.drift import WEIGHTINGS, settled
from packlint.summaries.drift.sides import TwoSides

__all__ = ["CategoryDrift", "Limits", "Moved", "Vanished", "columns_between", "known_fraction", "vanished"]

_MAX_MOVERS = 3
_DEVIATIONS = 4.0
"""Deviations by which a share must have moved beyond chance; many shares are looked at."""


class Limits(Protocol):
    """Say how far shares may move: see the options of DRF001."""

    @property
    def max_js(self) -> float:
        """Divergence in bits, beyond chance."""

    @property
    def max_move(self) -> float:
        """Difference of two shares, beyond chance."""

    @property
    def max_ratio(self) -> float:
        """Larger share over smaller share, beyond chance, for categories that are not gone."""

    @property
    def min_fraction(self) -> float:
        """Larger share from which the ratio counts."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Say by which weighting a column moved most, and what of it.

    Args:
        weighting: one of `WEIGHTINGS`.
        divergence: Jensen-Shannon divergence in bits.
        n_categories: categories that moved, by any weighting; one where only the whole did.
        movers: places of the categories that moved most.
    """

    weighting: str
    divergence: float
    n_categories: int
    movers: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CategoryDrift(TwoSides):
    """Compare one column.

    Args:
        column: name of the column.
        names: categories of either side, those with most tokens in the reference first.
        reference: figures by weighting.
        packed: figures by weighting.
        known_fractions: share of the tokens whose category is known, in the reference and in the packs.
    """

    column: str
    names: tuple[str, ...]
    known_fractions: tuple[float, float]

    def distances(self, weighting: str) -> dict[str, float]:
        """Return all effect sizes by name."""
        found, chance = self.divergence(weighting)
        p, q = self.shares(weighting)
        sides = self.reference[weighting], self.packed[weighting]
        return {
            "js": found,
            "js_null": chance.null,
            "l_infinity": l_infinity(p, q),
            "cramers_v": cramers_v(*(side.shares * side.size for side in sides)),
        }

    def beyond(self, limits: Limits) -> Moved | None:
        """Return what moved more than is allowed and more than chance moves it, or nothing."""
        found = {w: self.divergence(w) for w in self.judged}
        excess = {w: divergence - chance.most for w, (divergence, chance) in found.items()}
        moved = {w: self._moved(w, limits) for w in found}
        failed = [w for w in found if excess[w] > limits.max_js or moved[w].any()]
        if not failed:
            return None
        worst = max(failed, key=lambda w: found[w][0])
        n_moved = int(np.logical_or.reduce(list(moved.values())).sum())
        p, q = self.shares(worst)
        movers = np.argsort(-np.abs(q - p), kind="stable")[:_MAX_MOVERS]
        return Moved(worst, found[worst][0], max(n_moved, 1), tuple(movers[p[movers] != q[movers]].tolist()))

    def _moved(self, weighting: str, limits: Limits) -> BoolArray:
        p, q = self.shares(weighting)
        variance = self.reference[weighting].variances + self.packed[weighting].variances
        sure = np.abs(q - p) - _DEVIATIONS * np.sqrt(variance)
        larger = np.maximum(p, q)
        has_ratio = (larger >= limits.min_fraction) & (q > 0)
        is_far = (sure > limits.max_move) | (has_ratio & (sure > (1 - 1 / limits.max_ratio) * larger))
        return np.asarray(is_far, np.bool_)


@dataclass(frozen=True, slots=True)
class Vanished:
    """Describe a category of the reference of which the packs have no token.

    Args:
        name: the category.
        n_samples: samples of it in the reference.
        n_tokens: tokens of it in the reference.
        token_fraction: its share of the tokens of the reference.
        n_expected: samples that the packs should have of it, on the safe side: for so many, it is chance that
            they have none with the probability exp(-n). Infinite where nothing is left to chance.
    """

    name: str
    n_samples: int
    n_tokens: int
    token_fraction: float
    n_expected: float


def vanished(drift: CategoryDrift, reference: Composition, packed: Composition) -> list[Vanished]:
    """Return the categories of which the packs have no token, those with most tokens first."""
    before, now = (side.categories[drift.column] for side in (reference, packed))
    scale = math.log1p(now.total("n_samples") / before.total("n_samples"))
    n_tokens = max(before.total("n_tokens"), 1)
    return [
        Vanished(
            name=name,
            n_samples=before.of_name(name, "n_samples"),
            n_tokens=before.of_name(name, "n_tokens"),
            token_fraction=before.of_name(name, "n_tokens") / n_tokens,
            n_expected=math.inf if reference.is_source else before.of_name(name, "n_samples") * scale,
        )
        for name in drift.names
        if before.of_name(name, "n_tokens") and not now.of_name(name, "n_tokens")
    ]


def known_fraction(columns: Sequence[CategoryDrift]) -> float:
    """Return for what part of the tokens of both sides the best known column is known."""
    return max((min(drift.known_fractions) for drift in columns), default=0.0)


def columns_between(reference: Composition, packed: Composition) -> list[CategoryDrift]:
    """Return the comparison of every column that both sides know, by name."""
    shared = sorted(reference.categories.keys() & packed.categories.keys())
    return [found for column in shared if (found := _between(column, reference, packed)) is not None]


def _between(column: str, reference: Composition, packed: Composition) -> CategoryDrift | None:
    sides = reference.categories[column], packed.categories[column]
    if not (sides[0].by_name and sides[1].by_name):
        return None
    names = _ordered(*sides)
    compared = [w for w in WEIGHTINGS if w != "targets" or (reference.has_targets and packed.has_targets)]
    weighted = [{w: _weighted(side, names, w) for w in compared} for side in sides]
    known = [
        min(side.total("n_tokens") / max(whole.n_tokens, 1), 1.0)  # a cut sample is one, its pieces several
        for side, whole in zip(sides, (reference, packed), strict=True)
    ]
    return CategoryDrift(
        column=column,
        names=names,
        reference=settled(reference, weighted[0]),
        packed=settled(reference, weighted[1]),
        known_fractions=(known[0], known[1]),
    )


def _ordered(reference: CategoryShares, packed: CategoryShares) -> tuple[str, ...]:
    def order(name: str) -> tuple[int, int, str]:
        return -reference.of_name(name, "n_tokens"), -packed.of_name(name, "n_tokens"), name

    return tuple(sorted(reference.by_name.keys() | packed.by_name.keys(), key=order))


def _weighted(side: CategoryShares, names: tuple[str, ...], weighting: str) -> Weighted:
    figures = [f"n_{weighting}", "n_samples" if weighting == "samples" else f"n_{weighting}_squared"]
    amounts, squares = (np.array([float(side.of_name(name, f)) for name in names]) for f in figures)
    return Weighted(amounts, amounts if weighting == "samples" else squares)
