"""The content of a shard: equal for the same packs in the same order, and only then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.contents import Content, ShardContents
from packlint.testing import make_batches

Rows = list[list[int]]
ROWS = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=6)


def content(rows: Rows, block_tokens: int = 1 << 60, dtype: type = np.int64) -> Content:
    found = ShardContents()
    for batch in make_batches({"input_ids": rows}, block_tokens):
        found = found.merge(ShardContents.of(replace(batch, tokens=batch.tokens.astype(dtype), _cache={})))
    return found.by_shard[0]


@given(ROWS, ROWS)
@settings(max_examples=300)
def test_equal_rows_and_only_they_are_equal(one: Rows, other: Rows) -> None:
    assert (content(one) == content(other)) == (one == other)


@given(ROWS)
@settings(max_examples=100)
def test_order_counts(rows: Rows) -> None:
    turned = rows[::-1]

    assert (content(turned) == content(rows)) == (turned == rows)


@given(ROWS, st.sampled_from([1, 3, 7]))
@settings(max_examples=100)
def test_neither_batches_nor_storage_type_count(rows: Rows, block_tokens: int) -> None:
    assert content(rows, block_tokens, np.uint16) == content(rows)


def test_where_a_pack_is_cut_counts() -> None:
    assert content([[1, 2], [3]]) != content([[1], [2, 3]])
    assert len({content([[1, 2, 3]]).digest, content([[1, 2, 4]]).digest}) == 2
    assert len(content([[1]]).digest) == 32


def test_groups() -> None:
    a, b = Content((1, 2), 3, 100), Content((2, 2), 3, 100)
    small = Content((5, 5), 1, 10)

    found = ShardContents({3: a, 0: b, 2: small, 5: b, 1: small, 4: a, 6: b})

    assert found.groups(64) == [[0, 5, 6], [3, 4]]
    assert found.groups(1) == [[0, 5, 6], [1, 2], [3, 4]]
