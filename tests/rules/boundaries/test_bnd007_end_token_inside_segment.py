"""BND007: end tokens inside recorded samples, for trainers that scan for them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Severity
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd001_conflicting_boundaries import ConflictingBoundaries
from packlint_rules.boundaries.bnd007_end_token_inside_segment import EndTokenInsideSegment
from tests.packs import EOS, Packs, sft_packs, text_packs, with_config

SCANS = {"isolates_by": ["boundary_tokens"], "scans_for_end_token": True}


def pack_of(ids: list[int], lengths: list[int], **contract: Any) -> Packs:
    return {
        "input_ids": [ids],
        "seq_lens": [lengths],
        "config": {
            "profile": "sft",
            "trainer_contract": {**SCANS, **contract},
            "spec": {"bos_id": 1, "eos_ids": [2]},
        },
    }


def test_turns_that_end_in_the_end_token() -> None:
    hits = check(EndTokenInsideSegment, pack_of([1, 31, 2, 41, 2], [5]))

    assert (hits.starts.tolist(), hits.segments.tolist()) == ([3], [0])


def test_the_same_is_not_reported_as_a_conflict() -> None:
    assert len(check(ConflictingBoundaries, pack_of([1, 31, 2, 41, 2], [5]))) == 0


@pytest.mark.parametrize(
    ("ids", "lengths"),
    [
        ([1, 31, 2, 1, 41, 2], [3, 3]),
        ([1, 31, 2, 9, 1, 41, 2, 9], [4, 4]),  # a template's newline follows the end token
        ([1, 31, 41, 2, 2], [5]),  # doubled: SPC004
        ([1, 31, 41], [3]),
        ([2], [1]),
    ],
)
def test_no_false_boundary(ids: list[int], lengths: list[int]) -> None:
    assert len(check(EndTokenInsideSegment, pack_of(ids, lengths))) == 0


def test_separators_are_tolerated_as_far_as_told() -> None:
    packs = pack_of([1, 31, 2, 9, 9, 9], [6])

    assert check(EndTokenInsideSegment, packs).starts.tolist() == [3]
    assert len(check(EndTokenInsideSegment, packs, max_separator_tokens=3)) == 0


def test_a_trainer_that_does_not_scan() -> None:
    packs = pack_of([1, 31, 2, 41, 2], [5], isolates_by=["seq_lens"], scans_for_end_token=False)

    assert len(check(EndTokenInsideSegment, packs)) == 0


def test_a_trainer_that_reads_the_record_first() -> None:
    packs = pack_of([1, 31, 2, 41, 2], [5], isolates_by=["seq_lens", "boundary_tokens"])

    assert len(check(EndTokenInsideSegment, packs)) == 0


def test_a_warning_where_the_scan_makes_no_mask() -> None:
    masks, counts = pack_of([1, 31, 2, 41, 2], [5]), pack_of([1, 31, 2, 41, 2], [5], isolates_by=[])

    assert EndTokenInsideSegment().severity(make_batch(masks).shard) is Severity.ERROR
    assert EndTokenInsideSegment().severity(make_batch(counts).shard) is Severity.WARNING
    assert len(check(EndTokenInsideSegment, counts)) == 1


def test_padding_does_not_count() -> None:
    packs = {**pack_of([1, 31, 2, 41, 2, 0, 0], [5]), "segment_ids": [[1, 1, 1, 1, 1, 0, 0]]}
    packs["layout"] = {"lengths_cover_padding": False}

    hits = check(EndTokenInsideSegment, packs)

    assert (hits.starts.tolist(), hits.confidence) == ([3], Confidence.CERTAIN)


def test_packs_of_a_malformed_record_are_left_out() -> None:
    assert len(check(EndTokenInsideSegment, pack_of([1, 31, 2, 41, 2], [6]))) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_ends_are_found_there_and_nowhere_else(packs: Packs, data: st.DataObject) -> None:
    planted = copy.deepcopy(packs)
    wanted, base = [], 0
    for row, lengths in zip(planted["input_ids"], planted["seq_lens"], strict=True):
        start = 0
        for length in lengths:
            at = data.draw(st.integers(1, length - 2))
            if data.draw(st.booleans()) and at < length - 2:  # else two ends stand in a row
                row[start + at] = EOS
                wanted.append(base + start + at + 1)
            start += length
        base += len(row)

    hits = check(EndTokenInsideSegment, with_config(planted, trainer_contract=SCANS, trainer=None))

    assert hits.starts.tolist() == wanted


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["sft", "pretrain", "strict"]))
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    right = with_config(packs, trainer_contract=SCANS, trainer=None, profile=profile)

    assert len(check(EndTokenInsideSegment, right)) == 0
