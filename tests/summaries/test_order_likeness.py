"""Statistics of likeness: closed forms against all permutations, noise against many seeds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.likeness import Likeness, Part, alike, combine, grouped, mates, neighbours

VALUES = st.lists(st.integers(-9, 9), min_size=4, max_size=6)


def mean_over_permutations(values: list[float], statistic: Callable[[np.ndarray], Part]) -> float:
    sums = [float(np.sum(statistic(np.array(order, np.float64)).excess)) for order in permutations(values)]
    return sum(sums) / len(sums)


@given(VALUES, st.lists(st.integers(0, 2), min_size=6, max_size=6))
@settings(max_examples=25)
def test_groups_of_any_size_give_0_on_average(values: list[float], labels: list[int]) -> None:
    groups = np.unique(labels[: len(values)], return_inverse=True)[1]
    sizes = np.bincount(groups)

    assert mean_over_permutations(values, lambda v: grouped(v, groups, sizes)) == pytest.approx(0, abs=1e-9)


@given(VALUES, st.integers(1, 3))
@settings(max_examples=25)
def test_neighbours_give_0_on_average(values: list[float], lag: int) -> None:
    assert mean_over_permutations(values, lambda v: neighbours(v, lag)) == pytest.approx(0, abs=1e-9)


@given(st.lists(st.integers(0, 2), min_size=5, max_size=6), st.integers(2, 4))
@settings(max_examples=25)
def test_mates_give_0_on_average(categories: list[int], n_first: int) -> None:
    sizes = [n_first, len(categories) - n_first]
    fractions = [
        likeness.fraction
        for order in permutations(categories)
        if (likeness := mates_of([list(order[:n_first]), list(order[n_first:])])) is not None
    ]

    if min(sizes) > 1 and len(set(categories)) > 1:
        assert sum(fractions) / len(fractions) == pytest.approx(0, abs=1e-9)
    else:
        assert fractions == []


def mates_of(packs: list[list[int]]) -> Likeness | None:
    entries = [(i, c, pack.count(c)) for i, pack in enumerate(packs) for c in sorted(set(pack))]
    rows, codes, counts = (np.array(column, np.int64) for column in zip(*entries, strict=True))
    return mates(counts, rows, codes)


@given(st.lists(st.integers(-9, 9), min_size=6, max_size=30), st.integers(2, 4))
def test_groups_are_an_adjusted_r_squared(values: list[int], n_groups: int) -> None:
    v = np.array(values, np.float64)
    groups = np.arange(v.size) % n_groups
    sizes = np.bincount(groups)
    likeness = combine([grouped(v, groups, sizes)], [1.0], v.size, n_groups)
    total = sum((x - v.mean()) ** 2 for x in values)
    inside = sum((v[i] - v[groups == groups[i]].mean()) ** 2 for i in range(v.size))

    if total == 0:
        assert likeness is None
    else:
        assert likeness is not None
        expected = 1 - (inside / (v.size - n_groups)) / (total / (v.size - 1))
        assert likeness.fraction == pytest.approx(expected, abs=1e-9)
        assert likeness.between == pytest.approx(max(expected, 0) * total / v.size, abs=1e-9)


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=30), st.integers(1, 3))
def test_neighbours_are_a_correlation(values: list[int], lag: int) -> None:
    v = np.array(values, np.float64)
    likeness = combine([neighbours(v, lag)], [1.0], v.size)
    off = v - v.mean()

    if not np.any(off):
        assert likeness is None
    else:
        assert likeness is not None
        products = [off[i] * off[i + lag] for i in range(v.size - lag)]
        expected = np.mean(products) / np.mean(off**2) + 1 / (v.size - 1)
        assert likeness.fraction == pytest.approx(expected, abs=1e-9)


def test_all_alike_is_1() -> None:
    v = np.repeat([1.0, 5.0, 2.0], 40)
    groups = np.repeat([0, 1, 2], 40)

    likeness = combine([grouped(v, groups, np.bincount(groups))], [1.0], v.size, 3)
    related = mates_of([[0] * 3, [1] * 3, [2] * 3] * 30)

    assert likeness is not None
    assert likeness.fraction == pytest.approx(1)
    assert likeness.is_beyond_chance
    assert related is not None
    assert related.fraction == pytest.approx(1)
    assert related.is_beyond_chance


@given(st.integers(0, 2**32), st.integers(64, 200))
def test_packs_that_stand_out_do_not_hide_the_order_of_all(seed: int, n_packs: int) -> None:
    rising = np.sort(np.random.default_rng(seed).lognormal(0, 1, n_packs))
    rising[-2:] *= 10

    likeness = alike(rising, neighbours)

    assert likeness is not None
    assert likeness.noise < 0.75


@pytest.mark.parametrize("n_packs", [100, 1000])
def test_two_packs_that_stand_out_together_are_no_order(n_packs: int) -> None:
    rng = np.random.default_rng(0)
    beyond = 0
    for _ in range(50):
        values = rng.normal(0, 1e-3, n_packs)
        place = rng.integers(0, n_packs - 1)
        values[place : place + 2] += 9
        likeness = alike(values, neighbours)
        beyond += likeness is not None and likeness.is_beyond_chance

    assert beyond == 0


def test_nothing_to_compare() -> None:
    same = np.ones(8)

    assert combine([neighbours(same)], [1.0], 8) is None
    assert mates_of([[0], [1], [0, 0]]) is None
    assert mates_of([[0, 0], [0, 0]]) is None


@pytest.mark.parametrize("n_packs", [64, 200, 1000])
@pytest.mark.parametrize("rare", [0.5, 0.05, 0.01])
def test_shuffled_packs_stay_within_the_noise(n_packs: int, rare: float) -> None:
    beyond = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        shares = rng.binomial(3, rare, n_packs) / 3
        lengths = rng.lognormal(6, 1.5, n_packs)
        for values in (shares, lengths):
            for size in (1, 4, 16):
                if size == 1:
                    likeness = alike(values, neighbours)
                else:
                    used = n_packs // size * size
                    groups = np.arange(used) // size
                    compare = partial(grouped, groups=groups, sizes=np.bincount(groups))
                    likeness = alike(values[:used], compare, used // size)
                beyond += likeness is not None and likeness.is_beyond_chance and likeness.fraction > 0.04

    assert beyond == 0


@pytest.mark.parametrize("n_categories", [2, 5, 400])
def test_shuffled_samples_stay_within_the_noise(n_categories: int) -> None:
    beyond = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        packs = np.repeat(np.arange(120), rng.integers(1, 12, 120))
        keys = packs * n_categories + rng.integers(0, n_categories, packs.size)
        found, counts = np.unique(keys, return_counts=True)
        likeness = mates(counts, found // n_categories, found % n_categories)
        beyond += likeness is not None and likeness.is_beyond_chance

    assert beyond == 0
