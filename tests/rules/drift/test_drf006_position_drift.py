"""DRF006: heads kept and ends lost are found from the right position on; all else is silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.composition import Composition
from packlint.summaries.positions import EDGES, bin_lengths, bin_runs
from packlint_rules.drift.drf006_position_drift import PositionDrift
from tests.rules.drift.samples import composition, draw, judge


@pytest.mark.parametrize("n", [1_000, 30_000, 1_000_000])
def test_another_draw_of_one_distribution_is_silent(n: int) -> None:
    for seed in range(10 if n < 10**6 else 1):
        assert judge(PositionDrift, composition(draw(seed, n)), composition(draw(seed + 100, n))) == []


@given(st.sampled_from([64, 128, 256]), st.integers(0, 99))
@settings(max_examples=20)
def test_a_limit_is_found_where_it_cuts(limit: int, seed: int) -> None:
    drawn = draw(seed, 20_000)
    cut = np.minimum(drawn.lengths, limit)
    packed = replace(drawn, lengths=cut, targets=np.maximum(drawn.targets - (drawn.lengths - cut), 0))

    (found,) = judge(PositionDrift, composition(drawn), composition(packed))
    assert f"positions from {limit:,} on hold 0 % of tokens" in found.message
    assert f"positions from {limit:,} on hold 0 % of targets" in found.message
    assert found.n_hits == 2


def test_targets_move_although_tokens_do_not() -> None:
    drawn = draw(0, 20_000)
    packed = composition(drawn)
    packed.target_positions = bin_runs(np.zeros_like(drawn.targets), drawn.targets)

    (found,) = judge(PositionDrift, composition(drawn), packed)
    assert "of targets" in found.message
    assert "of tokens" not in found.message


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), max_size=30))
@settings(max_examples=100)
def test_runs_are_binned_token_by_token(runs: list[tuple[int, int]]) -> None:
    ends = np.array([sorted(run) for run in runs], np.int64).reshape(-1, 2)
    places = [place for start, stop in ends.tolist() for place in range(start, stop)]

    wanted = np.histogram(places, EDGES)[0]
    assert bin_runs(ends[:, 0], ends[:, 1]).tolist() == np.trim_zeros(wanted, "b").tolist()


@given(st.lists(st.integers(0, 5000), max_size=30))
@settings(max_examples=50)
def test_lengths_are_binned_token_by_token(lengths: list[int]) -> None:
    found = Composition()
    found.add_samples(np.array(lengths, np.int64))

    wanted = np.histogram([place for n in lengths for place in range(n)], EDGES)[0]
    assert bin_lengths(found.lengths).tolist() == np.trim_zeros(wanted, "b").tolist()


def test_without_boundaries_it_is_not_checked() -> None:
    packed = composition(draw(0, 50))
    packed.n_unbounded = 1

    assert PositionDrift().unchecked(composition(draw(0, 50)), packed)
    assert PositionDrift().unchecked(Composition(), composition(draw(0, 50)))
    assert list(PositionDrift().judge(packed, packed, None)) == []  # type: ignore[arg-type]
