"""Distances against scipy and sums made one by one; nulls against draws; the large-sample demonstration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.distances import (
    Weighted,
    cramers_v,
    decile_bins,
    jensen_shannon,
    jensen_shannon_chance,
    jensen_shannon_terms,
    kolmogorov_smirnov,
    l_infinity,
    psi,
    psi_chance,
    shares,
    token_null,
    wasserstein,
    wasserstein_chance,
)

spatial: Any = pytest.importorskip("scipy.spatial")
stats: Any = pytest.importorskip("scipy.stats")

COUNTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=30).filter(
    lambda pairs: any(a for a, _ in pairs) and any(b for _, b in pairs)
)


def sides(pairs: list[tuple[int, int]]) -> tuple[Any, Any]:
    return np.array([a for a, _ in pairs]), np.array([b for _, b in pairs])


@given(COUNTS)
@settings(max_examples=200)
def test_jensen_shannon_is_scipys(pairs: list[tuple[int, int]]) -> None:
    a, b = sides(pairs)
    p, q = shares(a), shares(b)

    assert jensen_shannon(p, q) == pytest.approx(spatial.distance.jensenshannon(p, q, 2) ** 2, abs=1e-12)
    assert (jensen_shannon_terms(p, q) >= 0).all()
    assert jensen_shannon(p, q) == pytest.approx(jensen_shannon(q, p))


@given(COUNTS)
@settings(max_examples=200)
def test_wasserstein_and_kolmogorov_smirnov_are_scipys(pairs: list[tuple[int, int]]) -> None:
    a, b = sides(pairs)
    values = np.arange(a.size) ** 2 + 1
    raw = np.repeat(values, a), np.repeat(values, b)

    assert wasserstein(values, shares(a), shares(b)) == pytest.approx(
        stats.wasserstein_distance(*raw), abs=1e-9
    )
    assert kolmogorov_smirnov(shares(a), shares(b)) == pytest.approx(
        stats.ks_2samp(*raw, method="asymp").statistic, abs=1e-12
    )


@given(COUNTS)
@settings(max_examples=200)
def test_cramers_v_is_scipys(pairs: list[tuple[int, int]]) -> None:
    a, b = sides([pair for pair in pairs if sum(pair)])

    wanted = stats.contingency.association(np.stack([a, b]), method="cramer") if a.size > 1 else 0.0
    assert cramers_v(a, b) == pytest.approx(0.0 if math.isnan(wanted) else wanted, abs=1e-12)


@given(COUNTS)
@settings(max_examples=100)
def test_equal_sides_are_not_apart(pairs: list[tuple[int, int]]) -> None:
    a, _ = sides(pairs)
    once, thrice = Weighted.of(a), Weighted.of(3 * a)
    values = np.arange(a.size)

    assert psi(once, once) == jensen_shannon(once.shares, thrice.shares) == 0
    assert wasserstein(values, once.shares, thrice.shares) == pytest.approx(0, abs=1e-12)
    assert l_infinity(once.shares, thrice.shares) == cramers_v(a, a) == 0


def test_disjoint_sides_are_as_far_as_can_be() -> None:
    a, b = np.array([5, 5, 0]), np.array([0, 0, 7])

    assert jensen_shannon(shares(a), shares(b)) == 1
    assert cramers_v(a, b) == pytest.approx(1)
    assert l_infinity(shares(a), shares(b)) == 1
    assert wasserstein(np.array([1, 2, 100]), shares(a), shares(b)) == 98.5


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60).filter(any))
@settings(max_examples=200)
def test_deciles_cut_between_values_and_none_is_empty(counts: list[int]) -> None:
    p = shares(np.array(counts))
    first = decile_bins(p)

    assert first[0] == 0
    assert (np.diff(first) > 0).all()
    assert first.size <= 10
    assert (np.add.reduceat(p, first) > 0).all()


def test_deciles_of_many_values_hold_a_tenth_each() -> None:
    counts = np.ones(1000, np.int64)

    assert np.diff(decile_bins(shares(counts))).tolist() == [100] * 9


def test_a_value_of_many_samples_is_one_bin() -> None:
    assert decile_bins(shares(np.array([1, 97, 2]))).tolist() == [0, 2]


def test_psi_is_its_formula_for_many_samples() -> None:
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.25, 0.3, 0.45])
    n = 10**12

    found = psi(Weighted.of((p * n).astype(np.int64)), Weighted.of((q * n).astype(np.int64)))
    assert found == pytest.approx(float(((q - p) * np.log(q / p)).sum()), rel=1e-6)


@pytest.mark.parametrize("n", [100, 10_000, 1_000_000])
def test_an_empty_bin_is_finite_and_weighs_with_the_samples(n: int) -> None:
    full, empty = np.full(10, n // 10), np.array([n // 9] * 9 + [0])

    index = psi(Weighted.of(full), Weighted.of(empty))
    assert index == pytest.approx(0.1 * math.log(0.2 * n), rel=0.2)


def test_nulls_of_plain_samples_are_the_known_formulas() -> None:
    a, b = Weighted.of(np.full(10, 400)), Weighted.of(np.full(10, 200))

    assert psi_chance(a, b).null == pytest.approx(9 * (1 / 4000 + 1 / 2000))
    assert jensen_shannon_chance(a, b).null == pytest.approx(9 * (1 / 4000 + 1 / 2000) / (8 * math.log(2)))
    assert a.size == 4000


def test_effective_size_of_weighted_samples() -> None:
    weights, counts = np.array([1, 10]), np.array([90, 10])
    raw = np.repeat(weights, counts)

    assert Weighted.of(counts, weights).size == pytest.approx(raw.sum() ** 2 / (raw**2).sum())


@pytest.mark.parametrize("is_weighted", [False, True])
def test_nulls_are_what_draws_give(is_weighted: bool) -> None:
    rng = np.random.default_rng(0)
    n, m, n_draws = 3000, 2000, 200
    values = np.arange(1, 2001)
    indices, divergences, moves = [], [], []
    nulls, most = [], []
    for _ in range(n_draws):
        drawn = [
            np.bincount(np.clip(rng.lognormal(4.5, 0.9, size), 1, 2000).astype(np.int64) - 1, minlength=2000)
            for size in (n, m)
        ]
        a, b = (Weighted.of(counts, values if is_weighted else None) for counts in drawn)
        first = decile_bins(a.shares)
        binned = a.binned(first), b.binned(first)
        indices.append(psi(*binned))
        divergences.append(jensen_shannon(*(side.shares for side in binned)))
        moves.append(wasserstein(values, a.shares, b.shares))
        chances = psi_chance(*binned), jensen_shannon_chance(*binned), wasserstein_chance(values, a, b)
        nulls.append([chance.null for chance in chances])
        most.append([chance.most for chance in chances])
    found = np.array([indices, divergences, moves]).T

    assert found.mean(axis=0) == pytest.approx(np.mean(nulls, axis=0), rel=0.12)
    assert (found > np.array(most)).mean() < 0.02


def test_the_null_of_rare_ids_is_what_draws_give() -> None:
    rng = np.random.default_rng(1)
    weights = 1 / np.arange(1, 20_001)
    found, wanted = [], []
    for _ in range(20):
        a, b = (rng.multinomial(n, weights / weights.sum()) for n in (30_000, 10_000))
        found.append(jensen_shannon(shares(a), shares(b)))
        wanted.append(token_null(a, b, burstiness=1.0))

    assert np.mean(found) == pytest.approx(np.mean(wanted), rel=0.02)


def test_no_tokens_have_no_null() -> None:
    assert token_null(np.zeros(3, np.int64), np.ones(3, np.int64)) == 0


@pytest.mark.parametrize("n", [1_000, 100_000, 1_000_000])
def test_a_shift_of_three_per_cent_has_one_size_and_any_p(n: int) -> None:
    """Sizes say the same at every n; a test says nothing at first, and then everything."""
    rng = np.random.default_rng(5)
    a = rng.lognormal(6, 1, n).astype(np.int64) + 1
    b = rng.lognormal(6.03, 1, n).astype(np.int64) + 1
    values = np.arange(max(a.max(), b.max()) + 1)
    p, q = (Weighted.of(np.bincount(x, minlength=values.size)) for x in (a, b))
    first = decile_bins(p.shares)
    deviation = float(a.std())
    bins = p.binned(first), q.binned(first)

    assert psi(*bins) - psi_chance(*bins).most < 0.001
    assert wasserstein(values, p.shares, q.shares) < 0.1 * deviation
    if n == 1_000_000:
        assert stats.ks_2samp(a, b).pvalue < 1e-50
        shift = wasserstein(values, p.shares, q.shares)
        error = wasserstein_chance(values, p, q).null
        assert shift == pytest.approx(math.expm1(0.03) * float(a.mean()), abs=2 * error)
