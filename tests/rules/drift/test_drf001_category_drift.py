"""DRF001: equal mixtures are silent at every size; planted shifts are found, by the right weighting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.summaries.composition import Composition
from packlint.summaries.shares import CategoryShares
from packlint_rules.drift.drf001_category_drift import CategoryDrift
from tests.rules.drift.samples import composition, draw, judge


def mixture(**shares: tuple[int, int]) -> Composition:
    """Return so many samples and tokens of each category, all samples of one length."""
    found = Composition()
    for n, tokens in shares.values():
        found.add_samples(np.full(n, tokens // n if n else 0))
    found.categories["domain"] = CategoryShares(
        {name: (n, t, 0, t * t // max(n, 1), 0, 0) for name, (n, t) in shares.items()}
    )
    return found


@pytest.mark.parametrize("n", [1_000, 30_000, 1_000_000])
def test_another_draw_of_one_mixture_is_silent(n: int) -> None:
    for seed in range(10 if n < 10**6 else 1):
        reference, packed = draw(seed, n), draw(seed + 100, n)
        assert judge(CategoryDrift, composition(reference), composition(packed)) == []


@given(st.integers(0, 999), st.integers(1, 2000))
@settings(max_examples=20)
def test_the_same_samples_in_any_order_are_silent(seed: int, n: int) -> None:
    drawn = draw(seed, n)
    mixed = drawn.take(np.random.default_rng(seed).permutation(n))

    assert judge(CategoryDrift, composition(drawn), composition(mixed)) == []


@given(st.integers(0, 7), st.integers(0, 99))
@settings(max_examples=20)
def test_a_category_that_lost_most_of_its_samples_is_named(category: int, seed: int) -> None:
    drawn = draw(seed, 40_000)
    rng = np.random.default_rng([seed, 1])
    kept = (drawn.codes != category) | (rng.random(drawn.codes.size) < 0.3)

    (found,) = judge(CategoryDrift, composition(drawn), composition(drawn.take(kept)))
    assert f"domain-{category} is " in found.message
    assert found.n_hits >= 1
    assert found.confidence is Confidence.CERTAIN


@given(st.integers(0, 99), st.integers(20, 200))
@settings(max_examples=20)
def test_of_the_very_samples_nothing_is_left_to_chance(seed: int, n: int) -> None:
    drawn = draw(seed, n)
    reference = composition(drawn, is_source=True)
    lost = drawn.take((drawn.codes != 0) | (np.cumsum(drawn.codes == 0) % 2 == 0))
    p, q = (np.bincount(side.codes, side.lengths, minlength=8) / side.lengths.sum() for side in (drawn, lost))
    is_far = float(np.abs(p - q).max()) > 0.05

    assert judge(CategoryDrift, reference, composition(drawn)) == []
    if is_far:
        assert len(judge(CategoryDrift, reference, composition(lost))) == 1


def test_tokens_move_although_samples_do_not() -> None:
    reference = mixture(web=(5000, 500_000), books=(5000, 4_500_000))
    packed = mixture(web=(5000, 500_000), books=(5000, 2_000_000))

    (found,) = judge(CategoryDrift, reference, packed)
    assert "web is 20 % of tokens, 10 % in the reference (samples 50 % / 50 %)" in found.message


def test_targets_move_although_tokens_do_not() -> None:
    drawn = draw(0, 20_000, sigma=0.4)
    less = np.where(drawn.codes == 0, np.maximum(drawn.targets // 3, 1), drawn.targets)
    fewer = type(drawn)(drawn.lengths, less, drawn.codes, drawn.packs, drawn.names)

    (found,) = judge(CategoryDrift, composition(drawn), composition(fewer))
    assert "of targets, " in found.message
    (share,) = [word for word in found.message.split("; ") if word.startswith("domain: domain-0 is")]
    assert "tokens" in share


def test_a_rare_category_that_halved_twice() -> None:
    reference = mixture(en=(98_000, 9_800_000), sw=(2_000, 200_000))
    packed = mixture(en=(99_500, 9_950_000), sw=(500, 50_000))

    (found,) = judge(CategoryDrift, reference, packed)
    assert "sw is 0.5 % of samples, 2 % in the reference" in found.message
    assert judge(CategoryDrift, reference, packed, min_fraction=0.03) == []


def test_a_new_category_is_said_to_be_new() -> None:
    (found,) = judge(CategoryDrift, mixture(en=(900, 9000)), mixture(en=(800, 8000), xx=(100, 1000)))

    assert "xx (new) is 11.1 %" in found.message


def test_a_category_that_is_gone_is_left_to_its_own_rule() -> None:
    reference, packed = mixture(en=(9_900, 99_000), sw=(100, 1_000)), mixture(en=(10_000, 100_000))

    assert judge(CategoryDrift, reference, packed) == []


def test_columns_known_of_too_few_samples_are_not_judged() -> None:
    reference, packed = mixture(a=(600, 6000), b=(400, 4000)), mixture(a=(100, 1000), b=(300, 3000))
    packed.add_samples(np.full(450, 10))
    rule = CategoryDrift()

    assert rule.unchecked(reference, packed) is not None
    assert list(rule.judge(reference, packed, None)) == []  # type: ignore[arg-type]


def test_unknown_categories_make_it_less_certain() -> None:
    reference, packed = mixture(a=(600, 6000), b=(400, 4000)), mixture(a=(300, 3000), b=(700, 7000))
    packed.add_samples(np.full(250, 10))

    (found,) = judge(CategoryDrift, reference, packed)
    assert found.confidence is Confidence.LIKELY
    assert "known of 80 % of samples" in found.message


def test_without_a_shared_column_it_is_not_checked() -> None:
    reference = mixture(a=(10, 100))
    packed = Composition()
    packed.add_samples(np.full(10, 10))

    assert "--by" in (CategoryDrift().unchecked(reference, packed) or "")


def test_names_of_others_are_cut_and_columns_counted() -> None:
    reference, packed = mixture(a=(500, 5000), **{"b" * 99: (500, 5000)}), mixture(a=(990, 9900))
    packed.categories["domain"] = CategoryShares(
        {"a": (900, 9000, 0, 90000, 0, 0), "c": (100, 1000, 0, 10000, 0, 0)}
    )
    for side in (reference, packed):
        side.categories |= {f"column-{i}": side.categories["domain"] for i in range(5)}

    (found,) = judge(CategoryDrift, reference, packed)
    assert "and 3 more columns" in found.message
    assert "b" * 41 not in found.message
