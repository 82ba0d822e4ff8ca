"""TGT011: labels that equal no token near them."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check, make_batch
from packlint_rules.targets.tgt011_foreign_label import ForeignLabel
from tests.packs import Packs, sft_packs, with_config

_FOREIGN = 500


@pytest.mark.parametrize("example", ForeignLabel.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(ForeignLabel, example)) == 0


def test_one_hit_per_run() -> None:
    packs = {"input_ids": [[1, 11, 12, 13, 14, 2]], "labels": [[-100, 71, 72, 13, 74, 2]]}

    hits = check(ForeignLabel, packs)

    assert hits.starts.tolist() == [1, 4]
    assert hits.stops.tolist() == [3, 5]
    assert hits.measured == {"foreign_labels": 3}


def test_label_of_a_neighbour_is_not_foreign() -> None:
    packs = {"input_ids": [[1, 11, 12, 13, 14, 2]], "labels": [[-100, 11, 11, 14, 14, 2]]}

    assert len(check(ForeignLabel, packs)) == 0


def test_shifted_pack_is_left_to_tgt010() -> None:
    """With ends that only its labels hold, as NeMo Automodel writes them."""
    packs = {
        "input_ids": [[1, 11, 12, 13, 1, 21, 22, 23]],
        "labels": [[11, 12, 13, 9, 21, 22, 23, 9]],
        "seq_lens": [[4, 4]],
        "config": {"trainer": "trl", "spec": {"label_alignment": "unshifted"}},
    }

    assert len(check(ForeignLabel, packs)) == 0


def test_ends_that_only_pre_shifted_labels_hold_are_not_foreign() -> None:
    """No boundary is recorded, so that the reader cannot tell that the end lies outside its segment."""
    packs = {
        "input_ids": [[1, 11, 12, 13, 1, 21, 22, 23]],
        "labels": [[11, 12, 13, 2, 21, 22, 23, 2]],
        "config": {"spec": {"label_alignment": "preshifted", "eos_ids": [2]}},
    }

    assert len(check(ForeignLabel, packs)) == 0
    blind = make_batch({**packs, "config": {"spec": {"label_alignment": "preshifted"}}})
    assert "eos_ids" in (ForeignLabel().unchecked(blind) or "")


def test_tokens_of_another_pack_do_not_count() -> None:
    packs = {"input_ids": [[12, 11, 12], [1, 21, 22]], "labels": [[-100, 11, 12], [12, 21, 22]]}

    assert check(ForeignLabel, packs).starts.tolist() == [3]


def test_ignored_labels_inside_a_loss_mask_ask_for_nothing() -> None:
    packs = {"input_ids": [[1, 11, 12]], "labels": [[-100, -100, 12]], "loss_mask": [[0, 1, 1]]}

    assert len(check(ForeignLabel, packs)) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.booleans(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(
    packs: Packs, preshifted: bool, data: st.DataObject
) -> None:
    planted = copy.deepcopy(packs)
    planted["config"]["spec"]["label_alignment"] = "preshifted" if preshifted else "unshifted"
    planted["config"]["trainer"] = "automodel" if preshifted else "grain"
    wanted, base = [], 0
    for row in planted["labels"]:
        for slot, label in enumerate(row):
            if label != -100 and data.draw(st.integers(0, 3)) == 0:
                row[slot] = _FOREIGN
                wanted.append(base + slot)
        base += len(row)
        if preshifted:
            row[:] = [*row[1:], -100]

    batch = make_batch(planted)
    hits = check(ForeignLabel, batch)

    assert [
        place for a, b in zip(hits.starts.tolist(), hits.stops.tolist(), strict=True) for place in range(a, b)
    ] == wanted
    assert hits.measured == {"foreign_labels": len(wanted)}


@settings(max_examples=25, deadline=None)
@given(sft_packs(), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(ForeignLabel, with_config(packs, profile=profile))) == 0
