"""TGT010: labels at another offset than the trainer expects."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.engine.tally import count_batch, tally_hits
from packlint.rule import Totals
from packlint.testing import check, make_batch
from packlint_rules.targets.tgt010_shifted_labels import ShiftedLabels
from tests.packs import Packs, sft_packs, with_config

_C1: Packs = {
    "input_ids": [[1, 11, 12, 13, 2]],
    "labels": [[11, 12, 13, 2, -100]],
    "config": {"profile": "sft", "trainer": "trl"},
}


def _message(packs: Packs) -> str:
    batch = make_batch(packs)
    tally = tally_hits(batch, check(ShiftedLabels, batch))
    totals = Totals(
        shard=batch.shard,
        n_hits=tally.n_hits,
        n_packs=tally.n_packs,
        n_segments=tally.n_segments,
        n_tokens=tally.n_tokens,
        amount=tally.amount,
        measured=tally.measured,
        checked=count_batch(batch),
        worst=tally.exemplars[0],
    )
    return ShiftedLabels().message(totals)


def _move(row: list[int], by: int) -> list[int]:
    """Return the labels stored `by` places further left, the rest ignored."""
    wide = [-100] * 3 + row + [-100] * 3
    return wide[3 + by : 3 + by + len(row)]


@pytest.mark.parametrize("example", ShiftedLabels.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(ShiftedLabels, example)) == 0


def test_case_c1_pre_shifted_labels_for_a_trainer_that_shifts() -> None:
    hits = check(ShiftedLabels, _C1)

    assert hits.packs.tolist() == [0]
    assert hits.amounts.tolist() == [4]
    assert hits.measured == {
        "matched_minus_1": 0,
        "matched_0": 0,
        "matched_plus_1": 4,
        "matched_plus_2": 0,
        "labels": 4,
    }
    assert _message(_C1) == (
        "4 of 4 labels of 1 pack equal the token at offset +1 (-1: 0, 0: 0, +1: 4, +2: 0);"
        " trl expects 0: training would be on t+2"
    )


def test_unshifted_labels_for_a_trainer_that_does_not_shift() -> None:
    packs = {
        **_C1,
        "labels": [[1, 11, 12, 13, 2]],
        "config": {"profile": "sft", "trainer": "automodel"},
    }

    assert _message(packs).endswith("training would be on t+0, a copy of the input")


@pytest.mark.parametrize("trainer", ["automodel", "torchtitan", "megatron-sft"])
def test_pre_shifted_labels_for_trainers_that_want_them(trainer: str) -> None:
    assert len(check(ShiftedLabels, with_config(_C1, trainer=trainer))) == 0


def test_trainer_that_reads_no_labels_cannot_misread_them() -> None:
    assert len(check(ShiftedLabels, with_config(_C1, trainer="nanotron"))) == 0


def test_pack_with_one_label_is_judged_only_with_the_whole_shard() -> None:
    one: dict[str, Any] = {"input_ids": [[1, 11, 12, 13]], "labels": [[-100, 12, -100, -100]]}
    many = {
        "input_ids": [[1, 11, 12, 13], [1, 21, 22, 23, 24, 25, 26, 2]],
        "labels": [[-100, 12, -100, -100], [21, 22, 23, 24, 25, 26, 2, -100]],
    }

    assert len(check(ShiftedLabels, {**one, "config": _C1["config"]})) == 0
    assert check(ShiftedLabels, {**many, "config": _C1["config"]}).packs.tolist() == [0, 1]


def test_constant_runs_match_everywhere_and_are_not_judged() -> None:
    packs = {**_C1, "input_ids": [[5] * 8], "labels": [[5] * 8]}

    assert len(check(ShiftedLabels, packs)) == 0


def test_foreign_labels_are_not_shifted_ones() -> None:
    assert len(check(ShiftedLabels, {**_C1, "labels": [[71, 72, 73, 74, 75]]})) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(max_packs=8), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    """Ordinary ids are made distinct, so that no label matches by chance."""
    planted = copy.deepcopy(packs)
    planted["config"]["spec"]["label_alignment"] = "unshifted"
    fresh = iter(range(1000, 100_000))
    wanted = []
    for pack, row in enumerate(planted["input_ids"]):
        labels = planted["labels"][pack]
        row[:] = [next(fresh) if token > 2 else token for token in row]
        labels[:] = [-100 if label == -100 else row[i] for i, label in enumerate(labels)]
        by = data.draw(st.sampled_from([0, 0, -1, 1, 2]))
        moved = _move(labels, by)
        labels[:] = moved
        live = [i for i, label in enumerate(moved) if label != -100]
        here = sum(moved[i] == row[i] for i in live)
        there = sum(0 <= i + by < len(row) and moved[i] == row[i + by] for i in live)
        if len(live) >= 3 and here < len(live) / 2 <= there:
            wanted.append(pack)

    assert check(ShiftedLabels, planted).packs.tolist() == wanted


@settings(max_examples=25, deadline=None)
@given(sft_packs(), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(ShiftedLabels, with_config(packs, profile=profile))) == 0
