"""Lengths of samples: how far they moved, and at which end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.summaries.composition import Composition
from packlint.summaries.distances import (
    Chance,
    Weighted,
    decile_bins,
    kolmogorov_smirnov,
    psi,
    psi_chance,
    wasserstein,
    wasserstein_chance,
)
from packlint.summaries.drift import WEIGHTINGS, settled
from packlint.summaries.drift.sides import TwoSides
from packlint.summaries.histogram import Histogram

__all__ = ["LengthDrift", "between", "on_common_values"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LengthDrift(TwoSides):
    """Compare the lengths of samples.

    Args:
        lengths: `int64[length]`, those that occur on either side, rising.
        reference: figures of each length by weighting.
        packed: the same of the packs.
    """

    lengths: Int64Array

    def stability(self, weighting: str) -> tuple[float, Chance]:
        """Return the population stability index over deciles of the reference, and what chance gives."""
        first = decile_bins(self.reference[weighting].shares)
        sides = self.reference[weighting].binned(first), self.packed[weighting].binned(first)
        return psi(*sides), psi_chance(*sides)

    def move(self, weighting: str) -> tuple[float, Chance]:
        """Return the Wasserstein distance in tokens, and what chance gives."""
        found = wasserstein(self.lengths, *self.shares(weighting))
        chance = wasserstein_chance(self.lengths, self.reference[weighting], self.packed[weighting])
        return found, chance

    def deviation(self, weighting: str) -> float:
        """Return the standard deviation of the reference in tokens."""
        p = self.reference[weighting].shares
        mean = float(p @ self.lengths)
        return float(np.sqrt(p @ (self.lengths - mean) ** 2))

    def means(self, weighting: str) -> tuple[float, float]:
        """Return the mean length in the reference and in the packs."""
        p, q = self.shares(weighting)
        return float(p @ self.lengths), float(q @ self.lengths)

    def quantiles(self, weighting: str, fractions: tuple[float, ...]) -> list[tuple[int, int]]:
        """Return the lengths that these fractions do not exceed, in the reference and in the packs."""
        reached = [np.cumsum(side) for side in self.shares(weighting)]
        last = self.lengths.size - 1
        places = [np.minimum(np.searchsorted(r, np.array(fractions) - 1e-12), last) for r in reached]
        return [(int(self.lengths[a]), int(self.lengths[b])) for a, b in zip(*places, strict=True)]

    def widest(self, weighting: str) -> tuple[int, float, float]:
        """Return the length up to which the shares differ most, and the share up to it on both sides."""
        p, q = (np.cumsum(side) for side in self.shares(weighting))
        place = int(np.argmax(np.abs(p - q)))
        return int(self.lengths[place]), float(p[place]), float(q[place])

    def distances(self, weighting: str) -> dict[str, float]:
        """Return all effect sizes by name; `wasserstein` is in tokens."""
        stability, chance = self.stability(weighting)
        move, move_chance = self.move(weighting)
        deviation = self.deviation(weighting)
        return {
            "psi": stability,
            "psi_null": chance.null,
            "wasserstein": move,
            "wasserstein_null": move_chance.null,
            "wasserstein_relative": move / deviation if deviation else 0.0,
            "ks": kolmogorov_smirnov(*self.shares(weighting)),
        }


def between(reference: Composition, packed: Composition) -> LengthDrift | None:
    """Return the comparison; none where a side has no samples, or nothing records where they begin."""
    if not (reference.n_samples and packed.n_samples and reference.has_samples and packed.has_samples):
        return None
    lengths, counts = on_common_values(reference.lengths, packed.lengths)
    sides: list[dict[str, Weighted]] = [
        {"samples": Weighted.of(n), "tokens": Weighted.of(n, lengths)} for n in counts
    ]
    if reference.has_targets and packed.has_targets:
        for side, whole, n in zip(sides, (reference, packed), counts, strict=True):
            side["targets"] = _by_targets(whole, lengths, n)
    order = [w for w in WEIGHTINGS if all(w in side and side[w].amounts.any() for side in sides)]
    return LengthDrift(
        lengths=lengths,
        reference=settled(reference, {w: sides[0][w] for w in order}),
        packed=settled(reference, {w: sides[1][w] for w in order}),
    )


def on_common_values(one: Histogram, other: Histogram) -> tuple[Int64Array, tuple[Int64Array, Int64Array]]:
    """Return `int64[value]`, the numbers that occur on either side, and how often they do on each."""
    arrays = one.arrays(), other.arrays()
    values = np.union1d(arrays[0][0], arrays[1][0])
    return values, (_spread(values, *arrays[0]), _spread(values, *arrays[1]))


def _spread(values: Int64Array, numbers: Int64Array, counts: Int64Array) -> Int64Array:
    found = np.zeros(values.size, np.int64)
    found[np.searchsorted(values, numbers)] = counts
    return found


def _by_targets(side: Composition, lengths: Int64Array, n_samples: Int64Array) -> Weighted:
    """Return targets by length; within a length, samples are taken to have equally many."""
    numbers, targets = side.targets_by_length.arrays()
    amounts = _spread(lengths, numbers, targets).astype(np.float64)
    return Weighted(amounts, amounts * amounts / np.maximum(n_samples, 1))
