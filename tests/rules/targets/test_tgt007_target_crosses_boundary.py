"""TGT007: targets on the first token of a segment that follows another one."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Severity
from packlint.testing import check, make_batch
from packlint_rules.targets.tgt007_target_crosses_boundary import TargetCrossesBoundary
from tests.packs import Packs, sft_packs, text_packs, with_config

_D1: Packs = {
    "input_ids": [[1, 11, 2, 1, 21, 2]],
    "labels": [[11, 2, 1, 21, 2, -100]],
    "seq_lens": [[3, 3]],
    "config": {"profile": "sft", "spec": {"label_alignment": "preshifted", "eos_ids": [2]}},
}


@pytest.mark.parametrize("example", TargetCrossesBoundary.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(TargetCrossesBoundary, example)) == 0


def test_case_d1_one_crossing_target() -> None:
    hits = check(TargetCrossesBoundary, _D1)

    assert hits.starts.tolist() == [3]
    assert hits.measured == {"targets": 5, "boundary_targets": 1}


def test_case_d1_put_right() -> None:
    assert len(check(TargetCrossesBoundary, {**_D1, "labels": [[11, 2, -100, 21, 2, -100]]})) == 0


def test_end_that_only_labels_hold_is_no_crossing_target() -> None:
    """NeMo Automodel: the last label of a segment is the end id, which the pack does not hold."""
    packs = {**_D1, "input_ids": [[1, 11, 12, 1, 21, 22]], "labels": [[11, 12, 2, 21, 22, 2]]}

    assert len(check(TargetCrossesBoundary, packs)) == 0


def test_first_token_of_a_pack_is_predicted_by_nothing() -> None:
    packs = {
        "input_ids": [[1, 11, 2], [1, 21, 2]],
        "labels": [[1, 11, 2], [1, 21, 2]],
        "seq_lens": [[3], [3]],
    }

    assert len(check(TargetCrossesBoundary, packs)) == 0


def test_padding_between_two_segments_makes_no_boundary() -> None:
    packs = {
        "input_ids": [[1, 11, 2, 0, 1, 21, 2]],
        "labels": [[-100, 11, 2, -100, 1, 21, 2]],
        "segment_ids": [[1, 1, 1, 0, 2, 2, 2]],
    }

    assert len(check(TargetCrossesBoundary, packs)) == 0


@pytest.mark.parametrize(
    ("trainer", "severity"),
    [("torchtune", Severity.ERROR), ("trl", Severity.INFO), (None, Severity.WARNING)],
)
def test_severity_follows_the_trainer(trainer: str | None, severity: Severity) -> None:
    config = {"profile": "sft"} | ({"trainer": trainer} if trainer else {})
    batch = make_batch({**_D1, "labels": [[-100, 11, 2, 1, 21, 2]], "config": config})

    assert TargetCrossesBoundary().severity(batch.shard) is severity
    assert len(check(TargetCrossesBoundary, batch)) == 1


def test_trainer_that_shifts_inside_segments_cannot_have_it() -> None:
    packs = {**_D1, "labels": [[1, 11, 2, 1, 21, 2]], "config": {"profile": "sft", "trainer": "seqio"}}

    assert len(check(TargetCrossesBoundary, packs)) == 0


def test_boundaries_read_out_of_positions_are_likely() -> None:
    packs = {"input_ids": [[1, 11, 2, 1, 21, 2]], "labels": [[-100, 11, 2, 1, 21, 2]]}

    hits = check(TargetCrossesBoundary, {**packs, "position_ids": [[0, 1, 2, 0, 1, 2]]})

    assert hits.starts.tolist() == [3]
    assert hits.confidence is Confidence.LIKELY


def test_malformed_lengths_are_left_to_bnd002() -> None:
    packs = {"input_ids": [[1, 11, 2, 1]], "labels": [[1, 11, 2, 1]], "seq_lens": [[3, 3]]}

    assert len(check(TargetCrossesBoundary, {**packs, "config": {"profile": "sft"}})) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    wanted = []
    base = 0
    for pack, lengths in enumerate(planted["seq_lens"]):
        start = 0
        for number, length in enumerate(lengths):
            if data.draw(st.booleans()):
                planted["labels"][pack][start] = planted["input_ids"][pack][start]
                wanted += [base + start] if number else []
            start += length
        base += len(planted["input_ids"][pack])

    hits = check(TargetCrossesBoundary, planted)

    assert hits.starts.tolist() == wanted
    assert hits.measured["boundary_targets"] == len(wanted)


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    if "labels" in packs:
        assert len(check(TargetCrossesBoundary, with_config(packs, profile=profile))) == 0


def test_policy_that_allows_them_silences() -> None:
    assert len(check(TargetCrossesBoundary, {**_D1, "config": {"profile": "pretrain"}})) == 0
