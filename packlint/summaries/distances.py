"""How far two distributions are apart, on histograms: effect sizes, each with what chance alone gives.

With enough samples every test is significant: a 3 % shift of log-length has p = 2e-65 at a million samples.
So there are no p-values here. A distance says how much moved; its `Chance` how far two draws from one
distribution are apart on average (the null), and at most, short of bad luck.

    population stability index    sum (q - p) ln (q / p)      null sum v / p
    Jensen-Shannon, base 2        0 equal, 1 disjoint         null sum v / p / (8 ln 2)
    Wasserstein-1                 sum |F - G|, in tokens      null sqrt(2/pi) sum sqrt(v of F)

*v* is the variance of p - q. For plain samples it is p (1 - p)(1/n + 1/m), and the first null the known
(B - 1)(1/n + 1/m). Weighted by tokens or targets, a few long samples carry a bin, and *v* is larger.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import FloatArray, Int64Array

__all__ = [
    "MIN_SIZE",
    "Chance",
    "Weighted",
    "cramers_v",
    "decile_bins",
    "jensen_shannon",
    "jensen_shannon_chance",
    "jensen_shannon_terms",
    "kolmogorov_smirnov",
    "l_infinity",
    "psi",
    "psi_chance",
    "shares",
    "token_null",
    "wasserstein",
    "wasserstein_chance",
]

BURSTINESS = 4.0
"""How much more the count of an id varies than if tokens were drawn one by one, as words come in bursts."""

_SMOOTHING = 0.5
_PSI_PER_BIT = 8 * math.log(2)
_DEVIATIONS = 4.0
MIN_SIZE = 300.0
"""Effective samples; where fewer carry the weight, one of them can move everything."""
_MAX_EXACT_COUNT = 64
_BRIDGE_DEVIATION = 0.43
"""Deviation over mean of the area below the absolute value of a Brownian bridge."""


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Hold a histogram of samples that have weights.

    Args:
        amounts: `float64[bin]`, sum of the weights.
        squares: `float64[bin]`, sum of their squares.
        is_exact: no draw from more samples but all there are: chance moves nothing.
    """

    amounts: FloatArray
    squares: FloatArray
    is_exact: bool = False

    @classmethod
    def of(cls, counts: Int64Array, weights: Int64Array | None = None) -> Weighted:
        """Return samples of one weight per bin, 1 where left out."""
        wide = counts.astype(np.float64)
        if weights is None:
            return cls(wide, wide)
        return cls(wide * weights, wide * weights * weights)

    @property
    def shares(self) -> FloatArray:
        """`float64[bin]`, of all weight."""
        return shares(self.amounts)

    @property
    def size(self) -> float:
        """How many samples of one weight tell as much: (sum w)^2 / sum w^2."""
        squares = float(self.squares.sum())
        return float(self.amounts.sum()) ** 2 / squares if squares else 0.0

    @property
    def is_judged(self) -> bool:
        """Whether enough samples carry the weight that chance can be told from drift."""
        if self.is_exact or np.array_equal(self.squares, self.amounts):
            return True
        return self.size >= MIN_SIZE

    @property
    def variances(self) -> FloatArray:
        """`float64[bin]`, of the shares, as shares of a drawn sample."""
        return self._variances(self.shares, self.squares)

    @property
    def reach_variances(self) -> FloatArray:
        """`float64[bin]`, of the shares added up from the first bin on."""
        return self._variances(np.cumsum(self.shares), np.cumsum(self.squares))

    def binned(self, first: Int64Array) -> Weighted:
        """Return wider bins that begin at these ones."""
        amounts, squares = (np.add.reduceat(values, first) for values in (self.amounts, self.squares))
        return Weighted(amounts, squares, self.is_exact)

    def exact(self) -> Weighted:
        """Return the same as all samples that there are."""
        return Weighted(self.amounts, self.squares, True)

    def _variances(self, p: FloatArray, squares: FloatArray) -> FloatArray:
        total = float(self.amounts.sum())
        if not total or self.is_exact:
            return np.zeros(p.shape)
        found = (squares * (1 - 2 * p) + p * p * float(self.squares.sum())) / total**2
        return np.maximum(found, 0.0)


def shares(counts: Int64Array | FloatArray) -> FloatArray:
    """Return counts as shares of their sum; all 0 where there is nothing."""
    total = float(counts.sum())
    return np.asarray(counts / total if total else np.zeros(counts.shape), np.float64)


@dataclass(frozen=True, slots=True)
class Chance:
    """Say how far two draws from one distribution are apart.

    Args:
        null: on average.
        most: at most, four deviations above it.
    """

    null: float
    most: float


def psi(reference: Weighted, packed: Weighted) -> float:
    """Return the population stability index; 0 for equal shares.

    A bin that is empty on one side would make it infinite for one missing sample. So half a sample is added
    to each bin of both sides (the rule of Krichevsky and Trofimov): an empty bin is then what it is, fewer
    than about one sample in all, and weighs the more the more samples there are.
    """
    p, q = (
        (side.shares * side.size + _SMOOTHING) / (side.size + _SMOOTHING * side.shares.size)
        for side in (reference, packed)
    )
    return float(np.sum((q - p) * np.log(q / p)))


def psi_chance(reference: Weighted, packed: Weighted) -> Chance:
    """Return how large the index is for two draws from one distribution: a sum of squares, one per bin."""
    middle = (reference.shares + packed.shares) / 2
    used = middle > 0
    squares = (reference.variances + packed.variances)[used] / middle[used]
    null = float(squares.sum())
    return Chance(null, null + _DEVIATIONS * math.sqrt(2 * float(squares @ squares)))


def decile_bins(p: FloatArray) -> Int64Array:
    """Return `int64[bin]`, the first value of each bin: about ten, each holding a tenth of the reference.

    A value of many samples is never cut, so that there may be fewer bins. None is empty in the reference.

    Args:
        p: `float64[value]`, shares of the reference by rising value.
    """
    reached = np.cumsum(p)
    tenths = np.arange(1, 10) / 10
    first = np.searchsorted(reached, tenths - 1e-12) + 1
    rest = reached[-1] - reached[np.minimum(first, p.size) - 1] if p.size else reached
    return np.unique(np.append(0, first[rest > 1e-12]))


def jensen_shannon_terms(p: FloatArray, q: FloatArray) -> FloatArray:
    """Return `float64[bin]`, what each bin adds to the divergence in bits; none is negative."""
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(x > 0, x * np.log2(x / middle), 0.0) for x in (p, q)]
    return np.maximum((terms[0] + terms[1]) / 2, 0.0)


def jensen_shannon(p: FloatArray, q: FloatArray) -> float:
    """Return the divergence in bits: 0 for equal shares, 1 for shares that have nothing in common."""
    return min(float(jensen_shannon_terms(p, q).sum()), 1.0)


def jensen_shannon_chance(reference: Weighted, packed: Weighted) -> Chance:
    """Return how large the divergence is for two draws from one distribution."""
    chance = psi_chance(reference, packed)
    return Chance(min(chance.null / _PSI_PER_BIT, 1.0), min(chance.most / _PSI_PER_BIT, 1.0))


def token_null(reference: Int64Array, packed: Int64Array, burstiness: float = BURSTINESS) -> float:
    """Return the divergence between ids of two draws from one text, given how often each id occurs in both.

    Most ids of a vocabulary are too rare for the formula above: one that occurs once is on one side only. So
    the mean is taken over all ways in which the occurrences of an id may have fallen on the two sides, and
    enlarged for burstiness, up to all of them falling on one side.

    Args:
        reference: `int64[id]`, tokens of the reference.
        packed: `int64[id]`, tokens of the packs.
        burstiness: variance of a count against that of independent tokens.
    """
    n, m = int(reference.sum()), int(packed.sum())
    if not n or not m:
        return 0.0
    times, n_ids = np.unique(reference + packed, return_counts=True)
    means = np.full(times.size, (1 / n + 1 / m) / _PSI_PER_BIT)
    for place, total in enumerate(times.tolist()):
        if total > _MAX_EXACT_COUNT:
            break
        means[place] = _mean_term(total, n, m)
    return float(n_ids @ np.minimum(burstiness * means, times / (n + m)))


def _mean_term(total: int, n: int, m: int) -> float:
    """Return the mean of one id's term over all splits of its occurrences, each falling by chance."""
    k = np.arange(total + 1)
    ways = [math.lgamma(total + 1) - math.lgamma(i + 1) - math.lgamma(total - i + 1) for i in k.tolist()]
    logs = np.array(ways) + k * math.log(n / (n + m)) + (total - k) * math.log(m / (n + m))
    return float(np.exp(logs) @ jensen_shannon_terms(k / n, (total - k) / m))


def l_infinity(p: FloatArray, q: FloatArray) -> float:
    """Return the largest difference between two shares."""
    return float(np.abs(p - q).max(initial=0.0))


def cramers_v(reference: FloatArray | Int64Array, packed: FloatArray | Int64Array) -> float:
    """Return how much the side tells of the category: 0 nothing, 1 all; independent of how many there are."""
    table = np.stack([reference, packed]).astype(np.float64)
    table = table[:, table.sum(axis=0) > 0]
    total = float(table.sum())
    rows = table.sum(axis=1, keepdims=True)
    if table.shape[1] < 2 or not rows.all():
        return 0.0
    expected = rows * table.sum(axis=0, keepdims=True) / total
    return min(math.sqrt(float(((table - expected) ** 2 / expected).sum()) / total), 1.0)


def kolmogorov_smirnov(p: FloatArray, q: FloatArray) -> float:
    """Return the largest difference between two distribution functions."""
    return float(np.abs(np.cumsum(p - q)).max(initial=0.0))


def wasserstein(values: Int64Array, p: FloatArray, q: FloatArray) -> float:
    """Return how far, on average, one distribution has to be moved to become the other.

    Args:
        values: `int64[value]`, rising.
        p: `float64[value]`, shares of the reference.
        q: `float64[value]`, shares of the packs.
    """
    return float(np.abs(np.cumsum(p - q))[:-1] @ np.diff(values)) if values.size else 0.0


def wasserstein_chance(values: Int64Array, reference: Weighted, packed: Weighted) -> Chance:
    """Return how far two draws from one distribution are apart; see `wasserstein`."""
    if not values.size:
        return Chance(0.0, 0.0)
    spread = np.sqrt(reference.reach_variances + packed.reach_variances)
    null = math.sqrt(2 / math.pi) * float(spread[:-1] @ np.diff(values))
    return Chance(null, null * (1 + _DEVIATIONS * _BRIDGE_DEVIATION))
