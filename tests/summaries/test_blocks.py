"""Blocks in closed form against the mask itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.blocks import count_blocks
from packlint.testing import make_batch

Rows = list[tuple[list[int], int]]
ROWS = st.lists(
    st.tuples(st.lists(st.integers(1, 30), max_size=7), st.integers(0, 25)), min_size=1, max_size=5
)


def packs(rows: Rows) -> dict[str, object]:
    """Return packs of samples of the given lengths, each with padding behind."""
    return {
        "input_ids": [[7] * (sum(lengths) + padding) for lengths, padding in rows],
        "seq_lens": [lengths for lengths, _ in rows],
        "layout": {"lengths_cover_padding": False, "padding": "beyond_lengths"},
    }


def brute_force(rows: Rows, size: int) -> tuple[int, int, int]:
    """Build every mask; return computed blocks, blocks of the whole masks, and allowed pairs."""
    blocks = square = pairs = 0
    for lengths, padding in rows:
        if not lengths:
            continue
        owner = np.repeat([*range(len(lengths)), -1], [*lengths, padding])
        mask = (owner[:, None] == owner[None]) & (owner >= 0)[:, None] & np.tri(owner.size, dtype=bool)
        n = -(-owner.size // size)
        padded = np.zeros((n * size, n * size), bool)
        padded[: owner.size, : owner.size] = mask
        blocks += int(padded.reshape(n, size, n, size).any(axis=(1, 3)).sum())
        square += n * n
        pairs += int(mask.sum())
    return blocks, square, pairs


@given(ROWS, st.sampled_from([1, 2, 4, 8, 16, 128]))
@settings(max_examples=300)
def test_equals_the_mask(rows: Rows, size: int) -> None:
    n = count_blocks(make_batch(packs(rows)), size)

    assert (n["blocks"], n["square_blocks"], n["pairs"]) == brute_force(rows, size)
    assert n["segments"] == sum(len(lengths) for lengths, _ in rows)
    assert n["packs"] == sum(bool(lengths) for lengths, _ in rows)


@pytest.mark.parametrize(("lengths", "sparsity"), [([8192], 49.2), ([1024] * 8, 93.0)])
def test_known_densities(lengths: list[int], sparsity: float) -> None:
    n = count_blocks(make_batch(packs([(lengths, 0)])), 128)

    assert round(100 * (1 - n["blocks"] / n["square_blocks"]), 1) == sparsity


def test_short_and_malformed_packs_are_left_out() -> None:
    rows = {"input_ids": [[7] * 4, [7] * 8, [7] * 8], "seq_lens": [[4], [8], [3, 9]]}

    assert count_blocks(make_batch(rows), 2, min_pack_blocks=4) == {
        "blocks": 10,
        "square_blocks": 16,
        "pairs": 36,
        "segments": 1,
        "packs": 1,
    }


@pytest.mark.parametrize("rows", [[[]], [[], []]])
def test_nothing(rows: list[list[int]]) -> None:
    n = count_blocks(make_batch({"input_ids": rows, "seq_lens": rows}), 128)

    assert set(n.values()) == {0}
