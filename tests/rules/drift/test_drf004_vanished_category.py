"""DRF004: exactly the categories that are gone, where chance does not explain it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.summaries.composition import Composition
from packlint_rules.drift.drf004_vanished_category import VanishedCategory
from tests.rules.drift.samples import composition, draw, judge


@given(st.integers(0, 99), st.sets(st.integers(0, 7), max_size=5))
@settings(max_examples=30)
def test_exactly_those_that_are_gone(seed: int, gone: set[int]) -> None:
    drawn = draw(seed, 5000)
    is_gone = np.isin(drawn.codes, list(gone))

    found = judge(VanishedCategory, composition(drawn), composition(drawn.take(~is_gone)))
    if not gone:
        assert found == []
        return
    (one,) = found
    assert (one.n_hits, one.n_segments) == (len(gone), int(is_gone.sum()))
    assert one.n_tokens == int(drawn.lengths[is_gone].sum())
    assert one.confidence is Confidence.CERTAIN
    for code in gone:
        assert f"domain domain-{code} ({int((drawn.codes == code).sum()):,} samples" in one.message


@given(st.integers(0, 99), st.integers(1, 3000), st.integers(1, 3000))
@settings(max_examples=30)
def test_smaller_draws_are_silent(seed: int, n: int, m: int) -> None:
    assert judge(VanishedCategory, composition(draw(seed, n)), composition(draw(seed + 1, m))) == []


@pytest.mark.parametrize(
    ("n_reference", "n_packed", "is_found"), [(1, 5000, 0), (2, 90, 0), (16, 16, 1), (14, 14, 0)]
)
def test_a_category_of_few_samples_is_missed_only_against_chance(
    n_reference: int, n_packed: int, is_found: int
) -> None:
    drawn = draw(0, 2 * max(n_reference, n_packed), n_categories=2)
    reference = replace(drawn.take(np.arange(n_reference)), codes=np.zeros(n_reference, np.int64))
    packed = replace(drawn.take(np.arange(n_packed)), codes=np.ones(n_packed, np.int64))

    assert len(judge(VanishedCategory, composition(reference), composition(packed))) == is_found


def test_of_the_very_samples_even_one_is_missed() -> None:
    drawn = draw(0, 50, n_categories=3)
    one = replace(drawn, codes=np.where(np.arange(50) == 7, 2, 0))
    rest = one.take(np.arange(50) != 7)

    assert judge(VanishedCategory, composition(one), composition(rest)) == []
    (found,) = judge(VanishedCategory, composition(one, is_source=True), composition(rest))
    assert found.n_segments == 1


def test_few_samples_may_be_gone_by_chance() -> None:
    drawn = draw(0, 1000)
    kept = drawn.take((drawn.codes != 7) | (np.cumsum(drawn.codes == 7) <= 0))
    n_gone = int((drawn.codes == 7).sum())

    assert len(judge(VanishedCategory, composition(drawn), composition(kept))) == 1
    limit = float(n_gone)
    assert judge(VanishedCategory, composition(drawn), composition(kept), min_expected_samples=limit) == []


def test_many_are_counted_and_the_largest_named() -> None:
    drawn = draw(0, 20_000, n_categories=30)
    (found,) = judge(VanishedCategory, composition(drawn), composition(drawn.take(drawn.codes == 0)))

    assert "and 24 more" in found.message
    assert found.n_hits == 29


def test_unknown_samples_may_be_of_it() -> None:
    drawn = draw(0, 2000)
    packed = composition(drawn.take(drawn.codes != 0))
    packed.add_samples(np.full(5, 10))

    (found,) = judge(VanishedCategory, composition(drawn), packed)
    assert found.confidence is Confidence.LIKELY


def test_without_a_shared_column_it_is_not_checked() -> None:
    assert "--by" in (VanishedCategory().unchecked(composition(draw(0, 10)), Composition()) or "")
