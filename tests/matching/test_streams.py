"""Whole samples in streams without record of boundaries."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.matching.residue import Residue
from packlint.matching.streams import SampleEnds
from packlint.summaries.hashes import wide_hash_runs
from packlint.summaries.samples import SampleIndex, Samples
from tests.matching.packers import Row, draw_samples

seeds = st.integers(0, 2**32).map(random.Random)


def ends_of(rows: list[Row]) -> SampleEnds:
    """Return the ends of samples without special tokens."""
    tokens = np.array([token for row in rows for token in row])
    sizes = np.array([len(row) for row in rows])
    stops = np.cumsum(sizes)
    n = sizes.size
    samples = Samples(
        names=("reference",),
        shards=np.zeros(n, np.int32),
        rows=np.arange(n),
        hashes=wide_hash_runs(tokens, stops - sizes, stops),
        heads=np.zeros(n, np.int32),
        n_tokens=sizes,
        tails=np.zeros(n, np.int32),
        n_targets=sizes,
    )
    block = (tokens, np.concatenate([[0], stops]), np.arange(n))
    return SampleEnds.of(samples, SampleIndex.of(samples), [block])


def stream(rows: list[Row], *, size: int, is_recorded: bool = False) -> Residue:
    """Return rows end to end, cut into segments of one size."""
    tokens = np.array([token for row in rows for token in row])
    offsets = np.array([*range(0, tokens.size, size), tokens.size])
    n = offsets.size - 1
    return Residue(
        tokens=tokens,
        offsets=offsets,
        segments=np.arange(n),
        starts=np.zeros(n, np.int64),
        is_target=np.ones(tokens.size, np.bool_),
        is_recorded=np.full(n, is_recorded),
        reaches_end=np.ones(n, np.bool_),
    )


@settings(max_examples=30)
@given(seeds)
def test_all_samples_are_found_where_they_lie(rng: random.Random) -> None:
    rows = draw_samples(rng, n_samples=20, vocabulary=50_000, low=16, prefix=rng.choice([0, 30]))
    order = rng.sample(range(20), 20)
    found = ends_of(rows).runs(stream([rows[i] for i in order], size=50))
    stops = np.cumsum([len(rows[i]) for i in order])
    assert found.samples.tolist() == order
    assert found.stops.tolist() == stops.tolist()
    assert found.starts.tolist() == [0, *stops[:-1].tolist()]


@pytest.mark.parametrize(("is_recorded", "expected"), [(False, [0, 1]), (True, [1])])
def test_samples_go_on_where_nothing_is_recorded(is_recorded: bool, expected: list[int]) -> None:
    rows = [list(range(10, 60)), list(range(100, 130))]
    found = ends_of(rows).runs(stream(rows, size=25 if is_recorded else 20, is_recorded=is_recorded))
    assert found.samples.tolist() == ([] if is_recorded else expected)
    whole = stream(rows[1:], size=30, is_recorded=True)
    assert ends_of(rows).runs(whole).samples.tolist() == [1]


def test_a_sample_that_ends_like_another_is_told_apart_by_its_hash() -> None:
    tail = list(range(500, 540))
    rows = [[1, *tail], [2, *tail], [3, 4, *tail]]
    found = ends_of(rows).runs(stream([rows[2], rows[0]], size=1000))
    assert found.samples.tolist() == [2, 0]


def test_the_longest_sample_is_found_where_one_holds_another() -> None:
    inner = list(range(100, 140))
    rows = [inner, [*range(10, 30), *inner, *range(200, 220)]]
    assert ends_of(rows).runs(stream([rows[1], rows[0]], size=64)).samples.tolist() == [1, 0]


def test_short_samples_and_altered_ones_are_not_found() -> None:
    rows = [list(range(10, 25)), list(range(100, 140))]
    altered = [*rows[1][:5], 99, *rows[1][6:]]
    assert len(ends_of(rows).runs(stream([rows[0], altered], size=100))) == 0


def test_stretches_of_a_residue_stay_in_place() -> None:
    residue = stream([list(range(100))], size=40)
    part = residue.part(np.array([10, 40, 90]), np.array([40, 60, 100]))
    assert part.tokens.tolist() == [*range(10, 60), *range(90, 100)]
    assert part.segments.tolist() == [0, 1, 2]
    assert part.starts.tolist() == [10, 0, 10]
    assert part.reaches_end.tolist() == [True, False, True]
    assert part.breaks.tolist() == [0, 50, 60]
