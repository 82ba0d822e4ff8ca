"""Samples cut into consecutive segments: found from hashes, without a second look at any token."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.matching import trace
from packlint.summaries.reconciliation import Reconciliation
from tests.matching.packers import EOS, Packs, Row, as_packs, draw_samples, reconcile, wrapped

seeds = st.integers(0, 2**32).map(random.Random)


def without_a_second_look(packs: Packs, samples: list[Row]) -> Reconciliation:
    """Return what became of samples; fails if tokens are read again."""

    def no_tokens(*args: object) -> list[object]:
        _, _, is_wanted, _ = args
        assert not is_wanted.any(), "tokens are read again"  # type: ignore[attr-defined]  # an array
        return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "residues", no_tokens)
        return reconcile(packs, samples)


@settings(max_examples=20)
@given(seeds, st.integers(24, 300))
def test_streams_of_ended_samples_are_read_once(rng: random.Random, pack_tokens: int) -> None:
    samples = draw_samples(rng, n_samples=20, vocabulary=1000, low=1, high=200)
    packs = as_packs(wrapped([[*sample, EOS] for sample in samples], pack_tokens))
    found = without_a_second_look(packs, samples)
    assert (found.balance.gap, found.balance.lost, found.balance.unknown) == (0, 0, 0)
    whole = {tuple(segment) for segment in packs.segments}
    # An end token may lie in the next pack.
    assert all(found.copies[i] == 1 or (*sample, EOS) not in whole for i, sample in enumerate(samples))


@pytest.mark.parametrize("n_parts", [2, 3, 4, 5, 12])
def test_parts_in_a_row_are_one_sample(n_parts: int) -> None:
    sample = list(range(10, 10 + 20 * n_parts))
    others = [list(range(1000, 1010)), list(range(2000, 2010))]
    parts = [sample[at : at + 20] for at in range(0, len(sample), 20)]
    packs = as_packs([[[*others[0], EOS], parts[0]], *([part] for part in parts[1:-1]), [[*parts[-1], EOS]]])
    found = without_a_second_look(packs, [sample, others[0]])
    assert found.n_cuts.tolist() == [n_parts - 1, 0]
    assert found.covered.tolist() == [len(sample), 0]
    assert found.balance.specials_added == 2


def test_a_sample_that_begins_another_is_not_taken_for_it() -> None:
    long = list(range(10, 70))
    packs = as_packs([[long[:20]], [long[20:40]], [long[40:]]])
    found = without_a_second_look(packs, [long[:40], long])
    assert found.is_lost.tolist() == [True, False]


def test_equal_samples_get_one_each() -> None:
    sample = list(range(10, 70))
    cut = [[sample[:30]], [[*sample[30:], EOS]]]
    found = without_a_second_look(as_packs([*cut, *cut, [[*sample, EOS]]]), [sample] * 3)
    assert found.balance.lost == found.balance.repeated == 0
    assert found.n_cuts.sum() == 2
