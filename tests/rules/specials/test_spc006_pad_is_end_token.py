"""SPC006: end tokens that share the padding id and lose their loss."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.testing import check
from packlint_rules.specials.spc006_pad_is_end_token import PadIsEndToken
from tests.packs import EOS, PAD, Packs, sft_packs, text_packs, with_config

_F1: Packs = {
    "input_ids": [[1, 51, 61, 62, 2, 2, 2]],
    "attention_mask": [[1, 1, 1, 1, 1, 0, 0]],
    "labels": [[-100, -100, 61, 62, -100, -100, -100]],
    "config": {"profile": "sft", "spec": {"bos_id": 1, "pad_id": 2, "eos_ids": [2]}},
}


def _without(packs: Packs, *names: str) -> Packs:
    return {name: value for name, value in packs.items() if name not in names}


@pytest.mark.parametrize("example", PadIsEndToken.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(PadIsEndToken, example)) == 0


def test_case_f1_one_genuine_end_token_lost_its_loss() -> None:
    hits = check(PadIsEndToken, _F1)

    assert hits.starts.tolist() == [4]
    assert hits.measured == {"end_tokens": 1, "lost_end_tokens": 1}


def test_case_f1_without_mask_is_likely() -> None:
    hits = check(PadIsEndToken, _without(_F1, "attention_mask"))

    assert hits.starts.tolist() == [4]
    assert hits.confidence is Confidence.LIKELY


def test_end_of_an_untrained_turn_loses_nothing() -> None:
    packs = {
        "input_ids": [[1, 51, 2, 61, 2, 2]],
        "attention_mask": [[1, 1, 1, 1, 1, 0]],
        "labels": [[-100, -100, -100, 61, 2, -100]],
        "config": _F1["config"],
    }

    hits = check(PadIsEndToken, packs)

    assert len(hits) == 0
    assert hits.measured == {"end_tokens": 2, "lost_end_tokens": 0}


def test_trainer_that_masks_by_id_takes_the_loss_of_right_labels() -> None:
    packs = {**_F1, "labels": [[-100, -100, 61, 62, 2, -100, -100]]}

    assert len(check(PadIsEndToken, with_config(packs, trainer="trl"))) == 0
    assert check(PadIsEndToken, with_config(packs, trainer="pai-megatron")).starts.tolist() == [4]


def test_only_the_first_of_a_row_of_ends_is_genuine() -> None:
    packs = {**_without(_F1, "attention_mask"), "labels": [[-100, -100, 61, 62, 2, 2, 2]]}
    packs["seq_lens"] = [[7]]

    assert check(PadIsEndToken, with_config(packs, trainer="pai-megatron")).starts.tolist() == [4]


def test_trainer_that_masks_by_id_without_stored_loss() -> None:
    packs = with_config(_without(_F1, "labels"), trainer="llm-foundry")

    assert check(PadIsEndToken, packs).starts.tolist() == [4]
    assert check(PadIsEndToken, _without(packs, "attention_mask")).starts.tolist() == [4]


def test_tails_that_nobody_can_tell() -> None:
    packs: Packs = {
        "input_ids": [[1, 61, 2, 2, 2], [1, 61, 62, 63, 2], [1, 2, 2, 61, 62]],
        "config": _F1["config"],
    }

    hits = check(PadIsEndToken, packs)

    assert (hits.packs.tolist(), hits.amounts.tolist()) == ([0], [3])
    assert hits.confidence is Confidence.LIKELY


def test_different_ids_are_no_fault() -> None:
    packs = with_config(_F1, spec={"pad_id": 0, "eos_ids": [2]})

    assert check(PadIsEndToken, packs).measured == {}


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = with_config(packs, spec={"pad_id": EOS, "bos_id": 1, "eos_ids": [EOS]})
    base, wanted = 0, []
    for pack, lengths in enumerate(planted["seq_lens"]):
        row, labels, stop = planted["input_ids"][pack], planted["labels"][pack], 0
        row[:] = [EOS if token == PAD else token for token in row]
        for length in lengths:
            stop += length
            if data.draw(st.booleans()):
                labels[stop - 1] = -100
                wanted += [base + stop - 1] if labels[stop - 2] != -100 else []
        base += len(row)

    hits = check(PadIsEndToken, planted)

    assert hits.starts.tolist() == wanted
    assert hits.measured["end_tokens"] == sum(map(len, planted["seq_lens"]))


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]), st.booleans())
def test_silent_on_correct_packs(packs: Packs, profile: str, shared: bool) -> None:
    right = with_config(copy.deepcopy(packs), profile=profile)
    if shared:
        right["config"]["spec"]["pad_id"] = EOS
        right["input_ids"] = [[EOS if t == PAD else t for t in row] for row in right["input_ids"]]

    assert len(check(PadIsEndToken, right)) == 0
