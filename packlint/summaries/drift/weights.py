"""What part of the loss a sample has: by targets, as a mean over tokens gives it, and by packs.

    mean over tokens    a sample weighs as many times as it has targets
    mean over packs     each pack weighs the same; its targets share that, few of them weigh much
    mean over samples   each sample weighs the same, as in training without packing, a row a sample

Source: LongAlign, arXiv:2401.18058, on what packing does to the weights of samples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import FloatArray
from packlint.summaries.composition import Composition
from packlint.summaries.distances import MIN_SIZE
from packlint.summaries.drift.categories import CategoryDrift, columns_between
from packlint.summaries.histogram import Histogram

__all__ = [
    "PackWeights",
    "SampleWeights",
    "Unexplained",
    "WeightDrift",
    "between",
    "pack_shares",
    "unexplained",
]

_DEVIATIONS = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleWeights:
    """Describe how unequal samples are under a mean over tokens.

    Args:
        n_samples: samples that have targets.
        cv: standard deviation of their targets over the mean.
        effective_fraction: effective sample size over samples: 1 where all weigh the same.
        error: deviation of the logarithm of `effective_fraction` over draws of the data.
    """

    n_samples: int
    cv: float
    effective_fraction: float
    error: float

    @classmethod
    def of(cls, targets: Histogram) -> SampleWeights | None:
        """Return the weights of samples with these targets; none without a target."""
        numbers, counts = targets.arrays()
        kept = numbers > 0
        numbers, counts = numbers[kept].astype(np.float64), counts[kept].astype(np.float64)
        if not counts.size:
            return None
        n = float(counts.sum())
        relative = numbers * n / float(counts @ numbers)
        second = float(counts @ relative**2) / n
        influence = 2 * relative - relative**2 / second
        variance = float(counts @ (influence - 1) ** 2) / n
        return cls(
            n_samples=int(n),
            cv=math.sqrt(max(second - 1, 0.0)),
            effective_fraction=min(1 / second, 1.0),
            error=math.sqrt(variance / n),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PackWeights:
    """Describe what a mean over packs does beside a mean over tokens.

    Args:
        n_packs: packs that have targets.
        n_without: packs without; their mean is 0 / 0.
        cv: deviation of what a token weighs over its mean, over packs.
        effective_fraction: effective number of packs over packs.
        least: what a token of the pack with most targets weighs, 1 being the mean over tokens.
        most: the same of the pack with fewest.
        moved_fraction: part of the loss that lies elsewhere than under a mean over tokens.
    """

    n_packs: int
    n_without: int
    cv: float
    effective_fraction: float
    least: float
    most: float
    moved_fraction: float

    @classmethod
    def of(cls, targets: Histogram) -> PackWeights | None:
        """Return the weights of packs with these targets; none without a target."""
        numbers, counts = targets.arrays()
        kept = numbers > 0
        n_without = int(counts[~kept].sum())
        numbers, counts = numbers[kept], counts[kept].astype(np.float64)
        if not counts.size:
            return None
        n = float(counts.sum())
        weights = (float(counts @ numbers) / n) / numbers
        mean, second = (float(counts @ weights**power) / n for power in (1, 2))
        parts = counts @ np.abs(1 / weights - 1)
        return cls(
            n_packs=int(n),
            n_without=n_without,
            cv=math.sqrt(max(second / mean**2 - 1, 0.0)),
            effective_fraction=min(mean**2 / second, 1.0),
            least=float(weights[-1]),
            most=float(weights[0]),
            moved_fraction=float(parts) / n / 2,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightDrift:
    """Compare the weights of samples.

    Args:
        reference: samples of the reference.
        packed: samples of the packs.
        packs: packs.
        is_exact: chance moves nothing.
    """

    reference: SampleWeights
    packed: SampleWeights
    packs: PackWeights
    is_exact: bool = False

    @property
    def change(self) -> float:
        """Effective sample size of the packs over that of the reference, both per sample."""
        return self.packed.effective_fraction / self.reference.effective_fraction

    @property
    def sure_change(self) -> float:
        """The change as a factor from 1 on, less what chance gives; 1 where a few samples carry the loss."""
        if self.is_exact:
            return max(self.change, 1 / self.change)
        if min(side.n_samples * side.effective_fraction for side in (self.reference, self.packed)) < MIN_SIZE:
            return 1.0
        error = _DEVIATIONS * math.hypot(self.reference.error, self.packed.error)
        return math.exp(max(abs(math.log(self.change)) - error, 0.0))


def between(reference: Composition, packed: Composition) -> WeightDrift | None:
    """Return the comparison; none where a side does not say which tokens are targets, or has none."""
    sides = reference, packed
    if not all(side.has_targets and side.has_samples for side in sides):
        return None
    samples = [SampleWeights.of(side.targets) for side in sides]
    packs = PackWeights.of(packed.pack_targets)
    if samples[0] is None or samples[1] is None or packs is None:
        return None
    return WeightDrift(reference=samples[0], packed=samples[1], packs=packs, is_exact=reference.is_source)


def pack_shares(drift: CategoryDrift, packed: Composition) -> FloatArray | None:
    """Return `float64[category]`, parts of the loss under a mean over packs; none where nobody knows."""
    side = packed.categories[drift.column]
    amounts = np.array([float(side.of_name(name, "n_pack_shares")) for name in drift.names])
    total = float(amounts.sum())
    return amounts / total if total and "targets" in drift.weightings else None


@dataclass(frozen=True, slots=True)
class Unexplained:
    """Describe a category whose part of the loss neither its samples nor its targets explain.

    Args:
        column: name of the column.
        name: the category.
        share: its part of the loss under a mean over packs.
        least: its smallest share by samples or by targets, on either side.
        most: its largest.
    """

    column: str
    name: str
    share: float
    least: float
    most: float

    @property
    def excess(self) -> float:
        """How far the part lies outside."""
        return max(self.share - self.most, self.least - self.share)


def unexplained(reference: Composition, packed: Composition, max_move: float) -> list[Unexplained]:
    """Return categories whose part of the loss under a mean over packs lies outside, the farthest first.

    Args:
        reference: what the packs were made from.
        packed: the packs.
        max_move: how far it may lie outside, beyond what as many packs drawn by chance give.
    """
    found = []
    for drift in columns_between(reference, packed):
        parts = pack_shares(drift, packed)
        if parts is None:
            continue
        sides = np.stack([*drift.shares("samples"), *drift.shares("targets")])
        n_packs = math.inf if reference.is_source else max(packed.pack_targets.total, 1)
        errors = np.sqrt(parts * (1 - parts) / n_packs)
        for name, part, low, high, error in zip(
            drift.names, parts, sides.min(axis=0), sides.max(axis=0), errors, strict=True
        ):
            one = Unexplained(drift.column, name, float(part), float(low), float(high))
            if one.excess > max_move + _DEVIATIONS * error:
                found.append(one)
    return sorted(found, key=lambda one: (-one.excess, one.column, one.name))
