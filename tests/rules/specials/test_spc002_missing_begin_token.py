"""SPC002: samples without the begin token that is wanted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check, make_batch
from packlint_rules.specials.spc002_missing_begin_token import MissingBeginToken
from tests.packs import Packs, sft_packs, text_packs, with_config

_WANTED = {"extends": "sft", "wants_begin_token": True}


@pytest.mark.parametrize("example", MissingBeginToken.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(MissingBeginToken, example)) == 0


def test_clean_where_no_begin_token_is_wanted() -> None:
    packs: Packs = {"input_ids": [[11, 2]], "config": {"profile": "sft"}}

    assert MissingBeginToken().unchecked(make_batch(packs)) is None
    assert len(check(MissingBeginToken, packs)) == 0


def test_unknown_begin_token_is_said_where_one_is_wanted() -> None:
    packs: Packs = {"input_ids": [[11, 2]], "seq_lens": [[2]], "config": {"profile": _WANTED}}

    assert "bos_id" in (MissingBeginToken().unchecked(make_batch(packs)) or "")


@pytest.mark.parametrize(("trainer", "wanted"), [("grain", [0, 1]), ("xtuner", [1]), (None, [1])])
def test_first_segment_of_a_pack_may_be_a_continuation(trainer: str | None, wanted: list[int]) -> None:
    config = {"profile": _WANTED, "spec": {"bos_id": 1}} | ({"trainer": trainer} if trainer else {})
    packs = {"input_ids": [[11, 2, 12, 2, 1, 2]], "seq_lens": [[2, 2, 2]], "config": config}

    assert check(MissingBeginToken, packs).segments.tolist() == wanted


def test_filler_recorded_as_a_segment_is_no_sample() -> None:
    config = {"profile": _WANTED, "trainer": "grain", "spec": {"bos_id": 1}}
    packs = {"input_ids": [[1, 11, 2, 0, 0, 0]], "seq_lens": [[3, 3]], "config": config}

    assert len(check(MissingBeginToken, packs)) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = with_config(packs, profile=_WANTED)
    wanted, number = [], 0
    for pack, lengths in enumerate(planted["seq_lens"]):
        start = 0
        for length in lengths:
            if data.draw(st.booleans()):
                planted["input_ids"][pack][start] = 50
                wanted.append(number)
            start += length
            number += 1

    hits = check(MissingBeginToken, planted)

    assert hits.segments.tolist() == wanted
    assert hits.measured == {"whole_samples": number}


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    wanted = with_config(packs, profile={"extends": profile, "wants_begin_token": True})

    assert len(check(MissingBeginToken, wanted)) == 0
