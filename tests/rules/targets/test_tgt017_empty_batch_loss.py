"""TGT017: packs without any target."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check
from packlint_rules.targets.tgt017_empty_batch_loss import EmptyBatchLoss
from tests.packs import Packs, sft_packs, text_packs, with_config


@pytest.mark.parametrize("example", EmptyBatchLoss.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(EmptyBatchLoss, example)) == 0


def test_packs_of_padding_only_are_left_to_fil003() -> None:
    packs = {
        "input_ids": [[0, 0, 0], [1, 11, 0], []],
        "labels": [[-100] * 3, [-100] * 3, []],
        "segment_ids": [[0, 0, 0], [1, 1, 0], []],
    }

    assert check(EmptyBatchLoss, packs).packs.tolist() == [1]


def test_target_that_only_a_label_holds_counts() -> None:
    packs = {
        "input_ids": [[1, 11, 12], [1, 21, 22]],
        "labels": [[-100, -100, 2], [-100, -100, -100]],
        "seq_lens": [[3], [3]],
        "config": {"trainer": "automodel", "spec": {"label_alignment": "preshifted"}},
    }

    assert check(EmptyBatchLoss, packs).packs.tolist() == [1]


@settings(max_examples=50, deadline=None)
@given(sft_packs(max_packs=8), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    wanted = [pack for pack in range(len(planted["labels"])) if data.draw(st.booleans())]
    for pack in wanted:
        planted["labels"][pack] = [-100] * len(planted["labels"][pack])

    hits = check(EmptyBatchLoss, planted)

    assert hits.packs.tolist() == wanted
    assert hits.measured == {"packs_without_target": len(wanted)}


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(EmptyBatchLoss, with_config(packs, profile=profile))) == 0
