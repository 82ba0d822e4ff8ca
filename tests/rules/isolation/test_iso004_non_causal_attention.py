"""ISO004: stored masks that let tokens attend to later ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.testing import check
from packlint_rules.isolation.iso004_non_causal_attention import NonCausalAttention
from tests.packs import Packs


def packs_of(may: Any, real: Any = None) -> Packs:
    n_packs, width, _ = np.shape(may)
    real = np.ones((n_packs, width), np.int64) if real is None else np.asarray(real, np.int64)
    return {
        "input_ids": [[5] * width] * n_packs,
        "attention_mask": real.tolist(),
        "dense_mask": np.asarray(may, np.bool_).tolist(),
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "trainer": "transformers"},
    }


def blocks(rng: np.random.Generator, n_packs: int, width: int) -> Any:
    """Return lower triangles, one per sample of random length."""
    number = np.cumsum(rng.random((n_packs, width)) < 0.3, axis=1)
    return (number[:, :, None] == number[:, None, :]) & np.tri(width, dtype=np.bool_)


def test_one_token_that_sees_two_later_ones() -> None:
    hits = check(NonCausalAttention, packs_of([[[1, 1, 1], [1, 1, 0], [1, 1, 1]]]))

    assert (hits.starts.tolist(), hits.amounts.tolist()) == ([0], [2])
    assert hits.measured == {"later_pairs": 2}


def test_padding_may_see_and_be_seen() -> None:
    everything = [[[1, 1, 1], [1, 1, 1], [1, 1, 1]]]

    assert len(check(NonCausalAttention, packs_of(everything, [[1, 0, 0]]))) == 0
    assert check(NonCausalAttention, packs_of(everything, [[1, 1, 0]])).starts.tolist() == [0]


def test_a_mask_read_the_wrong_way_round() -> None:
    """Megatron-LM stores true for pairs that may not attend."""
    may = np.tri(4, dtype=np.bool_)[None]

    assert check(NonCausalAttention, packs_of(~may)).amounts.tolist() == [3, 2, 1]
    blocking = packs_of(~may)
    blocking["layout"]["dense_mask_blocks"] = True
    assert len(check(NonCausalAttention, blocking)) == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32))
def test_planted_pairs_are_found_and_nothing_else(n_packs: int, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    may, real = blocks(rng, n_packs, width), rng.random((n_packs, width)) < 0.8
    assert len(check(NonCausalAttention, packs_of(may, real))) == 0
    may |= rng.random(may.shape) < 0.1
    expected = []
    for pack in range(n_packs):
        for query in range(width):
            n = sum(bool(may[pack, query, key] and real[pack, key]) for key in range(query + 1, width))
            if real[pack, query] and n:
                expected.append((pack * width + query, n))

    hits = check(NonCausalAttention, packs_of(may, real))

    assert list(zip(hits.starts.tolist(), hits.amounts.tolist(), strict=True)) == expected
    assert hits.measured["later_pairs"] == sum(n for _, n in expected)


def test_message() -> None:
    mask = np.array([[[1, 1, 0], [1, 1, 1], [1, 1, 1]]], np.bool_)
    report = packlint.check(
        {"input_ids": np.array([[1, 5, 2]]), "attention_mask": mask},
        trainer="transformers",
        select=["ISO004"],
    )

    (finding,) = report.findings
    assert finding.message == "2 tokens can attend to later ones (2 (query, key) pairs); allowed: 0"
