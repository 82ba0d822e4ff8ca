"""BND004: positions that do not rise by one, are negative or too large."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd004_broken_positions import BrokenPositions
from tests.packs import Packs, sft_packs, text_packs, with_config

NO_PADDING = {"padding": "never_stored"}


def pack_of(lengths: list[int], positions: list[int], **spec: Any) -> Packs:
    return {
        "input_ids": [[5] * sum(lengths)],
        "seq_lens": [lengths],
        "position_ids": [positions],
        "layout": NO_PADDING,
        "config": {"profile": "sft", "trainer": "trl", "spec": spec},
    }


@pytest.mark.parametrize(
    ("positions", "places"),
    [
        ([0, 1, 2, 0, 1, 2], []),
        ([0, 1, 3, 0, 1, 2], [2]),
        ([0, 1, 1, 0, 1, 2], [2]),
        ([0, 2, 1, 0, 1, 2], [1, 2]),
        ([0, 1, 2, 7, 8, 9], [3]),
        ([0, 1, 2, 3, 4, 5], []),  # runs on: BND003
        ([0, 1, 2, 0, 0, 1], []),  # restarts inside a sample: BND001
        ([9, 10, 11, 0, 1, 2], []),  # the tail of a cut sample
        ([2, 3, 4, 2, 3, 4], []),  # encoders that count from 2
    ],
)
def test_steps(positions: list[int], places: list[int]) -> None:
    hits = check(BrokenPositions, pack_of([3, 3], positions))

    found = [p for a, b in zip(hits.starts.tolist(), hits.stops.tolist(), strict=True) for p in range(a, b)]
    assert found == places
    assert hits.measured["broken_steps"] == len(places)


def test_samples_that_go_on_counting_where_the_trainer_does() -> None:
    packs = pack_of([3, 3], [0, 1, 2, 7, 8, 9])

    assert len(check(BrokenPositions, with_config(packs, trainer="torchtune"))) == 0


def test_restarts_that_are_no_record_of_their_own_are_broken_steps() -> None:
    """A look at a few rows saw no restart, so BND001 does not compare positions."""
    packs = {**pack_of([6], [2, 3, 4, 2, 3, 4])}

    assert check(BrokenPositions, packs).starts.tolist() == [3]


def test_positions_that_are_the_only_record() -> None:
    packs = pack_of([6], [0, 1, 2, 0, 1, 3])
    del packs["seq_lens"]

    hits = check(BrokenPositions, packs)

    assert hits.starts.tolist() == [5]
    assert hits.confidence is Confidence.LIKELY


def test_without_any_record_restarts_at_the_first_position_are_allowed() -> None:
    packs = pack_of([6], [2, 3, 4, 2, 3, 4])
    del packs["seq_lens"]

    assert len(check(BrokenPositions, packs)) == 0


def test_rows_of_one_sample() -> None:
    packs = pack_of([6], [0, 1, 2, 0, 1, 2])
    del packs["seq_lens"]
    packs["layout"] = {**NO_PADDING, "unit": "sample"}

    assert check(BrokenPositions, packs).starts.tolist() == [3]


def test_negative_positions() -> None:
    hits = check(BrokenPositions, pack_of([6], [-2, -1, 0, 1, 2, 3]))

    assert (hits.starts.tolist(), hits.stops.tolist()) == ([0], [2])
    assert hits.measured == {"broken_steps": 0, "negative_positions": 2, "large_positions": 0}


def test_what_may_be_padding_where_nothing_tells() -> None:
    packs = {**pack_of([6], [0, 1, 2, 2, -1, -1]), "layout": {"padding": "unknown"}}

    assert len(check(BrokenPositions, packs)) == 0
    assert check(BrokenPositions, {**packs, "layout": NO_PADDING}).measured["broken_steps"] == 3


def test_known_padding_may_have_any_position() -> None:
    packs = {
        "input_ids": [[5, 5, 5, 0, 0, 0]],
        "attention_mask": [[1, 1, 1, 0, 0, 0]],
        "position_ids": [[0, 1, 2, -1, 9, 9]],
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "trainer": "trl", "spec": {"max_sample_len": 3}},
    }

    assert len(check(BrokenPositions, packs)) == 0


@pytest.mark.parametrize("position", [-5, 9])
def test_padding_inside_a_sample_may_have_any_position(position: int) -> None:
    packs = {
        "input_ids": [[5, 0, 5, 5]],
        "attention_mask": [[1, 0, 1, 1]],
        "seq_lens": [[4]],
        "position_ids": [[0, position, 1, 2]],
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "trainer": "trl", "spec": {"max_sample_len": 4}},
    }

    assert len(check(BrokenPositions, packs)) == 0


@pytest.mark.parametrize(
    ("positions", "n_large"),
    [
        ([0, 1, 2, 0, 1, 2], 0),
        ([2, 3, 4, 0, 1, 2], 1),  # 4 of 4 positions
        ([7, 8, 9, 0, 1, 2], 3),
        ([0, 1, 2, 3, 4, 5], 0),  # runs on: BND003
    ],
)
def test_positions_past_the_limit(positions: list[int], n_large: int) -> None:
    hits = check(BrokenPositions, pack_of([3, 3], positions, max_sample_len=4))

    assert hits.measured["large_positions"] == n_large
    assert (hits.stops - hits.starts).sum() == n_large


def test_long_segments_are_left_to_bnd009() -> None:
    assert len(check(BrokenPositions, pack_of([6], [0, 1, 2, 3, 4, 5], max_sample_len=4))) == 0


def test_packs_of_a_malformed_record_are_left_out() -> None:
    packs = pack_of([3, 3], [0, 1, 5, 0, 1, 2])
    packs["seq_lens"] = [[3, 4]]

    assert len(check(BrokenPositions, packs)) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_steps_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    """Shift the tail of some samples up, so that one step in them is wrong."""
    expected = []
    for pack, lengths in enumerate(packs["seq_lens"]):
        row, start = packs["position_ids"][pack], 0
        for length in lengths:
            if data.draw(st.booleans()):
                at = start + data.draw(st.integers(1, length - 1))
                shift = data.draw(st.integers(1, 50))
                row[at : start + length] = [value + shift for value in row[at : start + length]]
                expected.append((pack, at))
            start += length
    batch = make_batch(packs)

    hits = check(BrokenPositions, batch)

    places = (hits.starts - batch.pack_offsets[hits.packs]).tolist()
    assert list(zip(hits.packs.tolist(), places, strict=True)) == expected
    assert hits.measured["broken_steps"] == len(expected)


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(sft_packs(), text_packs()),
    st.sampled_from(["grain", "trl", "torchtune", "llama-factory"]),
    st.sampled_from(["sft", "pretrain"]),
)
def test_silent_on_correct_packs(packs: Packs, trainer: str, profile: str) -> None:
    changed = with_config(packs, trainer=trainer, profile=profile)
    changed["config"]["spec"]["max_sample_len"] = 12

    assert len(check(BrokenPositions, changed)) == 0


def test_message() -> None:
    report = packlint.check(
        {"input_ids": [[5] * 6], "seq_lens": [[3, 3]], "position_ids": [[0, 1, 2, 0, 1, 9]]},
        profile="sft",
        trainer="trl",
        spec={"max_sample_len": 4},
        select=["BND004"],
    )

    assert report.findings[0].message == (
        "1 token has a wrong position (1 not one more than before, 1 not below 4); allowed: 0"
    )
