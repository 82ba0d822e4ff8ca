"""Polynomials: equal to plain big-integer arithmetic, invertible, and made of parts."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.arrays import IntArray
from packlint.summaries import polynomials
from packlint.summaries.hashes import hash_runs, wide_hash_runs
from packlint.summaries.polynomials import (
    BASES,
    Prefixes,
    hashes_of_values,
    inverse_powers,
    mix,
    powers,
    unmix,
    values_of_hashes,
)

WORD = 1 << 64
tokens_of = st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=60)


def value(run: list[int], base: int = BASES[0]) -> int:
    """Compute a value with Python's integers."""
    return sum(token * pow(base, place, WORD) for place, token in enumerate(run)) % WORD


@given(st.lists(st.integers(0, WORD - 1), min_size=1, max_size=20))
def test_mixing_can_be_undone(words: list[int]) -> None:
    array = np.array(words, np.uint64)
    assert unmix(mix(array)).tolist() == words


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=10), st.sampled_from(BASES))
def test_powers(exponents: list[int], base: int) -> None:
    array = np.array([exponent % (1 << 20) for exponent in exponents])
    assert powers(array, base).tolist() == [pow(base, int(i), WORD) for i in array]
    assert inverse_powers(array, base).tolist() == [pow(base, -int(i), WORD) for i in array]


@settings(max_examples=40)
@given(tokens_of, st.data())
def test_both_halves_of_a_hash_hold_the_value_of_the_run(tokens: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(tokens)))
    stop = data.draw(st.integers(start, len(tokens)))
    array: IntArray = np.array(tokens, data.draw(st.sampled_from([np.uint32, np.int64])))
    starts, stops = np.array([start]), np.array([stop])
    halves = wide_hash_runs(array, starts, stops)
    for half, base in zip(halves, BASES, strict=True):
        assert values_of_hashes(half, stops - starts).tolist() == [value(tokens[start:stop], base)]
    assert halves[0].tolist() == hash_runs(array, starts, stops).tolist()


@settings(max_examples=40)
@given(tokens_of, st.data())
def test_the_hash_of_a_run_follows_from_those_of_its_parts(tokens: list[int], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(tokens)))
    array, n = np.array(tokens), len(tokens)
    parts = wide_hash_runs(array, np.array([0, cut]), np.array([cut, n]))
    whole = wide_hash_runs(array, np.array([0]), np.array([n]))
    for part, expected, base in zip(parts, whole, BASES, strict=True):
        first, second = values_of_hashes(part, np.array([cut, n - cut]))
        joined = np.array([first]) + powers(np.array([cut]), base) * second
        assert hashes_of_values(joined, np.array([n])).tolist() == expected.tolist()


@settings(max_examples=40)
@given(tokens_of, st.integers(1, 8), st.sampled_from([1, 3, 8, 1 << 14]))
def test_windows_and_runs_in_constant_time(tokens: list[int], width: int, block: int) -> None:
    whole = polynomials._BLOCK
    try:
        polynomials._BLOCK = block
        polynomials._table.cache_clear()
        prefixes = Prefixes(np.array(tokens))
        windows = [value(tokens[i : i + width]) for i in range(len(tokens) - width + 1)]
        assert prefixes.windows(width).tolist() == windows
        starts = np.arange(len(tokens) + 1)
        rest = prefixes.values(starts, len(tokens) - starts)
        assert rest.tolist() == [value(tokens[i:]) for i in starts.tolist()]
        places = np.arange(len(windows))
        hashed = prefixes.hashed_windows(width).tolist()
        assert hashed == hash_runs(np.array(tokens), places, places + width).tolist()
    finally:
        polynomials._BLOCK = whole
        polynomials._table.cache_clear()
