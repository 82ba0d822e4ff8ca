"""BND003: positions that do not restart where a sample starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd003_running_positions import RunningPositions
from tests.packs import Packs, sft_packs, text_packs, with_config


def pack_of(lengths: list[int], positions: list[int], **config: str) -> Packs:
    return {
        "input_ids": [[5] * sum(lengths)],
        "seq_lens": [lengths],
        "position_ids": [positions],
        "config": {"profile": "sft", "trainer": "trl", **config},
    }


def test_case_a1() -> None:
    hits = check(RunningPositions, pack_of([4, 4], list(range(8))))

    assert hits.segments.tolist() == [1]
    assert hits.measured == {"inner_segments": 1}


@pytest.mark.parametrize(
    "positions",
    [
        [0, 1, 2, 0, 1, 2],
        [31, 32, 33, 0, 1, 2],  # the tail of a sample that began in the pack before (torchtune)
        [2, 3, 4, 2, 3, 4],  # encoders that count from 2
        [0, 1, 2, 7, 8, 9],  # a jump: BND004
        [0, 1, 0, 1, 2, 3],  # restarts elsewhere: BND001
    ],
)
def test_positions_that_do_not_run_on(positions: list[int]) -> None:
    assert len(check(RunningPositions, pack_of([3, 3], positions))) == 0


def test_samples_of_one_token() -> None:
    assert len(check(RunningPositions, pack_of([1, 1, 1], [0, 0, 0]))) == 0
    assert check(RunningPositions, pack_of([1, 1, 1], [0, 1, 2])).segments.tolist() == [1, 2]


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_positions_of_narrow_types_do_not_run_on_where_the_type_wraps(kind: str) -> None:
    info = np.iinfo(kind)
    batch = make_batch(pack_of([2, 2], [0, 1, 0, 1]))
    wrapping = np.array([info.max - 1, info.max, info.min, info.min + 1], kind)
    object.__setattr__(batch, "position_ids", wrapping)

    assert len(check(RunningPositions, batch)) == 0


def test_a_start_after_padding_at_position_minus_1() -> None:
    """Nanotron marks padding by position -1."""
    packs = {
        "input_ids": [[5, 5, 0, 5, 5]],
        "attention_mask": [[1, 1, 0, 2, 2]],
        "position_ids": [[0, 1, -1, 0, 1]],
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "trainer": "llama-factory"},
    }

    assert len(check(RunningPositions, packs)) == 0


def test_a_stream_may_count_through_its_packs() -> None:
    assert len(check(RunningPositions, pack_of([4, 4], list(range(8)), profile="pretrain"))) == 0


def test_packs_of_a_malformed_record_are_left_out() -> None:
    packs = pack_of([4, 4], list(range(8)))
    packs["seq_lens"] = [[4, 5]]

    assert len(check(RunningPositions, packs)) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_runs_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    expected, segment = [], 0
    for pack, lengths in enumerate(packs["seq_lens"]):
        row, start = packs["position_ids"][pack], 0
        for number, length in enumerate(lengths):
            if number and data.draw(st.booleans()):
                first = row[start - 1] + 1
                row[start : start + length] = range(first, first + length)
                expected.append(segment)
            start, segment = start + length, segment + 1

    assert check(RunningPositions, packs).segments.tolist() == expected
    assert len(check(RunningPositions, with_config(packs, profile="pretrain"))) == 0


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(RunningPositions, with_config(packs, profile=profile))) == 0


def test_message() -> None:
    columns = {
        "input_ids": [[5] * 6] * 2,
        "seq_lens": [[2, 2, 2], [6]],
        "position_ids": [[0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 4, 5]],
    }
    report = packlint.check(columns, profile="sft", trainer="trl", select=["BND003"])

    assert report.findings[0].message == (
        "positions do not restart in 1 of 2 segments that follow another one in their pack; allowed: 0"
    )
