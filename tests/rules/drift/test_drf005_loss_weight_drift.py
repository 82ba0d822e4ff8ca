"""DRF005: packing as such is no finding; clipped or blown-up weights are, and packs of few targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.drift import weights
from packlint_rules.drift.drf005_loss_weight_drift import LossWeightDrift
from tests.rules.drift.samples import Drawn, composition, draw, judge


@pytest.mark.parametrize("n", [1_000, 100_000, 1_000_000])
def test_another_draw_of_one_distribution_is_silent(n: int) -> None:
    for seed in range({1_000: 150, 100_000: 10}.get(n, 1)):
        reference, packed = draw(seed, n, sigma=0.9), draw(seed + 1000, n, sigma=0.9)
        assert judge(LossWeightDrift, composition(reference), composition(packed)) == []


def test_a_few_samples_that_carry_the_loss_are_not_judged() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        sides = [
            replace(draw(0, 2000), targets=(rng.pareto(1.1, 2000) * 50 + 1).astype(np.int64)) for _ in "ab"
        ]

        assert judge(LossWeightDrift, *map(composition, sides)) == []


@given(st.integers(0, 99), st.integers(2, 3000), st.integers(1, 40))
@settings(max_examples=30)
def test_packing_whole_samples_is_no_finding(seed: int, n: int, per_pack: int) -> None:
    drawn = draw(seed, n)
    rows = replace(drawn, packs=np.arange(n))
    order = np.random.default_rng(seed).permutation(n)
    packed = replace(drawn.take(order), packs=np.arange(n) // per_pack)

    assert judge(LossWeightDrift, composition(rows), composition(rows)) == []
    assert judge(LossWeightDrift, composition(rows), composition(packed)) == []


def test_of_the_very_samples_a_few_are_judged() -> None:
    drawn = draw(0, 40, sigma=0.3)
    less = replace(drawn, targets=np.where(np.arange(40) < 25, 1, drawn.targets))

    assert judge(LossWeightDrift, composition(drawn), composition(less)) == []
    assert len(judge(LossWeightDrift, composition(drawn, is_source=True), composition(less))) == 1
    assert judge(LossWeightDrift, composition(drawn, is_source=True), composition(drawn)) == []


def test_samples_that_lost_most_of_their_targets() -> None:
    drawn = draw(0, 20_000, sigma=0.3)
    hit = np.random.default_rng(0).random(20_000) < 0.6
    less = replace(drawn, targets=np.where(hit, 1, drawn.targets))

    (found,) = judge(LossWeightDrift, composition(drawn), composition(less))
    assert "of their number" in found.message
    wanted = [side.targets.sum() ** 2 / (side.targets**2).sum() / 20_000 for side in (less, drawn)]
    assert found.measured["effective_fraction_ratio"] == pytest.approx(wanted[0] / wanted[1])


def by_domain(drawn: Drawn) -> Drawn:
    """Return the samples packed with their like, eight to a pack."""
    order = np.argsort(drawn.codes, kind="stable")
    return replace(drawn.take(order), packs=np.arange(order.size) // 8)


def test_packs_of_few_targets_take_over_the_loss() -> None:
    drawn = draw(0, 40_000, sigma=0.3, n_categories=3)
    short = replace(drawn, targets=np.where(drawn.codes == 2, 1, drawn.targets))
    sides = [composition(replace(short, packs=np.arange(40_000))), composition(by_domain(short))]
    fewer = np.where(drawn.codes == 2, np.arange(40_000) % 2, drawn.targets)
    few = composition(by_domain(replace(drawn, targets=fewer)))

    assert judge(LossWeightDrift, *sides) == []  # each pack of domain-2 weighs as its samples did
    assert few.has_targets
    pack_of = by_domain(replace(short, packs=drawn.packs))
    crowded = replace(pack_of, packs=np.where(pack_of.codes == 2, pack_of.packs, pack_of.packs // 8))
    crowded = replace(crowded, packs=np.unique(crowded.packs, return_inverse=True)[1])
    (found,) = judge(LossWeightDrift, sides[0], composition(crowded))
    assert "under a mean over packs domain domain-2 has" in found.message
    assert found.n_hits >= 1


def test_weights_are_those_of_each_sample_and_pack() -> None:
    drawn = draw(3, 500, per_pack=4)
    drift = weights.between(composition(drawn), composition(drawn))
    assert drift is not None

    by_pack = np.bincount(drawn.packs, drawn.targets)
    per_token = by_pack.mean() / by_pack
    assert drift.packs.cv == pytest.approx(per_token.std() / per_token.mean())
    assert drift.packs.effective_fraction == pytest.approx(per_token.mean() ** 2 / (per_token**2).mean())
    assert (drift.packs.least, drift.packs.most) == pytest.approx((per_token.min(), per_token.max()))
    moved = np.abs(by_pack / by_pack.sum() - 1 / by_pack.size).sum() / 2
    assert drift.packs.moved_fraction == pytest.approx(moved)
    assert drift.reference.cv == pytest.approx(drawn.targets.std() / drawn.targets.mean())
    assert drift.change == 1


def test_without_targets_it_is_not_checked() -> None:
    drawn = draw(0, 50)

    assert LossWeightDrift().unchecked(composition(drawn), composition(drawn, has_targets=False))
    none = composition(replace(drawn, targets=np.zeros_like(drawn.targets)))
    assert LossWeightDrift().unchecked(none, composition(drawn))
    assert list(LossWeightDrift().judge(none, none, None)) == []  # type: ignore[arg-type]


def test_packs_without_a_target_are_counted() -> None:
    drawn = draw(0, 80)
    drift = weights.between(
        composition(drawn), composition(replace(drawn, targets=drawn.targets * (drawn.packs > 2)))
    )
    assert drift is not None
    assert (drift.packs.n_packs, drift.packs.n_without) == (7, 3)
