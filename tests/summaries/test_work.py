"""How work falls on ranks, against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.work import PackWork, idle_fraction


def by_loops(amounts: list[int], n_ranks: int, each: int, strided: bool) -> float:
    idle = []
    per_step = n_ranks * each
    for start in range(0, len(amounts) - per_step + 1, per_step):
        ranks = [0] * n_ranks
        for i in range(per_step):
            ranks[i % n_ranks if strided else i // each] += amounts[start + i]
        slowest = max(ranks)
        idle.append(sum(slowest - n for n in ranks) / (n_ranks * slowest) if slowest else 0.0)
    return sum(idle) / len(idle) if idle else 0.0


@given(st.lists(st.integers(0, 99), max_size=60), st.integers(1, 5), st.integers(1, 4), st.booleans())
@settings(max_examples=300)
def test_idle_fraction(amounts: list[int], n_ranks: int, each: int, strided: bool) -> None:
    found = idle_fraction(np.array(amounts, np.int64), n_ranks, each, strided=strided)

    assert found == pytest.approx(by_loops(amounts, n_ranks, each, strided))
    assert 0 <= found <= 1


def test_by_hand() -> None:
    amounts = np.array([4, 0, 2, 2, 9, 9])

    assert idle_fraction(amounts, 2, 1, strided=False) == pytest.approx(1 / 6)
    assert idle_fraction(amounts, 2, 2, strided=False) == 0.0
    assert idle_fraction(amounts, 2, 2, strided=True) == pytest.approx(4 / 12)
    assert idle_fraction(amounts, 7, 1, strided=False) == 0.0


@given(st.permutations(range(12)))
@settings(max_examples=50)
def test_packs_come_back_in_order_of_shard_and_number(order: list[int]) -> None:
    work = PackWork()
    for i in order:
        one = PackWork()
        one.add(i // 4, np.array([i % 4]), np.array([100 + i]), np.array([i]))
        work = work.merge(one)

    amounts, tokens = work.in_order()

    assert amounts.tolist() == list(range(12))
    assert tokens.tolist() == list(range(100, 112))
