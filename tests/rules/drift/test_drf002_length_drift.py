"""DRF002: one distribution is silent at every size, a small shift is no finding, a cut or a split is one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.summaries.composition import Composition
from packlint.summaries.drift import lengths
from packlint_rules.drift.drf002_length_drift import LengthDrift
from tests.rules.drift.samples import composition, draw, judge


def of_lengths(values: np.ndarray) -> Composition:
    found = Composition()
    found.add_samples(np.asarray(values, np.int64))
    return found


@pytest.mark.parametrize("n", [1_000, 100_000, 10_000_000])
def test_another_draw_of_one_distribution_is_silent(n: int) -> None:
    for seed in range(10 if n < 10**6 else 1):
        rng = np.random.default_rng(seed)
        reference, packed = (of_lengths(rng.lognormal(6, 1, n) + 1) for _ in range(2))
        assert judge(LengthDrift, reference, packed) == []


@pytest.mark.parametrize("n", [1_000, 100_000, 1_000_000])
def test_three_per_cent_are_a_figure_and_no_finding(n: int) -> None:
    rng = np.random.default_rng(n)
    reference, packed = of_lengths(rng.lognormal(6, 1, n) + 1), of_lengths(rng.lognormal(6.03, 1, n) + 1)

    assert judge(LengthDrift, reference, packed) == []
    drift = lengths.between(reference, packed)
    assert drift is not None
    move, chance = drift.move("samples")
    assert move == pytest.approx(0.0305 * drift.means("samples")[0], abs=3 * chance.null)


@given(st.integers(0, 99), st.sampled_from([1_000, 30_000]), st.sampled_from([0.5, 0.6, 1.6, 2.0]))
@settings(max_examples=20)
def test_a_planted_factor_is_found_and_measured(seed: int, n: int, factor: float) -> None:
    values = draw(seed, n).lengths
    reference, packed = of_lengths(values), of_lengths(np.rint(values * factor))

    (found,) = judge(LengthDrift, reference, packed)
    assert found.measured["moved_tokens"] == pytest.approx(abs(factor - 1) * values.mean(), abs=0.5)


@given(st.integers(0, 99), st.integers(1, 3000))
@settings(max_examples=20)
def test_the_same_samples_in_any_order_are_silent(seed: int, n: int) -> None:
    drawn = draw(seed, n)
    mixed = drawn.take(np.random.default_rng(seed).permutation(n))

    assert judge(LengthDrift, composition(drawn), composition(mixed)) == []


def test_a_limit_that_takes_long_ends_is_found_by_tokens() -> None:
    values = np.random.default_rng(0).lognormal(6, 1.2, 50_000).astype(np.int64) + 1
    (found,) = judge(LengthDrift, of_lengths(values), of_lengths(np.minimum(values, 4096)))

    assert "those of up to 4,096 tokens hold 100 % of tokens" in found.message
    assert found.measured["psi_by_samples"] == pytest.approx(0, abs=1e-9)
    assert "segments per sample" not in found.message


def test_of_the_very_samples_nothing_is_left_to_chance() -> None:
    values = np.random.default_rng(0).lognormal(6, 1.2, 60).astype(np.int64) + 1
    reference, packed = of_lengths(values), of_lengths(np.minimum(values, 1024))
    assert judge(LengthDrift, reference, packed) == []

    reference.is_source = True
    assert len(judge(LengthDrift, reference, packed)) == 1
    assert judge(LengthDrift, reference, of_lengths(values[::-1])) == []


def test_samples_cut_into_pieces() -> None:
    values = np.full(1000, 900)
    (found,) = judge(LengthDrift, of_lengths(values), of_lengths(np.full(3000, 300)))

    assert "3 segments per sample" in found.message
    assert "samples have 300 tokens on average, 900 in the reference" in found.message


def test_inferred_boundaries_make_it_likely() -> None:
    packed = of_lengths(np.full(1000, 300))
    packed.n_inferred = 1000

    (found,) = judge(LengthDrift, of_lengths(np.full(1000, 900)), packed)
    assert found.confidence is Confidence.LIKELY


def test_without_boundaries_it_is_not_checked() -> None:
    packed = of_lengths(np.full(10, 30))
    packed.n_packs = packed.n_unbounded = 10

    assert LengthDrift().unchecked(of_lengths(np.full(10, 30)), packed)
    assert LengthDrift().unchecked(Composition(), of_lengths(np.full(10, 30)))
    assert list(LengthDrift().judge(packed, packed, None)) == []  # type: ignore[arg-type]


def test_where_a_few_samples_carry_all_tokens_tokens_are_not_judged() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        reference, packed = (of_lengths(200 * rng.pareto(1.1, 2000) + 1) for _ in range(2))

        assert judge(LengthDrift, reference, packed) == []
