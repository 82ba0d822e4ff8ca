"""SPC001: whole samples without an end token."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.specials.spc001_missing_end_token import MissingEndToken
from tests.packs import EOS, Packs, sft_packs, text_packs, with_config

_SPEC = {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}


def _packs(rows: list[list[int]], lens: list[list[int]], **config: Any) -> Packs:
    return {
        "input_ids": rows,
        "seq_lens": lens,
        "config": {"profile": "sft", "trainer": "grain", "spec": _SPEC, **config},
        "layout": {"padding": "beyond_lengths", "lengths_cover_padding": False},
    }


@pytest.mark.parametrize("example", MissingEndToken.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert len(check(MissingEndToken, example)) == 0


def test_separators_of_the_template_may_follow() -> None:
    packs = _packs([[1, 11, 2, 13, 1, 11, 2, 13, 13, 13, 0]], [[4, 6]])

    assert check(MissingEndToken, packs).segments.tolist() == [1]
    assert len(check(MissingEndToken, packs, max_separator_tokens=3)) == 0


def test_end_of_turn_ends_a_sample() -> None:
    packs = _packs([[1, 11, 4, 1, 12, 4, 0]], [[3, 3]], spec=_SPEC | {"end_of_turn_ids": [4]})

    assert len(check(MissingEndToken, packs)) == 0


def test_end_that_only_a_label_holds_counts() -> None:
    packs = _packs(
        [[1, 11, 12, 1, 21, 22, 0]],
        [[3, 3]],
        trainer="automodel",
        spec=_SPEC | {"label_alignment": "preshifted"},
    )

    hits = check(MissingEndToken, {**packs, "labels": [[11, 12, 2, 21, 22, -100, -100]]})

    assert hits.segments.tolist() == [1]


def test_segment_that_fills_its_pack_may_be_cut() -> None:
    packs = _packs([[1, 11, 12, 13], [1, 11, 12, 0]], [[4], [3]])

    assert check(MissingEndToken, packs).segments.tolist() == [1]


def test_sample_as_long_as_the_limit_may_be_cut() -> None:
    packs = _packs([[1, 11, 12, 1, 11, 2, 0]], [[3, 3]], spec=_SPEC | {"max_sample_len": 3})

    assert len(check(MissingEndToken, packs)) == 0


@pytest.mark.parametrize(("trainer", "wanted"), [("grain", [0, 1]), ("xtuner", [0]), (None, [0])])
def test_last_sample_of_a_pack_counts_only_where_none_is_cut(trainer: str | None, wanted: list[int]) -> None:
    packs = _packs([[1, 11, 12, 1, 11, 12]], [[3, 3]])
    del packs["config"]["trainer"]
    if trainer:
        packs["config"]["trainer"] = trainer

    assert check(MissingEndToken, packs).segments.tolist() == wanted


def test_padding_that_nothing_marks_is_no_missing_end() -> None:
    packs = {**_packs([[1, 11, 2, 1, 12, 2, 0, 0, 0, 0]], [[3, 7]], spec={"eos_ids": [2]}), "layout": {}}

    assert len(check(MissingEndToken, packs)) == 0


def test_filler_recorded_as_segments_is_no_sample() -> None:
    packs = {**_packs([[1, 11, 2, 0, 0, 0]], [[3, 2, 1]], spec={"eos_ids": [2]}), "layout": {}}

    assert len(check(MissingEndToken, packs)) == 0


def test_documents_of_a_stream_are_never_cut() -> None:
    packs: Packs = {
        "input_ids": [[1, 11, 2], [1, 12, 13]],
        "document_starts": [[0], [0]],
        "layout": {"unit": "document", "padding": "never_stored"},
        "config": {"profile": "sft", "trainer": "megatron", "spec": _SPEC},
    }

    assert check(MissingEndToken, packs).packs.tolist() == [1]


def test_loader_that_puts_tokens_in_needs_none_stored() -> None:
    packs: Packs = {
        "input_ids": [[11, 12, 13], [14, 15, 16]],
        "document_starts": [[0], [0]],
        "layout": {"unit": "document", "padding": "never_stored"},
        "config": {"profile": "sft", "trainer": "fms-fsdp", "spec": _SPEC},
    }

    assert len(check(MissingEndToken, packs)) == 0
    assert len(check(MissingEndToken, with_config(packs, trainer="nanotron"))) == 2


def test_trainer_whose_documents_begin_with_the_token_needs_no_end() -> None:
    packs = _packs([[1, 11, 12, 1, 13, 14, 0]], [[3, 3]], trainer="llm-c", profile="pretrain")

    assert len(check(MissingEndToken, packs)) == 0
    assert len(check(MissingEndToken, with_config(packs, trainer="grain"))) == 2


def test_end_id_that_begins_documents_needs_no_end() -> None:
    packs = _packs([[2, 11, 12, 13, 2, 14, 15, 16, 0]], [[4, 4]], spec={"eos_ids": [2], "pad_id": 0})

    assert len(check(MissingEndToken, packs)) == 0
    packs["config"]["spec"]["bos_id"] = 1
    assert len(check(MissingEndToken, packs)) == 2


def test_boundary_without_any_token_is_left_to_spc005() -> None:
    """Case H3, and the same with a begin token after it, where the boundary is there and the end is not."""
    bare = _packs([[11, 12, 21, 22]], [[2, 2]], profile="pretrain")
    begun = _packs([[1, 12, 13, 1, 21, 2]], [[3, 3]], profile="pretrain")

    assert len(check(MissingEndToken, bare)) == 0
    assert check(MissingEndToken, begun).segments.tolist() == [0]


def test_detected_end_ids_make_it_likely() -> None:
    lens = [[3] * 5 for _ in range(4)]
    rows = [[token for i in range(5) for token in (1, 20 + i, 2)] for _ in lens]
    packs = _packs(rows, lens, spec={})

    assert check(MissingEndToken, packs).confidence is Confidence.LIKELY


def test_boundaries_from_end_tokens_cannot_testify() -> None:
    packs: Packs = {
        "input_ids": [[11, 2, 12, 2]],
        "config": {"trainer": "olmo-core", "spec": {"eos_ids": [2]}},
    }

    assert "end tokens" in (MissingEndToken().unchecked(make_batch(packs)) or "")


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.booleans(), st.data())
def test_planted_fault_is_found_there_and_nowhere_else(
    packs: Packs, begins: bool, data: st.DataObject
) -> None:
    """Under `pretrain` only where a begin token follows or padding does; else it is SPC005's or a cut."""
    pretrain = data.draw(st.booleans())
    planted = with_config(packs, profile="pretrain" if pretrain else "sft")
    wanted, number = [], 0
    for pack, lengths in enumerate(planted["seq_lens"]):
        row, stop = planted["input_ids"][pack], 0
        for place, length in enumerate(lengths):
            start, stop = stop, stop + length
            if not begins:
                row[start] = 11
            if data.draw(st.booleans()):
                row[stop - 3 : stop] = [12, 13, 14]
                fills = len(lengths) == 1 and stop == len(row)
                last = place == len(lengths) - 1
                lost = pretrain and (stop == len(row) or not (last or begins))
                wanted += [] if fills or lost else [number]
            number += 1

    hits = check(MissingEndToken, planted)

    assert hits.segments.tolist() == wanted
    assert hits.measured["end_tokens"] == sum(row.count(EOS) for row in planted["input_ids"])


@settings(max_examples=25, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(MissingEndToken, with_config(copy.deepcopy(packs), profile=profile))) == 0
