"""SPC004: two end tokens in a row."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.specials.spc004_doubled_end_token import DoubledEndToken
from tests.packs import EOS, Packs, sft_packs, text_packs, with_config


def _packs(rows: list[list[int]], **more: Any) -> Packs:
    return {"input_ids": rows, "config": {"profile": "sft", "spec": {"pad_id": 0, "eos_ids": [2]}}, **more}


@pytest.mark.parametrize("example", DoubledEndToken.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(DoubledEndToken, example)) == 0


def test_end_newline_end() -> None:
    """huggingface/trl#3318."""
    packs = _packs([[1, 11, 2, 9, 2]], seq_lens=[[5]])

    assert len(check(DoubledEndToken, packs)) == 0
    assert check(DoubledEndToken, packs, gap_ids=(9,)).starts.tolist() == [2]


def test_two_different_end_ids_are_the_form_of_a_template() -> None:
    packs = _packs([[1, 11, 4, 2]], seq_lens=[[4]])
    packs["config"]["spec"]["eos_ids"] = [2, 4]

    assert len(check(DoubledEndToken, packs)) == 0


def test_sample_of_an_end_token_alone_is_apart() -> None:
    assert len(check(DoubledEndToken, _packs([[1, 11, 2, 2]], seq_lens=[[3, 1]]))) == 0


def test_scanned_boundaries_make_it_likely() -> None:
    packs = _packs([[11, 2, 2, 12, 2], [2, 12, 2]])
    packs["config"]["trainer"] = "olmo-core"

    hits = check(DoubledEndToken, packs)

    assert hits.starts.tolist() == [1]
    assert hits.confidence is Confidence.LIKELY


def test_tail_that_may_be_padding_does_not_count() -> None:
    packs = _packs([[1, 11, 2, 2, 2], [1, 2, 2, 11, 2]])
    packs["config"]["spec"]["pad_id"] = 2

    assert check(DoubledEndToken, packs).packs.tolist() == [1]


def test_alignment_padding_inside_a_segment_is_told_by_its_labels() -> None:
    """NeMo pads every sample to a multiple with the end id when context parallelism is on."""
    packs = _packs([[1, 11, 2, 2, 1, 11, 12, 2, 0]], labels=[[-100, 11, 2, -100, -100, 11, 12, 2, -100]])
    packs["config"]["spec"]["pad_id"] = 2
    packs["seq_lens"] = [[4, 5]]

    assert len(check(DoubledEndToken, packs)) == 0
    packs["labels"][0][3] = 2
    assert check(DoubledEndToken, packs).starts.tolist() == [2]


def test_id_that_begins_samples_too_is_not_judged() -> None:
    batch = make_batch(
        {"input_ids": [[2, 11, 2, 2, 12, 2]], "config": {"spec": {"bos_id": 2, "eos_ids": [2]}}}
    )

    assert DoubledEndToken().unchecked(batch)


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    base, wanted = 0, []
    for pack, lengths in enumerate(planted["seq_lens"]):
        row, stop = planted["input_ids"][pack], 0
        for length in lengths:
            stop += length
            n = data.draw(st.integers(1, length - 1))
            if data.draw(st.booleans()):
                row[stop - n : stop] = [EOS] * n
                wanted += [(base + stop - n, base + stop)] if n > 1 else []
        base += len(row)

    hits = check(DoubledEndToken, planted)

    assert list(zip(hits.starts.tolist(), hits.stops.tolist(), strict=True)) == wanted
    assert hits.measured["surplus_end_tokens"] == sum(stop - start - 1 for start, stop in wanted)


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(DoubledEndToken, with_config(packs, profile=profile))) == 0
