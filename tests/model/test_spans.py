"""`Spans` against plain sets of token indices."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.spans import Spans

N_TOKENS = 24
token_sets = st.sets(st.integers(0, N_TOKENS - 1))
place_lists = st.lists(st.integers(0, N_TOKENS), max_size=8)


def spans_of(tokens: set[int]) -> Spans:
    return Spans.from_indices(np.array(sorted(tokens), np.int64))


def tokens_of(spans: Spans) -> set[int]:
    """Return the tokens of the runs, having held them to what a `Spans` promises."""
    runs = list(zip(spans.starts.tolist(), spans.stops.tolist(), strict=True))
    assert all(start < stop for start, stop in runs)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(runs))
    return {token for start, stop in runs for token in range(start, stop)}


def places(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


@settings(deadline=None)
@given(token_sets)
def test_indices_and_masks_make_the_same_maximal_runs(tokens: set[int]) -> None:
    mask = np.isin(np.arange(N_TOKENS), list(tokens))
    by_index, by_mask = spans_of(tokens), Spans.from_mask(mask)

    assert tokens_of(by_index) == tokens
    assert by_mask.starts.tolist() == by_index.starts.tolist()
    assert by_mask.stops.tolist() == by_index.stops.tolist()
    assert set(by_index.stops.tolist()).isdisjoint(by_index.starts.tolist())
    assert by_index.to_mask(N_TOKENS).tolist() == mask.tolist()


@settings(deadline=None)
@given(token_sets)
def test_counts(tokens: set[int]) -> None:
    spans = spans_of(tokens)

    assert spans.n_tokens == len(tokens)
    assert spans.lengths.sum() == len(tokens)
    assert len(spans) == sum(1 for token in tokens if token - 1 not in tokens)


@settings(deadline=None)
@given(token_sets, place_lists)
def test_count_before(tokens: set[int], where: list[int]) -> None:
    counted = spans_of(tokens).count_before(places(where))

    assert counted.tolist() == [sum(token < place for token in tokens) for place in where]


@settings(deadline=None)
@given(token_sets, st.lists(st.tuples(st.integers(0, N_TOKENS), st.integers(0, N_TOKENS)), max_size=8))
def test_count_within(tokens: set[int], pairs: list[tuple[int, int]]) -> None:
    intervals = [(min(pair), max(pair)) for pair in pairs]
    starts, stops = places([a for a, _ in intervals]), places([b for _, b in intervals])

    assert spans_of(tokens).count_within(starts, stops).tolist() == [
        len(tokens.intersection(range(a, b))) for a, b in intervals
    ]


@settings(deadline=None)
@given(token_sets, place_lists)
def test_contains(tokens: set[int], where: list[int]) -> None:
    assert spans_of(tokens).contains(places(where)).tolist() == [place in tokens for place in where]


@settings(deadline=None)
@given(token_sets, token_sets)
def test_set_operations(mine: set[int], theirs: set[int]) -> None:
    a, b = spans_of(mine), spans_of(theirs)

    assert tokens_of(a.intersect(b)) == mine & theirs
    assert tokens_of(a.union(b)) == mine | theirs
    assert tokens_of(a.minus(b)) == mine - theirs


@settings(deadline=None)
@given(token_sets, st.sets(st.integers(0, N_TOKENS)), token_sets)
def test_cutting_keeps_the_tokens_and_crosses_no_place(
    tokens: set[int], where: set[int], others: set[int]
) -> None:
    cut = spans_of(tokens).split_at(places(sorted(where)))

    assert tokens_of(cut) == tokens
    assert not any(
        start < place < stop
        for start, stop in zip(cut.starts.tolist(), cut.stops.tolist(), strict=True)
        for place in where
    )
    whole = spans_of(tokens)
    assert set(cut.starts.tolist()) - set(whole.starts.tolist()) <= where
    assert cut.n_tokens == len(tokens)
    assert cut.to_mask(N_TOKENS).tolist() == whole.to_mask(N_TOKENS).tolist()
    assert tokens_of(cut.intersect(spans_of(others))) == tokens & others


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=9))
def test_intervals_drop_empty_ones_and_join_those_that_touch(steps: list[int]) -> None:
    edges = np.cumsum([0, *steps])
    starts, stops = edges[:-1:2], edges[1::2]
    starts = starts[: stops.size]
    spans = Spans.from_intervals(starts, stops)

    assert tokens_of(spans) == {
        token
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
        for token in range(start, stop)
    }
    assert set(spans.stops.tolist()).isdisjoint(spans.starts.tolist())


def test_nothing() -> None:
    nothing = Spans.empty()

    assert len(nothing) == 0
    assert nothing.n_tokens == 0
    assert nothing.count_before(places([0, 3])).tolist() == [0, 0]
    assert nothing.contains(places([0])).tolist() == [False]
    assert len(nothing.split_at(places([1]))) == 0
    assert nothing.to_mask(2).tolist() == [False, False]
    assert len(Spans.from_mask(np.zeros(0, np.bool_))) == 0
    assert len(nothing.union(nothing)) == 0
