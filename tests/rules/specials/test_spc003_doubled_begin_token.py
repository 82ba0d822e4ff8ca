"""SPC003: two begin tokens in a row."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check, make_batch
from packlint_rules.specials.spc003_doubled_begin_token import DoubledBeginToken
from tests.packs import BOS, Packs, sft_packs, text_packs, with_config

_H1: Packs = {
    "input_ids": [[1, 1, 11, 12, 2]],
    "seq_lens": [[5]],
    "config": {"profile": "sft", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


@pytest.mark.parametrize("example", DoubledBeginToken.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(DoubledBeginToken, example)) == 0


def test_case_h1_begin_token_twice() -> None:
    hits = check(DoubledBeginToken, _H1)

    assert (hits.starts.tolist(), hits.stops.tolist()) == ([0], [2])
    assert hits.measured == {"begin_tokens": 2, "surplus_begin_tokens": 1}


def test_three_in_a_row_are_one_place() -> None:
    hits = check(DoubledBeginToken, {**_H1, "input_ids": [[1, 1, 1, 12, 2]]})

    assert (hits.starts.tolist(), hits.stops.tolist(), hits.amounts.tolist()) == ([0], [3], [2])


def test_white_space_may_stand_between_where_its_ids_are_given() -> None:
    packs = {**_H1, "input_ids": [[1, 9, 8, 1, 2]]}

    assert len(check(DoubledBeginToken, packs)) == 0
    assert len(check(DoubledBeginToken, packs, gap_ids=(9,))) == 0
    assert check(DoubledBeginToken, packs, gap_ids=(8, 9)).stops.tolist() == [4]


def test_sample_of_a_begin_token_alone_is_apart() -> None:
    assert len(check(DoubledBeginToken, {**_H1, "seq_lens": [[1, 4]]})) == 0


def test_filling_with_begin_tokens_begins_nothing() -> None:
    """The packer of lit-gpt and TinyLlama fills its last chunk with them."""
    packs = {"input_ids": [[1, 11, 2, 1, 1, 1], [1, 1, 1, 1, 1, 1]], "config": {"spec": {"bos_id": 1}}}

    assert len(check(DoubledBeginToken, packs)) == 0


def test_end_of_one_pack_and_start_of_the_next_are_apart() -> None:
    packs = {"input_ids": [[11, 1], [1, 11]], "config": {"spec": {"bos_id": 1}}}

    assert len(check(DoubledBeginToken, packs)) == 0


@pytest.mark.parametrize("spec", [{"bos_id": 1, "eos_ids": [1]}, {"bos_id": 1, "pad_id": 1}])
def test_ids_with_two_meanings_are_not_judged(spec: dict[str, object]) -> None:
    batch = make_batch({**_H1, "config": {"spec": spec}})

    assert DoubledBeginToken().unchecked(batch)


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    base, wanted = 0, []
    for pack, lengths in enumerate(planted["seq_lens"]):
        row, start = planted["input_ids"][pack], 0
        for length in lengths:
            n = data.draw(st.integers(1, length - 1))
            if data.draw(st.booleans()):
                row[start : start + n] = [BOS] * n
                wanted += [(base + start, base + start + n)] if n > 1 else []
            start += length
        base += len(row)

    hits = check(DoubledBeginToken, planted)

    assert list(zip(hits.starts.tolist(), hits.stops.tolist(), strict=True)) == wanted
    assert hits.amounts.tolist() == [stop - start - 1 for start, stop in wanted]


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(DoubledBeginToken, with_config(packs, profile=profile))) == 0
