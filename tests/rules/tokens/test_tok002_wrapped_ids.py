"""TOK002: a storage type too small for the vocabulary, or upper ids that are missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.testing import judge, lint, make_batch
from packlint_rules.tokens.tok002_wrapped_ids import WrappedIds
from tests.packs import Packs, sft_packs, text_packs, with_config


def batch_of(ids: list[int], dtype: Any, vocab_size: int, index: int = 0) -> PackBatch:
    batch = make_batch({"input_ids": [ids], "config": {"spec": {"vocab_size": vocab_size}}})
    shard = replace(batch.shard, name=f"shard-{index}", index=index)
    return replace(batch, tokens=np.array(ids, dtype), shard=shard, _cache={})


@pytest.mark.parametrize(
    ("dtype", "vocab_size", "fires"),
    [
        (np.uint16, 65_536, False),
        (np.uint16, 65_537, True),
        (np.int16, 32_768, False),
        (np.int16, 32_769, True),
        (np.uint8, 256, False),
        (np.uint8, 257, True),
        (np.int32, 300_000, False),
        (np.int64, 300_000, False),
        (np.uint64, 300_000, False),
    ],
)
def test_type_against_vocabulary(dtype: Any, vocab_size: int, fires: bool) -> None:
    found = judge(WrappedIds, [batch_of([1, 2], dtype, vocab_size)])

    assert len(found) == fires
    for judgement in found:
        assert judgement.severity is None
        assert judgement.confidence is Confidence.CERTAIN


def test_names_the_shards() -> None:
    batches = [batch_of([1, 2], dtype, 70_000, i) for i, dtype in enumerate([np.int32, np.uint16, np.uint16])]

    (found,) = judge(WrappedIds, [*batches, batches[2]])

    assert [(place.shard, place.pack, place.note) for place in found.locations] == [
        ("shard-2", -1, "stored as uint16"),
        ("shard-1", -1, "stored as uint16"),
    ]
    assert found.n_hits == 2
    assert found.message == "2 shards store their ids as uint16, which holds ids to 65,535; needed: 69,999"


@pytest.mark.parametrize(
    ("declared", "fires"), [("uint16", True), ("int32", False), ("float32", False), ("tokens", False)]
)
def test_a_declared_type_counts_and_nonsense_does_not(declared: str, fires: bool) -> None:
    spec = {"vocab_size": 70_000, "token_dtype": declared}
    batch = make_batch({"input_ids": [[1, 2]], "config": {"spec": spec}})

    assert len(judge(WrappedIds, [batch])) == fires


@pytest.mark.parametrize(
    ("largest", "n_tokens", "vocab_size", "fires"),
    [
        (65_535, 100, 70_001, True),
        (65_536, 100, 70_001, False),
        (65_535, 99, 70_001, False),
        (65_535, 100, 70_000, False),
        (5, 100, 250_000, True),
    ],
)
def test_missing_upper_ids(largest: int, n_tokens: int, vocab_size: int, fires: bool) -> None:
    ids = [1] * (n_tokens - 1) + [largest]
    half = n_tokens // 2
    batches = [batch_of(part, np.int32, vocab_size, i) for i, part in enumerate([ids[:half], ids[half:]])]

    found = judge(WrappedIds, batches, min_tokens=100)

    assert len(found) == fires
    for judgement in found:
        assert judgement.severity is Severity.WARNING
        assert judgement.confidence is Confidence.LIKELY
        assert judgement.measured == {"max_id": largest, "n_tokens": n_tokens, "vocab_size": vocab_size}


def test_narrow_shards_do_not_count_as_missing_upper_ids() -> None:
    batches = [batch_of([1] * 200, np.uint16, 100_000, 0), batch_of([1] * 50, np.int32, 100_000, 1)]

    assert len(judge(WrappedIds, batches, min_tokens=100)) == 1


@given(sft_packs() | text_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=30)
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    batch = make_batch(with_config(packs, profile=profile))

    assert judge(WrappedIds, [batch], min_tokens=1) == []


@given(st.permutations(range(4)))
@settings(max_examples=20)
def test_order_does_not_matter(order: list[int]) -> None:
    batches = [
        batch_of([1, i], dtype, 70_000, i // 2)
        for i, dtype in enumerate([np.int16, np.int16, np.uint16, np.uint16])
    ]

    assert judge(WrappedIds, [batches[i] for i in order]) == judge(WrappedIds, batches)


def test_no_vocabulary_no_batches_no_tokens() -> None:
    assert judge(WrappedIds, []) == []
    assert judge(WrappedIds, [make_batch({"input_ids": [[1, 2]]})]) == []
    assert judge(WrappedIds, [batch_of([], np.int32, 70_000)]) == []


def test_ids_that_the_reference_uses_prove_it() -> None:
    rows = [[1, *range(10, 40), 2]]
    wide = [[1, *(i + 70_000 for i in range(30)), 2]]
    packs = {"input_ids": rows, "config": {"spec": {"vocab_size": 100_000, "token_dtype": "int32"}}}

    proven = lint({**packs, "reference": {"input_ids": wide}})
    silent = lint({**packs, "reference": {"input_ids": rows}})

    [finding] = [f for f in proven.findings if f.code == "TOK002"]
    assert finding.severity == "error"
    assert "93.8 % of the reference is" in finding.message
    assert [f for f in silent.findings if f.code == "TOK002"] == []
