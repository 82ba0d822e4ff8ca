"""TGT014: numbers in the loss mask that are no weights."""

from __future__ import annotations

import copy
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check
from packlint_rules.targets.tgt014_odd_loss_weight import OddLossWeight
from tests.packs import Packs, sft_packs

_PACK: Packs = {"input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]], "seq_lens": [[4, 4]]}


def _hits(mask: list[float], **spec: object) -> list[tuple[int, int]]:
    packs = {**_PACK, "loss_mask": [mask], "config": {"profile": "sft", "spec": spec}}
    hits = check(OddLossWeight, packs)
    return list(zip(hits.starts.tolist(), hits.stops.tolist(), strict=True))


@pytest.mark.parametrize("example", OddLossWeight.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(OddLossWeight, example)) == 0


def test_binary_masks_cost_nothing_and_say_nothing() -> None:
    packs = {**_PACK, "loss_mask": [[0, 0, 1, 1, 0, 0, 1, 1]]}

    assert check(OddLossWeight, packs).measured == {}


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf, -0.5])
@pytest.mark.parametrize("spec", [{}, {"weighted": True}, {"weighted": False}])
def test_what_no_declaration_can_excuse(odd: float, spec: dict[str, object]) -> None:
    assert _hits([0, 0, 1.0, odd, 0, 0, 1.0, 1.0], **spec) == [(3, 4)]


def test_segment_numbers_from_1() -> None:
    assert _hits([0, 0, 1, 1, 0, 0, 2, 2]) == [(2, 4), (6, 8)]


def test_segment_numbers_from_0() -> None:
    packs = {
        "input_ids": [[1, 11, 2, 1, 21, 2, 1, 31, 2]],
        "seq_lens": [[3, 3, 3]],
        "loss_mask": [[0, 0, 0, 0, 1, 1, 0, 2, 2]],
    }

    assert check(OddLossWeight, packs).measured["numbered_weights"] == 4


def test_declared_weights_may_look_like_segment_numbers() -> None:
    assert _hits([0, 0, 1, 1, 0, 0, 2, 2], weighted=True) == []


def test_factors_of_ms_swift_are_weights() -> None:
    assert _hits([0, 0, 1.0, 2.0, 0, 0, 1.0, 2.0]) == []


def test_fractions_are_weights_unless_declared_otherwise() -> None:
    assert _hits([0, 0, 0.5, 0.5, 0, 0, 0.25, 0.25]) == []
    assert _hits([0, 0, 0.5, 0.5, 0, 0, 1, 1], weighted=False) == [(2, 4)]


def test_mask_of_bytes_is_no_weight() -> None:
    assert _hits([0, 0, 255, 255, 0, 0, 255, 255]) == [(2, 4), (6, 8)]


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    planted["loss_mask"] = []
    wanted, base = [], 0
    for labels in planted.pop("labels"):
        mask = [0.0 if label == -100 else data.draw(st.sampled_from([1.0, 0.5])) for label in labels]
        for slot in range(len(mask)):
            if data.draw(st.integers(0, 4)) == 0:
                mask[slot] = data.draw(st.sampled_from([math.nan, math.inf, -1.0, 99.5]))
                wanted.append(base + slot)
        planted["loss_mask"].append(mask)
        base += len(mask)

    hits = check(OddLossWeight, planted)

    found = zip(hits.starts.tolist(), hits.stops.tolist(), strict=True)
    assert [place for a, b in found for place in range(a, b)] == wanted


@settings(max_examples=50, deadline=None)
@given(sft_packs(max_packs=8), st.data())
def test_planted_segment_numbers(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    labels, segment_ids = planted.pop("labels"), planted["segment_ids"]
    planted["loss_mask"] = [[float(label != -100) for label in row] for row in labels]
    wanted = []
    for pack, row in enumerate(planted["loss_mask"]):
        if data.draw(st.booleans()):
            row[:] = [weight * segment for weight, segment in zip(row, segment_ids[pack], strict=True)]
            if max(segment_ids[pack]) > 1:
                wanted.append(pack)

    hits = check(OddLossWeight, planted)

    assert sorted(set(hits.packs.tolist())) == wanted
    assert hits.measured.get("numbered_weights", 0) == sum(
        weight != 0 for pack in wanted for weight in planted["loss_mask"][pack]
    )


@settings(max_examples=25, deadline=None)
@given(sft_packs(), st.sampled_from([1.0, 0.5, 3.0]))
def test_silent_on_correct_packs(packs: Packs, weight: float) -> None:
    weighted = copy.deepcopy(packs)
    weighted["loss_mask"] = [[weight * (label != -100) for label in row] for row in weighted.pop("labels")]

    assert len(check(OddLossWeight, weighted)) == 0
