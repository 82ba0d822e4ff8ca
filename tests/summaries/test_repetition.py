"""Runs of a repeated cycle: equal to brute force, and never missed by the cheap look."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.constant_runs import are_constant
from packlint.model.spans import Spans
from packlint.summaries.repetition import constant_edges, periodic_runs, probe_runs


def oracle(tokens: list[int], pieces: list[tuple[int, int]], min_run: int, max_cycle: int) -> set[int]:
    """Mark every token of every window of `min_run` tokens (more than a cycle) with a period."""
    marked: set[int] = set()
    for low, high in pieces:
        for cycle in range(1, max_cycle + 1):
            size = max(min_run, cycle + 1)
            for start in range(low, high - size + 1):
                window = tokens[start : start + size]
                if window[cycle:] == window[:-cycle]:
                    marked |= set(range(start, start + size))
    return marked


@st.composite
def texts(draw: st.DrawFn, max_run: int = 12) -> list[int]:
    """Draw random tokens with cycles in them."""
    parts = draw(
        st.lists(
            st.lists(st.integers(0, 3), max_size=8)
            | st.tuples(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.integers(1, max_run)).map(
                lambda pair: (pair[0] * pair[1])[: max_run + pair[1]]
            ),
            max_size=6,
        )
    )
    return [token for part in parts for token in part]


@given(texts(), st.data())
@settings(max_examples=150)
def test_runs_equal_brute_force(tokens: list[int], data: st.DataObject) -> None:
    min_run, max_cycle = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(tokens)), max_size=6)))
    bounds = list(pairwise(cuts))
    kept = [pair for pair in bounds if data.draw(st.booleans())]
    pieces = Spans(np.array([a for a, _ in kept], np.int64), np.array([b for _, b in kept], np.int64))

    runs = periodic_runs(np.array(tokens, np.int64), pieces, min_run, max_cycle)

    found = {place for a, b in zip(runs.starts, runs.stops, strict=True) for place in range(a, b)}
    assert found == oracle(tokens, kept, min_run, max_cycle)
    assert all(any(a <= x and y <= b for a, b in kept) for x, y in zip(runs.starts, runs.stops, strict=True))


@given(st.data())
@settings(max_examples=200)
def test_no_run_escapes_the_probes(data: st.DataObject) -> None:
    max_cycle = data.draw(st.integers(1, 4))
    min_run = data.draw(st.integers(4, 90))
    cycle = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=max_cycle))
    before, after = data.draw(st.integers(0, 40)), data.draw(st.integers(0, 40))
    run = (cycle * min_run)[: min_run + data.draw(st.integers(0, 20))]
    tokens = np.array([*range(100, 100 + before), *run, *range(200, 200 + after)], np.uint16)

    stretches = probe_runs(tokens, min_run, max_cycle)

    if stretches is not None:
        first, last = stretches
        assert np.any((first >= before) & (last < before + len(run)))


def test_default_probes_are_cheap_and_quiet() -> None:
    rng = np.random.default_rng(0)
    tokens = rng.zipf(1.2, 1 << 17) % 50_000

    stretches = probe_runs(tokens, 64, 4)

    assert stretches is not None
    assert stretches[0].size < 50


def test_probes_give_up_on_long_cycles() -> None:
    assert probe_runs(np.zeros(100, np.int64), 64, 8) is None


def test_short_arrays() -> None:
    for size in range(15):
        stretches = probe_runs(np.zeros(size, np.int64), 64, 4)
        assert stretches is not None
        assert stretches[0].size == 0


def test_edges_of_packs() -> None:
    tokens = np.array([7, 7, 7, 1, 2, 7, 7, 7, 7, 7, 3, 3])

    starts, stops = np.array([0, 7, 7]), np.array([7, 7, 12])

    edges = constant_edges(tokens, starts, stops, 2)

    assert edges.starts.tolist() == [0, 5, 7, 10]
    assert edges.stops.tolist() == [3, 7, 10, 12]
    assert constant_edges(tokens, starts, stops, 2, 3).starts.tolist() == [10]
    assert constant_edges(tokens, starts, stops, 3).starts.tolist() == [0, 7]
    assert constant_edges(tokens[:0], starts[:1], starts[:1], 2).starts.tolist() == []


@given(
    st.lists(st.lists(st.integers(0, 1), max_size=6), max_size=8), st.integers(1, 3), st.none() | st.just(1)
)
@settings(max_examples=100)
def test_edges_equal_brute_force(rows: list[list[int]], min_run: int, only_id: int | None) -> None:
    tokens = np.array([token for row in rows for token in row], np.int64)
    offsets = np.cumsum([0, *map(len, rows)])

    edges = constant_edges(tokens, offsets[:-1], offsets[1:], min_run, only_id)

    expected = set()
    for base, row in zip(offsets.tolist(), rows, strict=False):
        for run in (range(len(row)), range(len(row) - 1, -1, -1)):
            places = [
                place for place in run if len(set(row[min(place, run[0]) : max(place, run[0]) + 1])) == 1
            ]
            if len(places) >= min_run and only_id in (None, row[run[0]]):
                expected.add((base + min(places), base + max(places) + 1))
    assert list(zip(edges.starts.tolist(), edges.stops.tolist(), strict=True)) == sorted(expected)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([5, 5, 5], True),
        ([5], True),
        ([], True),
        ([5, 6, 5], False),
        ([5, 5, 6], False),
        ([5, 6, 5, 5], False),
    ],
)
def test_constant_rows(row: list[int], expected: bool) -> None:
    tokens = np.array([5, *row, 5])

    found = are_constant(tokens, np.array([0, 1]), np.array([1, 1 + len(row)]))

    assert found.tolist() == [True, expected]


@given(st.lists(st.lists(st.integers(0, 1), max_size=6), max_size=8))
@settings(max_examples=50)
def test_constant_rows_equal_brute_force(rows: list[list[int]]) -> None:
    tokens = np.array([token for row in rows for token in row], np.int64)
    offsets = np.cumsum([0, *map(len, rows)])

    found = are_constant(tokens, offsets[:-1], offsets[1:])

    assert found.tolist() == [len(set(row)) < 2 for row in rows]
