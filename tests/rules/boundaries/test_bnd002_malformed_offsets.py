"""BND002: offsets and lengths that do not cut the pack."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd002_malformed_offsets import MalformedOffsets
from tests.packs import Packs, sft_packs, text_packs

CASES = map(json.loads, (Path(__file__).parents[2] / "cases.jsonl").read_text().splitlines())
B5 = next(case for case in CASES if case["id"] == "B5")


def pack_of(n_tokens: int, **columns: list[int]) -> Packs:
    return {"input_ids": [[5] * n_tokens], **{name: [values] for name, values in columns.items()}}


@pytest.mark.parametrize(("offsets", "said"), list(zip(B5["cu"], B5["find"], strict=True)))
def test_case_b5(offsets: list[int], said: str) -> None:
    report = packlint.check(pack_of(B5["length"], cu_seqlens=offsets), select=["BND002"])

    (finding,) = report.findings
    assert finding.message == f"cu_seqlens: {said} in 1 pack; allowed: 0"
    assert (finding.n_hits, finding.n_packs, finding.n_tokens) == (1, 1, 0)


def test_repeats_of_the_end_are_padding_of_the_offsets() -> None:
    assert len(check(MalformedOffsets, pack_of(8, cu_seqlens=[0, 3, 8, 8, 8]))) == 0


@pytest.mark.parametrize(
    ("lengths", "kind"), [([3, 4], "sum_not_length"), ([3, 0, 5], "empty_segment"), ([3, -1, 6], "negative")]
)
def test_lengths(lengths: list[int], kind: str) -> None:
    assert check(MalformedOffsets, pack_of(8, seq_lens=lengths)).measured == {f"seq_lens_{kind}": 1}


def test_lengths_may_leave_out_padding_where_the_format_does() -> None:
    packs = pack_of(8, seq_lens=[3, 2])
    packs["layout"] = {"lengths_cover_padding": False, "padding": "beyond_lengths"}

    assert len(check(MalformedOffsets, packs)) == 0
    packs["seq_lens"] = [[3, 6]]
    assert len(check(MalformedOffsets, packs)) == 1


def test_starts_without_an_end() -> None:
    assert len(check(MalformedOffsets, pack_of(8, segment_starts=[0, 3]))) == 0
    assert check(MalformedOffsets, pack_of(8, segment_starts=[0, 8])).measured == {
        "cu_seqlens_last_not_length": 1
    }


def test_each_record_is_a_hit_without_tokens() -> None:
    packs = {
        "input_ids": [[5] * 4] * 3,
        "seq_lens": [[4], [5], [2, 2]],
        "cu_seqlens": [[1, 3], [0, 5], [0, 4]],
    }

    hits = check(MalformedOffsets, packs)

    assert hits.packs.tolist() == [0, 1, 1]
    assert hits.starts.tolist() == hits.stops.tolist() == [0, 4, 4]
    assert hits.amounts.tolist() == [2, 1, 1]
    assert hits.measured == {
        "seq_lens_sum_not_length": 1,
        "cu_seqlens_first_not_zero": 1,
        "cu_seqlens_last_not_length": 2,
    }


def test_without_offsets_or_lengths() -> None:
    batch = make_batch(pack_of(4, segment_ids=[1, 1, 2, 2]))

    assert MalformedOffsets().unchecked(batch) == "the shard stores no offsets and no lengths"


def is_malformed(offsets: list[int], length: int) -> bool:
    while len(offsets) > 1 and offsets[-1] == offsets[-2] == length:
        offsets = offsets[:-1]
    return not offsets or offsets != sorted(set(offsets)) or offsets[0] != 0 or offsets[-1] != length


@settings(max_examples=50, deadline=None)
@given(sft_packs(padded=False), st.data())
def test_planted_changes_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    packs["cu_seqlens"] = [
        [sum(lengths[:i]) for i in range(len(lengths) + 1)] for lengths in packs["seq_lens"]
    ]
    for row in packs["cu_seqlens"]:
        if data.draw(st.booleans()):
            row[data.draw(st.integers(0, len(row) - 1))] += data.draw(st.sampled_from([-5, -1, 1, 5]))
    expected = [
        pack
        for pack, (row, ids) in enumerate(zip(packs["cu_seqlens"], packs["input_ids"], strict=True))
        if is_malformed(row, len(ids))
    ]

    assert check(MalformedOffsets, packs).packs.tolist() == expected


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()))
def test_silent_on_correct_packs(packs: Packs) -> None:
    assert len(check(MalformedOffsets, packs)) == 0


def test_message_of_several_kinds() -> None:
    packs = {
        "input_ids": [[5] * 4] * 3,
        "seq_lens": [[4, 0], [5], [6]],
        "cu_seqlens": [[0, 4], [0, 4], [0, 3]],
    }
    report = packlint.check(packs, select=["BND002"])

    assert report.findings[0].message == (
        "seq_lens: zero-length segment in 1 pack, sum != length in 2 packs; "
        "cu_seqlens: last != length in 1 pack; allowed: 0"
    )
