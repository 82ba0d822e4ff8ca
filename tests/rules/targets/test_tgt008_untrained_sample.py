"""TGT008: samples without any target."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check
from packlint_rules.targets.tgt008_untrained_sample import UntrainedSample
from tests.packs import Packs, sft_packs, text_packs, with_config

_G1: Packs = {
    "input_ids": [[1, 51, 52, 53, 54, 1, 55, 61, 62, 2]],
    "labels": [[-100, -100, -100, -100, -100, -100, -100, 61, 62, 2]],
    "seq_lens": [[5, 5]],
    "config": {"profile": "sft", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


@pytest.mark.parametrize("example", UntrainedSample.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(UntrainedSample, example)) == 0


@pytest.mark.parametrize("trainer", [None, "trl", "torchtune", "grain"])
def test_case_g1_neighbour_does_not_hide_it(trainer: str | None) -> None:
    packs = with_config(_G1, trainer=trainer) if trainer else _G1

    hits = check(UntrainedSample, packs)

    assert hits.segments.tolist() == [0]
    assert hits.amounts.tolist() == [5]
    assert hits.measured == {"untrained_samples": 1, "cut_untrained": 0}


def test_fragment_at_the_edge_of_its_pack_is_counted_apart() -> None:
    packs = {**_G1, "config": {"profile": "sft", "trainer": "xtuner"}}

    hits = check(UntrainedSample, packs)

    assert len(hits) == 0
    assert hits.measured == {"untrained_samples": 0, "cut_untrained": 1}


def test_torchtune_tells_a_continuation_by_its_position() -> None:
    packs = {**_G1, "config": {"profile": "sft", "trainer": "torchtune"}}
    whole = [[0, 1, 2, 3, 4, 0, 1, 2, 3, 4]]
    continued = [[7, 8, 9, 10, 11, 0, 1, 2, 3, 4]]

    assert len(check(UntrainedSample, {**packs, "position_ids": whole})) == 1
    assert len(check(UntrainedSample, {**packs, "position_ids": continued})) == 0


def test_target_that_only_a_label_holds_counts() -> None:
    """NeMo Automodel: the end token of a segment is a label without a token."""
    packs = {
        "input_ids": [[1, 11, 12, 1, 21, 22]],
        "labels": [[-100, -100, 2, 21, 22, 2]],
        "seq_lens": [[3, 3]],
        "config": {"trainer": "automodel", "spec": {"label_alignment": "preshifted"}},
    }

    assert len(check(UntrainedSample, packs)) == 0


def test_filler_recorded_as_segments_is_no_sample() -> None:
    """Lengths that cover unmarked padding; TRL flattening pads with segments of one token."""
    packs = {
        "input_ids": [[1, 11, 2, 0, 0, 0]],
        "labels": [[-100, 11, 2, -100, -100, -100]],
        "seq_lens": [[3, 2, 1]],
    }

    assert len(check(UntrainedSample, packs)) == 0


def test_single_samples_in_rows_are_never_fragments() -> None:
    packs = {
        "input_ids": [[1, 11, 2], [1, 21, 2]],
        "labels": [[-100, -100, -100], [-100, 21, 2]],
        "layout": {"unit": "sample", "padding": "never_stored"},
        "config": {"profile": "sft", "trainer": "axolotl"},
    }

    assert check(UntrainedSample, packs).packs.tolist() == [0]


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    wanted, number = [], 0
    for pack, lengths in enumerate(planted["seq_lens"]):
        start = 0
        for length in lengths:
            if data.draw(st.booleans()):
                planted["labels"][pack][start : start + length] = [-100] * length
                wanted.append(number)
            start += length
            number += 1

    hits = check(UntrainedSample, planted)

    assert hits.segments.tolist() == wanted
    assert hits.measured["untrained_samples"] == len(wanted)


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(UntrainedSample, with_config(packs, profile=profile))) == 0
