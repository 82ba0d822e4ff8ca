"""Contexts of tokens against a count token by token; which packs are counted."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.lengths import (
    Contexts,
    Lengths,
    context_of,
    context_pairs,
    count_lengths,
    tokens_reaching,
)
from packlint.testing import make_batch, make_batches
from tests.packs import Packs, sft_packs

SAMPLES = st.lists(st.integers(1, 40), min_size=1, max_size=30)


def contexts(samples: list[int]) -> list[int]:
    """Return, token by token, how many tokens of its own sample it sees, itself among them."""
    return [seen for tokens in samples for seen in range(1, tokens + 1)]


@given(SAMPLES, st.integers(-1, 50))
@settings(max_examples=200)
def test_tokens_that_reach_a_context(samples: list[int], least: int) -> None:
    assert tokens_reaching(Counter(samples), least) == sum(seen >= least for seen in contexts(samples))


@given(SAMPLES)
@settings(max_examples=100)
def test_pairs_are_the_sum_of_contexts(samples: list[int]) -> None:
    assert context_pairs(Counter(samples)) == sum(contexts(samples))


@given(SAMPLES, st.sampled_from([8, 16, 40]), st.lists(st.sampled_from([0.1, 0.125, 0.5, 0.9]), min_size=1))
@settings(max_examples=200)
def test_shares_and_effective_context(samples: list[int], row: int, fractions: list[float]) -> None:
    found = Contexts.of({row: Counter(samples)}, fractions)

    seen = contexts(samples)
    one_sample = contexts([row])
    assert found.n_tokens == len(seen)
    assert found.mean_tokens == pytest.approx(sum(seen) / len(seen))
    for fraction, reached, promised in zip(fractions, found.reached, found.promised, strict=True):
        least = context_of(row, fraction)
        assert reached == pytest.approx(sum(n >= least for n in seen) / len(seen))
        assert promised == pytest.approx(sum(n >= least for n in one_sample) / row)


def test_rows_of_several_lengths_promise_each_their_own() -> None:
    found = Contexts.of({4: {4: 1}, 8: {2: 4}}, [0.5])

    assert found.reached == (3 / 12,)
    assert found.promised == pytest.approx(((4 * 3 / 4 + 8 * 5 / 8) / 12,))


def test_no_samples() -> None:
    assert Contexts.of({}, [0.5]) == Contexts(n_tokens=0, mean_tokens=0.0, reached=(0.0,), promised=(0.0,))


@given(st.lists(st.integers(1, 1 << 20), max_size=40))
@settings(max_examples=50)
def test_count_lengths(lengths: list[int]) -> None:
    assert count_lengths(np.array(lengths, np.int64)) == Counter(lengths)


@given(sft_packs(), st.sampled_from([1, 40, 1 << 60]), st.sampled_from([0, 64]))
@settings(max_examples=40)
def test_any_cut_into_batches_counts_the_same(packs: Packs, block_tokens: int, room: int) -> None:
    lengths = Lengths()
    for batch in make_batches(packs, block_tokens):
        lengths.add(batch, room)

    assert lengths.samples == {room: Counter(n for row in packs["seq_lens"] for n in row)}
    assert lengths.n_packs == {room: len(packs["input_ids"])}
    assert list(lengths.by_row(0)) == [room or max(map(len, packs["input_ids"]))]
    assert lengths.n_inferred == 0


def test_malformed_and_empty_packs_are_left_out() -> None:
    lengths = Lengths()
    lengths.add(make_batch({"input_ids": [[1, 2, 3], [4, 5], []], "seq_lens": [[1, 2], [1, 9], []]}), 8)

    assert lengths.samples == {8: {1: 1, 2: 1}}
    assert lengths.n_packs == {8: 1}


def test_slots_that_take_no_room_and_inferred_packs() -> None:
    lengths = Lengths()
    lengths.add(
        make_batch({"input_ids": [[1, 2, 3, 4, 5]], "position_ids": [[0, 1, 0, 1, 2]]}), 8, extra_tokens=1
    )

    assert lengths.samples == {8: {1: 1, 2: 1}}
    assert lengths.n_inferred == 1
