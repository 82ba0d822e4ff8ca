"""ISO002: padding that real tokens can attend to, or that shares their block."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.engine.scan import scan_batch
from packlint.engine.tally import ShardResult, Tally
from packlint.model.batch import PackBatch
from packlint.rule import Totals
from packlint.testing import check, make_batch
from packlint_rules.isolation.iso002_attention_to_padding import AttentionToPadding
from tests.packs import Packs, sft_packs, text_packs, with_config

CONFIG = {"profile": "sft", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}}
MASKED: dict[str, Any] = {"layout": {"padding": "mask_zero", "nothing": 0}, "config": CONFIG}


def masked(ids: list[int], mask: list[int], **columns: list[int]) -> Packs:
    return {"input_ids": [ids], "attention_mask": [mask], **{k: [v] for k, v in columns.items()}, **MASKED}


def test_tail_that_shares_the_last_segment() -> None:
    hits = check(
        AttentionToPadding, masked([1, 2, 1, 2, 0, 0], [1, 1, 1, 1, 0, 0], segment_ids=[1, 1, 2, 2, 2, 2])
    )

    assert (hits.starts.tolist(), hits.stops.tolist()) == ([4], [6])
    assert hits.measured == {"seeing_tokens": 0, "sharing_padding": 2}


def test_padding_before_and_between_real_tokens_is_seen() -> None:
    hits = check(
        AttentionToPadding,
        masked([0, 1, 5, 0, 2, 1, 2], [0, 1, 1, 0, 1, 1, 1], segment_ids=[1, 1, 1, 1, 1, 2, 2]),
    )

    assert hits.starts.tolist() == [0, 3]
    assert hits.measured == {"seeing_tokens": 3, "sharing_padding": 2}


def test_packs_do_not_mix() -> None:
    packs = {
        "input_ids": [[1, 2, 0], [0, 1, 2]],
        "attention_mask": [[1, 1, 0], [0, 1, 1]],
        "segment_ids": [[1, 1, 1], [1, 1, 1]],
        **MASKED,
    }

    hits = check(AttentionToPadding, packs)

    assert hits.packs.tolist() == [0, 1]
    assert hits.measured == {"seeing_tokens": 2, "sharing_padding": 2}


def test_one_causal_block_counts_only_padding_before_real_tokens() -> None:
    plain = {**CONFIG, "trainer": "trl-wrapped"}
    left: Packs = {
        "input_ids": [[0, 0, 1, 2], [1, 2, 0, 0]],
        "segment_ids": [[0, 0, 1, 1], [1, 1, 0, 0]],
        "layout": {"padding": "segment_id", "nothing": 0},
        "config": plain,
    }

    hits = check(AttentionToPadding, left)

    assert (hits.packs.tolist(), hits.starts.tolist(), hits.stops.tolist()) == ([0], [0], [2])
    assert hits.measured == {"seeing_tokens": 2, "sharing_padding": 2}


def test_a_mask_of_zeros_hides_padding_from_a_causal_block() -> None:
    packs = masked([0, 0, 1, 2], [0, 0, 1, 1])

    assert len(check(AttentionToPadding, with_config(packs, trainer="transformers"))) == 0


def test_query_by_key_mask() -> None:
    packs = {
        "input_ids": [[1, 5, 2, 0], [1, 2, 0, 0]],
        "attention_mask": [[1, 1, 1, 0], [1, 1, 0, 0]],
        "dense_mask": [
            [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]],
            [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]],
        ],
        "layout": {"padding": "mask_zero"},
        "config": {"trainer": "transformers"},
    }

    hits = check(AttentionToPadding, packs)

    assert (hits.packs.tolist(), hits.starts.tolist()) == ([0], [2])
    assert hits.measured == {"seeing_tokens": 1, "sharing_padding": 0}


@pytest.mark.parametrize(
    ("columns", "config", "reason"),
    [
        ({"seq_lens": [[2, 1]]}, CONFIG, "no attention mask and no segment ids"),
        ({"segment_ids": [[1, 1, 0]]}, {"profile": "sft"}, "no trainer is known"),
        ({"segment_ids": [[1, 1, 0]]}, CONFIG, None),
        ({"dense_mask": [[[1, 0, 0], [1, 1, 0], [0, 0, 1]]]}, {"profile": "sft"}, None),
    ],
)
def test_what_it_needs(columns: Packs, config: Packs, reason: str | None) -> None:
    batch = make_batch({"input_ids": [[1, 2, 0]], **columns, "config": config})

    told = AttentionToPadding().unchecked(batch)

    assert told is None if reason is None else reason in str(told)


@settings(max_examples=50, deadline=None)
@given(sft_packs(padded=True), st.data())
def test_planted_padding_in_the_last_segment_is_found(packs: Packs, data: st.DataObject) -> None:
    packs["attention_mask"] = [[int(value > 0) for value in row] for row in packs["attention_mask"]]
    packs["layout"]["padding"] = "mask_zero"
    expected = []
    for pack, row in enumerate(packs["segment_ids"]):
        n_padding = row.count(0)
        if n_padding and data.draw(st.booleans()):
            row[len(row) - n_padding :] = [max(row)] * n_padding
            expected.append((pack, n_padding))

    hits = check(AttentionToPadding, packs)

    assert list(zip(hits.packs.tolist(), (hits.stops - hits.starts).tolist(), strict=True)) == expected
    assert hits.measured == {"seeing_tokens": 0, "sharing_padding": sum(n for _, n in expected)}


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["grain", "llama-factory", "trl", "megatron"]))
def test_silent_on_correct_packs(packs: Packs, trainer: str) -> None:
    assert len(check(AttentionToPadding, with_config(packs, trainer=trainer))) == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**32))
def test_query_by_key_masks_at_random(width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    real, may = rng.random((2, width)) < 0.6, rng.random((2, width, width)) < 0.4
    expected = [
        (pack, query)
        for pack in range(2)
        for query in range(width)
        if real[pack, query] and any(may[pack, query, key] and not real[pack, key] for key in range(width))
    ]
    packs = {
        "input_ids": [[5] * width] * 2,
        "attention_mask": real.astype(int).tolist(),
        "dense_mask": may.tolist(),
        "layout": {"padding": "mask_zero"},
        "config": {"trainer": "transformers"},
    }

    hits = check(AttentionToPadding, packs)

    assert list(zip(hits.packs.tolist(), (hits.starts % width).tolist(), strict=True)) == expected


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ([1, 1, 1, 0], "1 padding token shares a block with real tokens; under causal attention none"),
        ([1, 1, 0, 0], "2 padding tokens share blocks with real tokens; under causal attention none"),
        (
            [0, 1, 1, 1],
            "1 padding token shares a block with real tokens; 3 real tokens can attend to padding",
        ),
        ([1, 0, 0, 1], "2 padding tokens share blocks with real tokens; 1 real token can attend to padding"),
    ],
)
def test_message(mask: list[int], said: str) -> None:
    batch = make_batch(masked([5, 5, 5, 5], mask, segment_ids=[1, 1, 1, 1]))
    result = ShardResult()
    rule = AttentionToPadding()
    scan_batch(result, batch, [rule])
    tally = result.tallies["ISO002"]

    assert tally.n_hits
    assert rule.message(totals_of(tally, batch)).startswith(said)


def totals_of(tally: Tally, batch: PackBatch) -> Totals:
    return Totals(
        shard=batch.shard,
        n_hits=tally.n_hits,
        n_packs=tally.n_packs,
        n_segments=tally.n_segments,
        n_tokens=tally.n_tokens,
        amount=tally.amount,
        measured=tally.measured,
        checked={},
        worst=tally.exemplars[0],
    )
