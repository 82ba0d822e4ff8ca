"""Passes over tokens: equal to plain loops, whatever the types and wherever chunks end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model import passes
from packlint.model.arrays import true_places
from packlint.model.passes import find_label_mismatches, find_position_breaks

TYPES = (np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


@pytest.fixture(autouse=True, params=[3, 1 << 18])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run each test with chunks that end inside the arrays, and with the real ones."""
    monkeypatch.setattr(passes, "MAX_CHUNK_TOKENS", request.param)


@given(st.lists(st.booleans(), max_size=70), st.integers(0, 9))
@settings(max_examples=200)
def test_true_places_are_those_of_a_loop(values: list[bool], n_before: int) -> None:
    mask = np.array([False] * n_before + values)

    found = true_places(mask[n_before:])

    assert found.dtype == np.int64
    assert found.tolist() == [place for place, value in enumerate(values) if value]


def test_few_true_places_in_a_long_mask() -> None:
    mask = np.zeros(100_003, np.bool_)
    mask[[0, 7, 8, 50_000, 99_999, 100_002]] = True

    assert true_places(mask).tolist() == [0, 7, 8, 50_000, 99_999, 100_002]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 2, 3, -100, 70_000]))),
    st.sampled_from(TYPES),
    st.sampled_from(TYPES),
)
@settings(max_examples=300)
def test_mismatches_are_those_of_a_loop(rows: list[tuple[int, int]], of_tokens: Any, of_labels: Any) -> None:
    tokens = np.array([token for token, _ in rows], of_tokens)
    labels = np.array([label for _, label in rows], np.int64).astype(of_labels)

    is_target = labels != -100

    mismatches = find_label_mismatches(labels, tokens, is_target)

    pairs = zip(labels.tolist(), tokens.tolist(), is_target.tolist(), strict=True)
    assert mismatches.tolist() == [
        i for i, (label, token, asked) in enumerate(pairs) if asked and label != token
    ]


def test_a_label_beyond_the_width_of_tokens_is_no_match() -> None:
    tokens, labels = np.array([5], np.int32), np.array([5 + 2**32])

    assert find_label_mismatches(labels, tokens, np.array([True])).tolist() == [0]


@given(st.lists(st.integers(0, 3), max_size=12), st.sampled_from((np.uint8, *TYPES)))
@settings(max_examples=200)
def test_breaks_are_those_of_a_loop(values: list[int], dtype: Any) -> None:
    positions = np.array(values, dtype)

    found = find_position_breaks(positions)

    broken = [i for i in range(len(values)) if i == 0 or values[i] != values[i - 1] + 1]
    assert found.tolist() == broken
