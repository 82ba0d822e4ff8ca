"""How much alike packs of one group are, or packs that follow one another, beyond what shuffling gives.

Of every pack we know some numbers: the shares of its categories, or the mean log length of its samples. If
packs are shuffled, all orders are equally likely, and the expectation of each statistic below is exact:

    grouped      share of the packs' variance that lies between groups, adjusted: 0 when shuffled, 1 when all
                 packs of a group are the same (the adjusted R² of an analysis of variance, epsilon squared)
    neighbours   correlation of a pack with the pack `lag` places on, plus 1 / (n - 1): 0 when shuffled
    mates        as grouped, of samples in packs: what is shuffled are samples, and packs keep their size

All are effect sizes: they do not grow with the number of packs. What chance can do to them shrinks with it.
`noise` is four standard deviations of that: by the quantile of Fisher's F; for neighbours, and where many
groups are small, by the sizes of the terms of the sum too, so that rare categories that meet by chance are no
evidence (sums divided by the root of their squares have light tails, whatever the terms are).

Source: L. Kelley, An unbiased correlation ratio measure, PNAS 21 (1935); W. Bergsma, A bias-correction for
Cramér's V, J. Korean Stat. Soc. 42 (2013); V. de la Peña, T. Lai, Q. Shao, Self-Normalized Processes (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np

from packlint.model.arrays import FloatArray, Int64Array

__all__ = ["Likeness", "Part", "alike", "combine", "grouped", "mates", "neighbours"]

_SIGMAS = 4.0
_MANY_GROUPS, _LARGE_GROUP = 24, 32


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Part:
    """Hold what one number per pack adds to a statistic.

    Args:
        excess: `float64[group]` or `float64[pair]`, sum that lies between groups, or is common to neighbours,
            less what shuffling gives.
        room: what all of `excess` is when packs that belong together are alike.
        variance: variance over all packs.
    """

    excess: FloatArray
    room: float
    variance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Say how much packs that belong together are alike.

    Args:
        fraction: share of the packs' variance that they have in common; about 0 when shuffled, 1 when alike.
        noise: what `fraction` may be by chance.
        between: variance that they have in common, in the unit of the numbers squared.
        n_packs: packs looked at.
        n_groups: groups, or 0 where neighbours were compared.
    """

    fraction: float
    noise: float
    between: float
    n_packs: int
    n_groups: int = 0

    @property
    def is_beyond_chance(self) -> bool:
        """Whether shuffling does not give this."""
        return self.fraction > self.noise


def grouped(values: FloatArray, groups: Int64Array, sizes: Int64Array) -> Part:
    """Compare packs of one group with all packs.

    Args:
        values: `float64[pack]`.
        groups: `int64[pack]`, group of each pack, from 0.
        sizes: `int64[group]`, packs of each group, all positive.
    """
    n = values.size
    off = values - values.mean()
    total = float(off @ off)
    sums = np.bincount(groups, off, minlength=sizes.size)
    by_chance = total * (1 - (sizes - 1) / (n - 1)) / n
    room = total * (n - sizes.size) / (n - 1)
    return Part(excess=sums * sums / sizes - by_chance, room=room, variance=total / n)


def neighbours(values: FloatArray, lag: int = 1) -> Part:
    """Compare every pack with the one `lag` places on.

    Args:
        values: `float64[pack]`, in order.
        lag: places between, less than the number of packs.
    """
    n = values.size
    off = values - values.mean()
    variance = float(off @ off) / n
    excess = off[:-lag] * off[lag:] + variance / (n - 1)
    return Part(excess=excess, room=(n - lag) * variance, variance=variance)


def alike(
    values: FloatArray, compare: Callable[[FloatArray], Part], n_groups: int = 0, n_tests: int = 1
) -> Likeness | None:
    """Return the likeness of one number per pack; none where all packs are the same.

    Evidence comes from ranks too: a few packs that stand far out would drown that of all others.

    Args:
        values: `float64[pack]`, in order.
        compare: `grouped` or `neighbours`.
        n_groups: groups, or 0 where neighbours are compared.
        n_tests: comparisons of which the largest will be looked at.
    """
    n_packs, widen = values.size, sqrt(1 + log(n_tests) / 8)  # the largest of so many normal numbers
    found, ranked = (combine([compare(v)], [1.0], n_packs, n_groups) for v in (values, _ranks(values)))
    if found is None or ranked is None:
        return None
    noise = widen * found.noise
    if ranked.fraction > widen * ranked.noise:
        noise = min(noise, widen * ranked.noise)
    return replace(found, noise=noise)


def _ranks(values: FloatArray) -> FloatArray:
    """Return `float64[pack]`, ranks; equal values share the middle of theirs."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    edges = np.append(np.flatnonzero(np.diff(ordered, prepend=np.nan)), values.size)
    ranks = np.empty(values.size)
    ranks[order] = np.repeat((edges[:-1] + edges[1:] - 1) / 2, np.diff(edges))
    return ranks


def mates(counts: Int64Array, packs: Int64Array, codes: Int64Array) -> Likeness | None:
    """Compare the categories of samples of one pack with all samples; what is shuffled are samples.

    Args:
        counts: `int64[entry]`, samples of a category in a pack.
        packs: `int64[entry]`, the pack.
        codes: `int64[entry]`, the category.
    """
    sizes = np.bincount(packs, counts)
    held = sizes[packs] > 1  # a sample alone has no mates
    counts, packs, codes = counts[held], packs[held], codes[held]
    sizes = np.where(sizes > 1, sizes, 0)
    n, n_packs = float(sizes.sum()), int((sizes > 0).sum())
    per_code = np.bincount(codes, counts)
    freedom = int((per_code > 0).sum()) - 1
    if freedom < 1 or n_packs < 2:
        return None
    squares = np.bincount(packs, counts * counts / (sizes[packs] * per_code[codes] / n), minlength=sizes.size)
    excess = (squares - sizes - freedom * (n - sizes) / (n - 1))[sizes > 0]
    room = freedom * n * (n - n_packs) / (n - 1)
    fraction = float(excess.sum()) / room
    noise = max(_noise(int(n), n_packs), _SIGMAS * sqrt(float(excess @ excess)) / room)
    between = max(fraction, 0.0) * freedom
    return Likeness(fraction=fraction, noise=noise, between=between, n_packs=n_packs, n_groups=n_packs)


def combine(
    parts: Sequence[Part], weights: Sequence[float], n_packs: int, n_groups: int = 0
) -> Likeness | None:
    """Join the numbers of a pack into one likeness; none where all packs are the same.

    Args:
        parts: one per number.
        weights: weight of each; 1 / share for categories makes the sum a chi-squared.
        n_packs: packs looked at, more than groups.
        n_groups: groups, or 0 where neighbours were compared.
    """
    room = sum(w * p.room for p, w in zip(parts, weights, strict=True))
    variance = sum(w * p.variance for p, w in zip(parts, weights, strict=True))
    if room <= 1e-12 * n_packs or variance <= 1e-12:
        return None
    excess = np.sum([w * p.excess for p, w in zip(parts, weights, strict=True)], axis=0)
    fraction = float(np.sum(excess)) / room
    noise = _noise(n_packs, n_groups)
    if n_groups == 0 or (n_groups >= _MANY_GROUPS and n_packs < _LARGE_GROUP * n_groups):
        noise = max(noise, _SIGMAS * sqrt(float(excess @ excess)) / room)
    return Likeness(
        fraction=fraction,
        noise=noise,
        between=max(fraction, 0.0) * variance,
        n_packs=n_packs,
        n_groups=n_groups,
    )


def _noise(n_packs: int, n_groups: int) -> float:
    """Return what normal numbers exceed in 3 of 100,000 cases.

    Of groups that is a quantile of Fisher's F, by E. Paulson's approximation (Ann. Math. Stat. 13, 1942).
    """
    if n_groups == 0:
        return _SIGMAS / sqrt(n_packs)
    k, rest = n_groups - 1, n_packs - n_groups
    a, b, z = 2 / (9 * k), 2 / (9 * rest), _SIGMAS
    steepness = (1 - b) ** 2 - z * z * b
    if steepness <= 0:
        return 1.0
    middle = (1 - a) * (1 - b)
    root = sqrt(middle * middle - steepness * ((1 - a) ** 2 - z * z * a))
    f = ((middle + root) / steepness) ** 3
    return 1 - (n_packs - 1) / (rest + k * f)
