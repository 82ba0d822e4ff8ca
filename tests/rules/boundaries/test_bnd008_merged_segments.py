"""BND008: recorded segments that hold the join of two samples."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd008_merged_segments import MergedSegments
from tests.packs import Packs, sft_packs, text_packs, with_config


def pack_of(ids: list[int], lengths: list[int], **spec: object) -> Packs:
    return {
        "input_ids": [ids],
        "seq_lens": [lengths],
        "config": {"profile": "sft", "trainer": "trl", "spec": {"bos_id": 1, "eos_ids": [2], **spec}},
    }


def test_a_join_inside_a_segment() -> None:
    hits = check(MergedSegments, pack_of([1, 5, 2, 1, 6, 2, 1, 7, 2], [6, 3]))

    assert (hits.starts.tolist(), hits.stops.tolist()) == ([2], [4])
    assert hits.segments.tolist() == [0]
    assert hits.confidence is Confidence.LIKELY


@pytest.mark.parametrize(
    ("ids", "lengths"),
    [
        ([1, 5, 2, 1, 6, 2], [3, 3]),
        ([1, 31, 2, 41, 2], [5]),  # turns end in the end token
        ([1, 5, 2, 9, 1, 6, 2], [7]),  # something stands between
        ([2], [1]),
        ([1, 5, 2], [3]),
    ],
)
def test_no_join(ids: list[int], lengths: list[int]) -> None:
    assert len(check(MergedSegments, pack_of(ids, lengths))) == 0


def test_packs_do_not_join() -> None:
    packs = {**pack_of([1, 5, 2], [3]), "input_ids": [[1, 5, 2]] * 2, "seq_lens": [[3]] * 2}

    assert len(check(MergedSegments, packs)) == 0


def test_where_each_turn_begins_anew_nobody_can_tell() -> None:
    batch = make_batch(pack_of([1, 5, 2, 1, 6, 2], [6]))
    options = MergedSegments.Options(turns_repeat_begin_token=True)
    reason = "turns begin with the begin token, so that two turns look like two samples"

    assert MergedSegments().unchecked(batch) is None
    assert MergedSegments(options).unchecked(batch) == reason


def test_one_id_for_both_tells_nothing() -> None:
    batch = make_batch(pack_of([2, 5, 2, 2, 6, 2], [6], bos_id=2))

    assert MergedSegments().unchecked(batch) == "begin and end token are the same id"


def test_packs_of_a_malformed_record_are_left_out() -> None:
    assert len(check(MergedSegments, pack_of([1, 5, 2, 1, 6, 2], [7]))) == 0


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.data())
def test_planted_merges_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    expected = []
    for pack, lengths in enumerate(packs["seq_lens"]):
        merged: list[int] = []
        for start, length in zip(itertools.accumulate(lengths, initial=0), lengths, strict=False):
            joins = data.draw(st.booleans())
            if merged and joins:
                merged[-1] += length
                expected.append((pack, start - 1))
            else:
                merged.append(length)
        packs["seq_lens"][pack] = merged
    batch = make_batch(with_config(packs, trainer="trl"))

    hits = check(MergedSegments, batch)

    places = (hits.starts - batch.pack_offsets[hits.packs]).tolist()
    assert list(zip(hits.packs.tolist(), places, strict=True)) == expected


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert len(check(MergedSegments, with_config(packs, profile=profile))) == 0


def test_message() -> None:
    packs = pack_of([1, 5, 2, 1, 6, 2, 1, 7, 2], [9])
    report = packlint.check(
        {"input_ids": packs["input_ids"], "seq_lens": packs["seq_lens"]}, select=["BND008"], **packs["config"]
    )

    assert report.findings[0].message == (
        "2 begin tokens follow an end token inside 1 recorded segment, "
        "as if samples were recorded as one; allowed: 0"
    )
