"""FIL003: packs of padding only, or of nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.model.batch import Unit
from packlint.testing import check, make_batch
from packlint_rules.filling.fil003_empty_pack import EmptyPack
from tests.packs import PAD, Packs, sft_packs, text_packs, with_config


def empty(packs: Packs) -> list[int]:
    return [int(pack) for pack in check(EmptyPack, packs).packs]


@given(sft_packs() | text_packs(), st.data())
@settings(max_examples=50)
def test_finds_exactly_the_planted_packs(packs: Packs, data: st.DataObject) -> None:
    n_packs = len(packs["input_ids"])
    planted = data.draw(st.dictionaries(st.integers(0, n_packs - 1), st.booleans()))
    for pack, with_padding in planted.items():
        size = len(packs["input_ids"][pack]) if with_padding else 0
        packs["seq_lens"][pack] = []
        for name, value in (("input_ids", PAD), ("segment_ids", 0), ("attention_mask", 0), ("labels", -100)):
            if name in packs:
                packs[name][pack] = [value] * size
        packs["position_ids"][pack] = list(range(size))

    hits = check(EmptyPack, packs)

    assert hits.packs.tolist() == sorted(planted)
    assert hits.measured == {
        "padding_only": sum(planted.values()),
        "zero_tokens": len(planted) - sum(planted.values()),
    }
    assert hits.amounts.tolist() == [len(packs["input_ids"][pack]) for pack in sorted(planted)]
    assert hits.confidence is Confidence.CERTAIN


@given(sft_packs() | text_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=30)
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert empty(with_config(packs, profile=profile)) == []


def test_one_real_token_is_enough() -> None:
    assert empty({"input_ids": [[5, 0, 0]], "attention_mask": [[1, 0, 0]]}) == []


def test_padding_that_is_known_by_its_id_only_is_likely() -> None:
    config = {"spec": {"pad_id": 0}}

    found = check(EmptyPack, {"input_ids": [[5, 0], [0, 0], []], "config": config})
    zero = check(EmptyPack, {"input_ids": [[5, 0], []], "config": config})

    assert found.packs.tolist() == [1, 2]
    assert found.confidence is Confidence.LIKELY
    assert zero.confidence is Confidence.CERTAIN


def test_unknown_padding_is_said_and_zero_tokens_are_found_all_the_same() -> None:
    batch = make_batch({"input_ids": [[0, 0], []]})

    reason = EmptyPack().unchecked(batch)

    assert reason is not None
    assert "pad_id" in reason
    assert EmptyPack().unchecked(make_batch({"input_ids": [[5]], "attention_mask": [[1]]})) is None
    assert check(EmptyPack, batch).packs.tolist() == [1]


def test_all_packs_empty() -> None:
    assert empty({"input_ids": [[], []]}) == [0, 1]


@pytest.mark.parametrize("unit", [Unit.SAMPLE, Unit.DOCUMENT])
def test_rows_that_are_no_packs(unit: Any) -> None:
    batch = make_batch({"input_ids": [[]]})

    assert len(check(EmptyPack, replace(batch, shard=replace(batch.shard, unit=unit)))) == 0
