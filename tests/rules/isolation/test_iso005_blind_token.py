"""ISO005: real tokens to which the stored mask allows nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.testing import check
from packlint_rules.isolation.iso005_blind_token import BlindToken
from tests.packs import Packs


def packs_of(may: Any, real: Any) -> Packs:
    real = np.asarray(real, np.int64)
    return {
        "input_ids": [[5] * real.shape[1]] * real.shape[0],
        "attention_mask": real.tolist(),
        "dense_mask": np.asarray(may, np.bool_).tolist(),
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "trainer": "transformers"},
    }


def test_rows_of_padding_may_be_empty() -> None:
    may = [[[1, 0, 0], [0, 0, 0], [0, 0, 0]]]

    assert check(BlindToken, packs_of(may, [[1, 1, 0]])).starts.tolist() == [1]
    assert len(check(BlindToken, packs_of(may, [[1, 0, 0]]))) == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32))
def test_planted_blindness_is_found_and_nothing_else(n_packs: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    may = np.repeat(np.tri(width, dtype=np.bool_)[None], n_packs, axis=0)
    real = rng.random((n_packs, width)) < 0.8
    assert len(check(BlindToken, packs_of(may, real))) == 0
    blind = rng.random((n_packs, width)) < 0.3
    may[blind] = False

    hits = check(BlindToken, packs_of(may, real))

    assert hits.starts.tolist() == np.flatnonzero((blind & real).ravel()).tolist()


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([[1, 0], [0, 0]], "1 token can attend to nothing, not even to itself; allowed: 0"),
        ([[0, 0], [0, 0]], "2 tokens can attend to nothing, not even to themselves; allowed: 0"),
    ],
)
def test_message(rows: list[list[int]], said: str) -> None:
    report = packlint.check(
        {"input_ids": np.array([[1, 2]]), "attention_mask": np.array([rows], np.bool_)},
        trainer="transformers",
        select=["ISO005"],
    )

    assert report.findings[0].message == said
