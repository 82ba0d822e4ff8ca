"""Histograms against a counter; small and large numbers, counted and weighted."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.histogram import Histogram
from packlint.summaries.plain import Plain

ITEMS = st.lists(
    st.tuples(st.integers(0, 40) | st.integers(65_530, 65_540) | st.integers(0, 1 << 30), st.integers(0, 9)),
    max_size=30,
)


@given(ITEMS, st.integers(0, 30))
@settings(max_examples=200)
def test_amounts_by_number(items: list[tuple[int, int]], cut: int) -> None:
    parts = []
    for some in (items[:cut], items[cut:]):
        part = Histogram()
        part.add(np.array([n for n, _ in some], np.int64), np.array([a for _, a in some], np.int64))
        parts.append(part)
    found = parts[0].merge(parts[1])

    wanted: Counter[int] = Counter()
    for number, amount in items:
        wanted[number] += amount
    wanted = +wanted
    numbers, amounts = (array.tolist() for array in found.arrays())
    assert dict(zip(numbers, amounts, strict=True)) == wanted
    assert numbers == sorted(numbers)
    assert found == parts[1].merge(parts[0]) == Histogram.of(wanted)
    assert (found.total, found.moment) == (wanted.total(), sum(n * a for n, a in wanted.items()))
    assert Histogram.from_plain(Plain(found.to_plain())) == found


@given(st.lists(st.integers(0, 1 << 20), max_size=40))
@settings(max_examples=100)
def test_counts(numbers: list[int]) -> None:
    found = Histogram()
    found.add(np.array(numbers, np.int64))

    assert found == Histogram.of(Counter(numbers))
