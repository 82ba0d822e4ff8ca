"""BND005: padding that the trainer's record counts as samples."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.testing import check
from packlint_rules.boundaries.bnd005_padding_as_segment import PaddingAsSegment
from tests.packs import Packs, sft_packs, text_packs, with_config

B1: Packs = {
    "input_ids": [[1, 11, 2, 1, 21, 2, 0, 0]],
    "position_ids": [[0, 1, 2, 0, 1, 2, 0, 0]],
    "attention_mask": [[1, 1, 1, 1, 1, 1, 0, 0]],
    "layout": {"padding": "mask_zero"},
    "config": {
        "profile": "sft",
        "trainer_contract": {"isolates_by": ["position_ids"], "reads_padding_segments": True},
        "spec": {"bos_id": 1, "eos_ids": [2], "pad_id": 0},
    },
}


def test_case_b1_each_token_at_position_0_is_a_sample() -> None:
    hits = check(PaddingAsSegment, B1)

    assert (hits.starts.tolist(), hits.stops.tolist()) == ([6, 7], [7, 8])
    assert hits.segments.tolist() == [-1, -1]
    assert hits.measured == {"padding_segments": 2, "folded_segments": 0, "folded_padding": 0}
    assert hits.confidence is Confidence.CERTAIN


def test_positions_that_count_up_make_one_sample_of_it() -> None:
    hits = check(PaddingAsSegment, {**B1, "position_ids": [[0, 1, 2, 0, 1, 2, 0, 1]]})

    assert hits.amounts.tolist() == [2]


def test_padding_folded_into_the_last_sample_is_counted_apart() -> None:
    """Megatron-LM's SFTDataset lets positions count on and ends cu_seqlens with the pack."""
    packs = {**B1, "position_ids": [[0, 1, 2, 0, 1, 2, 3, 4]]}

    hits = check(PaddingAsSegment, packs)

    assert len(hits) == 0
    assert hits.measured == {"padding_segments": 0, "folded_segments": 1, "folded_padding": 2}


def test_torchtune_records_the_run_as_its_last_length() -> None:
    packs = {
        "input_ids": [[1, 11, 2, 1, 21, 2, 0, 0]],
        "labels": [[-100, 11, 2, -100, 21, 2, -100, -100]],
        "position_ids": [[0, 1, 2, 0, 1, 2, 3, 4]],
        "seq_lens": [[3, 3, 2]],
        "layout": {"padding": "last_length"},
        "config": {"profile": "sft", "trainer": "torchtune"},
    }

    assert check(PaddingAsSegment, packs).starts.tolist() == [6]


def test_known_by_its_id_only_it_is_likely() -> None:
    packs = {**B1, "layout": {"padding": "unknown"}}
    del packs["attention_mask"]

    hits = check(PaddingAsSegment, packs)

    assert len(hits) == 2
    assert hits.confidence is Confidence.LIKELY


def test_trainers_that_take_it_out_are_trusted() -> None:
    packs = {**B1, "config": {**B1["config"], "trainer_contract": {"isolates_by": ["position_ids"]}}}

    hits = check(PaddingAsSegment, packs)

    assert len(hits) == 0
    assert hits.measured["padding_segments"] == 2


def test_packs_of_a_malformed_record_are_left_out() -> None:
    packs = {
        "input_ids": [[5, 5, 0, 0]] * 2,
        "attention_mask": [[1, 1, 0, 0]] * 2,
        "seq_lens": [[2, 2], [2, 3]],
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "trainer": "trl"},
    }

    assert check(PaddingAsSegment, packs).packs.tolist() == [0]


@settings(max_examples=50, deadline=None)
@given(sft_packs(padded=True), st.data())
def test_planted_segments_of_padding_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    expected = []
    for pack, (lengths, ids) in enumerate(zip(packs["seq_lens"], packs["input_ids"], strict=True)):
        start = sum(lengths)
        while start < len(ids) and data.draw(st.booleans()):
            length = data.draw(st.integers(1, len(ids) - start))
            lengths.append(length)
            expected.append((pack, start, length))
            start += length

    hits = check(PaddingAsSegment, with_config(packs, trainer="trl"))

    width = len(packs["input_ids"][0])
    places = (hits.starts % width).tolist()
    assert list(zip(hits.packs.tolist(), places, hits.amounts.tolist(), strict=True)) == expected


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(sft_packs(), text_packs()),
    st.sampled_from(["grain", "trl", "llama-factory", "automodel", "trl-wrapped", "megatron-sft"]),
    st.sampled_from(["sft", "pretrain"]),
)
def test_silent_on_correct_packs(packs: Packs, trainer: str, profile: str) -> None:
    assert len(check(PaddingAsSegment, with_config(packs, trainer=trainer, profile=profile))) == 0


@pytest.mark.parametrize(
    ("positions", "said"),
    [
        (
            [0, 1, 2, 0, 1, 2, 0, 0],
            "2 recorded segments are nothing but padding (2 tokens): declared takes them",
        ),
        ([0, 1, 2, 0, 1, 2, 0, 1], "1 recorded segment is nothing but padding (2 tokens): declared takes it"),
    ],
)
def test_message(positions: list[int], said: str) -> None:
    columns = {
        "input_ids": B1["input_ids"],
        "attention_mask": B1["attention_mask"],
        "position_ids": [positions],
    }
    report = packlint.check(columns, select=["BND005"], **B1["config"])

    assert report.findings[0].message.startswith(said)
    assert report.findings[0].message.endswith("beside 2 true ones; allowed: 0")
