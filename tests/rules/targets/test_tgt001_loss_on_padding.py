"""TGT001: targets in padding."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.targets.tgt001_loss_on_padding import LossOnPadding
from tests.packs import PAD, Packs, sft_packs, text_packs, with_config

_E1: Packs = {
    "input_ids": [[1, 71, 81, 91, 92, 83, 2, 0]],
    "labels": [[-100, -100, 81, 91, 92, 83, 2, 0]],
    "config": {"profile": "sft", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


@pytest.mark.parametrize("example", LossOnPadding.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(LossOnPadding, example)) == 0


def test_case_e1_declared_pad_id_is_likely() -> None:
    hits = check(LossOnPadding, _E1)

    assert hits.starts.tolist() == [7]
    assert hits.confidence is Confidence.LIKELY
    assert hits.measured == {"targets": 6, "padding_targets": 1}


def test_case_e1_with_mask_is_certain() -> None:
    hits = check(LossOnPadding, {**_E1, "attention_mask": [[1, 1, 1, 1, 1, 1, 1, 0]]})

    assert hits.starts.tolist() == [7]
    assert hits.confidence is Confidence.CERTAIN


def test_runs_are_cut_where_packs_end() -> None:
    packs = {
        "input_ids": [[1, 11, 2, 0], [0, 0, 0, 0]],
        "labels": [[-100, 11, 2, 0], [0, 0, -100, 0]],
        "segment_ids": [[1, 1, 1, 0], [0, 0, 0, 0]],
    }

    hits = check(LossOnPadding, packs)

    assert hits.starts.tolist() == [3, 4, 7]
    assert hits.packs.tolist() == [0, 1, 1]
    assert hits.amounts.tolist() == [1, 2, 1]


def test_trainer_that_masks_by_id_forgives_its_pad_id_only() -> None:
    """MaxText and seqio pad targets with 0 and mask them themselves."""
    packs = {
        "input_ids": [[1, 11, 2, 0, 7]],
        "labels": [[-100, 11, 2, 0, 7]],
        "segment_ids": [[1, 1, 1, 0, 0]],
        "config": {"trainer": "seqio", "spec": {"pad_id": 0}},
    }

    assert check(LossOnPadding, packs).starts.tolist() == [4]
    assert LossOnPadding().unchecked(make_batch(packs)) is None


def test_trainer_that_masks_by_unknown_id_is_not_judged() -> None:
    packs = {
        "input_ids": [[1, 11, 0]],
        "labels": [[-100, 11, 0]],
        "segment_ids": [[1, 1, 0]],
        "config": {"trainer": "seqio"},
    }

    assert "pad_id" in (LossOnPadding().unchecked(make_batch(packs)) or "")


@settings(max_examples=50, deadline=None)
@given(sft_packs(padded=True), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    wanted = set()
    for pack, row in enumerate(planted["segment_ids"]):
        for slot, segment in enumerate(row):
            if segment == 0 and data.draw(st.booleans()):
                planted["labels"][pack][slot] = PAD
                wanted.add((pack, slot))

    batch = make_batch(planted)
    hits = check(LossOnPadding, batch)

    found = {
        (pack, slot - int(batch.pack_offsets[pack]))
        for pack, start, stop in zip(
            hits.packs.tolist(), hits.starts.tolist(), hits.stops.tolist(), strict=True
        )
        for slot in range(start, stop)
    }
    assert found == wanted
    assert hits.measured["padding_targets"] == len(wanted) == hits.amounts.sum()


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(LossOnPadding, with_config(packs, profile=profile))) == 0
