"""Hashes of runs: equal to a plain big-integer oracle, whatever the type, the place and the block."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.arrays import IntArray
from packlint.summaries import polynomials
from packlint.summaries.hashes import hash_batch, hash_runs
from packlint.testing import make_batch

_WORD = 1 << 64
_R, _S = 0x9E3779B97F4A7C15, 0xD1342543DE82EF95
_DTYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def oracle(run: list[int]) -> int:
    """Compute the hash with Python's integers, term by term."""
    word = sum(token * pow(_R, place, _WORD) for place, token in enumerate(run)) + len(run) * _S
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        word %= _WORD
        word = (word ^ (word >> shift)) * factor
    return word % _WORD


def hash_one(run: list[int], dtype: type = np.int64) -> int:
    """Return the hash of a run that is the whole array."""
    tokens: IntArray = np.array(run, dtype)
    return int(hash_runs(tokens, np.array([0]), np.array([tokens.size]))[0])


@st.composite
def runs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """Draw tokens and rising places in them, with repeats (empty runs) and gaps."""
    tokens = draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=60))
    places = draw(st.lists(st.integers(0, len(tokens)), min_size=2, max_size=8))
    return tokens, sorted(places)


@given(runs())
@settings(max_examples=100)
def test_equals_the_oracle(case: tuple[list[int], list[int]]) -> None:
    tokens, places = case
    starts, stops = np.array(places[:-1]), np.array(places[1:])

    found = hash_runs(np.array(tokens, np.int64), starts, stops)

    assert found.dtype == np.uint64
    assert found.tolist() == [oracle(tokens[a:b]) for a, b in pairwise(places)]


@given(runs())
@settings(max_examples=50)
def test_blocks_do_not_show(case: tuple[list[int], list[int]]) -> None:
    tokens, places = case
    array, starts, stops = np.array(tokens, np.int64), np.array(places[:-1]), np.array(places[1:])
    expected = hash_runs(array, starts, stops)
    whole = polynomials._BLOCK
    try:
        for block in (1, 3, 8):
            polynomials._BLOCK = block
            polynomials._table.cache_clear()

            assert hash_runs(array, starts, stops).tolist() == expected.tolist()
    finally:
        polynomials._BLOCK = whole
        polynomials._table.cache_clear()


def test_long_tokens_cross_real_blocks() -> None:
    rng = np.random.default_rng(0)
    run = rng.integers(-5, 2**17, 5000)
    tokens = np.concatenate([rng.integers(0, 9, 3 * (1 << 16) - 2500), run, run, rng.integers(0, 9, 7)])
    start = tokens.size - 7 - 2 * run.size

    found = hash_runs(tokens, np.array([start, start + 5000]), np.array([start + 5000, start + 10000]))

    assert found.tolist() == [oracle(run.tolist())] * 2


@pytest.mark.parametrize("dtype", _DTYPES)
def test_storage_type_does_not_show(dtype: type) -> None:
    run = [0, 1, 7, 100, 0]

    assert hash_one(run, dtype) == oracle(run)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_negative_ids(dtype: type) -> None:
    run = [-1, -100, 5, -128]

    assert hash_one(run, dtype) == oracle(run)


def test_largest_ids() -> None:
    assert hash_one([2**64 - 1, 2**63], np.uint64) == oracle([2**64 - 1, 2**63])


def test_runs_may_overlap_and_stand_in_any_order() -> None:
    tokens = np.array([5, 6, 7, 8])

    found = hash_runs(tokens, np.array([2, 0, 1]), np.array([4, 3, 1]))

    assert found.tolist() == [oracle([7, 8]), oracle([5, 6, 7]), oracle([])]


def test_no_runs_and_no_tokens() -> None:
    nothing = np.empty(0, np.int64)

    assert hash_runs(nothing, nothing, nothing).size == 0
    assert hash_runs(nothing, np.array([0]), np.array([0])).tolist() == [oracle([])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        ([0, 1], [1]),
        ([1, 0], [1]),
        ([0], [0, 0]),
        ([], [0]),
        ([3] * 64, [3] * 65),
    ],
)
def test_like_runs_differ(one: list[int], other: list[int]) -> None:
    assert hash_one(one) != hash_one(other)


def test_many_different_runs_do_not_collide() -> None:
    rng = np.random.default_rng(1)
    rows = np.unique(rng.integers(0, 4, (60_000, 16)), axis=0)
    edges = np.arange(rows.shape[0] + 1) * 16

    found = hash_runs(rows.ravel(), edges[:-1], edges[1:])

    assert np.unique(found).size == rows.shape[0]
    assert abs(int(np.bitwise_count(found).sum()) / (64 * found.size) - 0.5) < 0.01


SEGMENTS = st.lists(st.integers(0, 3), min_size=1, max_size=9)


@given(st.lists(st.lists(SEGMENTS, min_size=1, max_size=4), min_size=1, max_size=5))
@settings(max_examples=100)
def test_a_batch_is_hashed_in_one_pass(packs: list[list[list[int]]]) -> None:
    rows = [[token for segment in pack for token in segment] for pack in packs]
    batch = make_batch(
        {"input_ids": rows, "seq_lens": [[len(segment) for segment in pack] for pack in packs]}
    )

    found = hash_batch(batch)

    assert found.packs.tolist() == [oracle(row) for row in rows]
    assert found.segments.tolist() == [oracle(segment) for pack in packs for segment in pack]
    assert hash_batch(batch) is found
