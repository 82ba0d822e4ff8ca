"""The bound against exact bin packing, and against its definition for every a."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.packing import packing_bound

TINY = st.lists(st.integers(1, 12), max_size=9)


def optimum(samples: list[int], room: int) -> int:
    """Return the fewest rows, by trying all ways to place the samples, largest first."""
    ordered = sorted(samples, reverse=True)

    @cache
    def best(i: int, free: tuple[int, ...]) -> int:
        if i == len(ordered):
            return len(free)
        places = [j for j in range(len(free)) if free[j] >= ordered[i]]
        tried = {tuple(sorted((*free[:j], free[j] - ordered[i], *free[j + 1 :]))) for j in places}
        tried.add(tuple(sorted((*free, room - ordered[i]))))
        return min(best(i + 1, rest) for rest in tried)

    return best(0, ())


def bound_by_definition(samples: list[int], room: int) -> int:
    best = 0
    for a in range(room // 2 + 1):
        alone = [n for n in samples if n > room - a]
        large = [n for n in samples if room / 2 < n <= room - a]
        small = [n for n in samples if a <= n <= room / 2]
        missing = sum(small) - (len(large) * room - sum(large))
        best = max(best, len(alone) + len(large) + max(0, math.ceil(missing / room)))
    return best


@given(TINY, st.integers(12, 16))
@settings(max_examples=300)
def test_no_packer_beats_the_bound(samples: list[int], room: int) -> None:
    assert packing_bound(Counter(samples), room) <= optimum(samples, room)


@given(st.lists(st.integers(1, 60), max_size=60), st.integers(60, 90))
@settings(max_examples=200)
def test_the_bound_is_what_its_definition_says(samples: list[int], room: int) -> None:
    assert packing_bound(Counter(samples), room) == bound_by_definition(samples, room)
    assert packing_bound(Counter(samples), room) >= math.ceil(sum(samples) / room)


def test_the_bound_is_often_reached() -> None:
    rng = np.random.default_rng(5)
    cases = [rng.integers(1, 13, 8).tolist() for _ in range(100)]
    reached = sum(packing_bound(Counter(samples), 16) == optimum(samples, 16) for samples in cases)

    assert reached >= 85


@pytest.mark.parametrize(
    ("samples", "room", "bound"),
    [
        ([5, 5, 5, 3, 3, 3], 8, 3),
        ([5, 5, 5], 8, 3),
        ([5, 5, 5, 4], 8, 4),
        ([4, 4, 4, 4], 8, 2),
        ([9, 20, 8], 8, 3),
        ([1], 1, 1),
        ([], 8, 0),
    ],
)
def test_by_hand(samples: list[int], room: int, bound: int) -> None:
    assert packing_bound(Counter(samples), room) == bound


def test_large_counts_are_exact() -> None:
    assert packing_bound({3: 10**12, 5: 10**12}, 8) == 10**12
