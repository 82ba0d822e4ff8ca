"""BND001: records of boundaries that contradict each other."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.model.contract import BoundarySource
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd001_conflicting_boundaries import ConflictingBoundaries
from tests.packs import Packs, sft_packs, text_packs, with_config

SPEC = {"bos_id": 1, "eos_ids": [2]}
SCAN: dict[str, Any] = {
    "profile": "pretrain",
    "trainer_contract": {"isolates_by": ["boundary_tokens"], "scans_for_end_token": True},
    "spec": SPEC,
}
B3: Packs = {"input_ids": [[1, 11, 12, 13, 1, 21, 2]], "seq_lens": [[4, 3]], "config": SCAN}


def numbers(lengths: list[int]) -> list[int]:
    return [number for number, length in enumerate(lengths, start=1) for _ in range(length)]


def starts_of(lengths: list[int]) -> set[int]:
    return {sum(lengths[:i]) for i in range(1, len(lengths))}


def pack_of(lengths: list[int], **columns: list[int]) -> Packs:
    return {
        "input_ids": [[5] * sum(lengths)],
        "seq_lens": [lengths],
        "config": {"profile": "sft", "spec": SPEC},
        **{name: [values] for name, values in columns.items()},
    }


def test_case_b3_a_cut_document_swallows_the_next() -> None:
    hits = check(ConflictingBoundaries, B3)

    assert hits.starts.tolist() == [4]
    assert hits.amounts.tolist() == [1]
    assert hits.measured == {
        "conflicts_of_seq_lens_and_boundary_tokens": 1,
        "packs_isolated_by_boundary_tokens": 1,
    }


def test_end_tokens_inside_a_sample_are_not_its_matter() -> None:
    packs = {"input_ids": [[1, 31, 2, 41, 2, 1, 5, 2]], "seq_lens": [[5, 3]], "config": SCAN}

    assert len(check(ConflictingBoundaries, packs)) == 0


@pytest.mark.parametrize(("n_separators", "n_hits"), [(0, 0), (2, 0), (3, 1)])
def test_template_separators_after_the_end_token(n_separators: int, n_hits: int) -> None:
    first = [1, 31, 2, *[9] * n_separators]
    packs = {"input_ids": [[*first, 1, 5, 2]], "seq_lens": [[len(first), 3]], "config": SCAN}

    assert len(check(ConflictingBoundaries, packs)) == n_hits
    assert len(check(ConflictingBoundaries, packs, max_separator_tokens=3)) == 0


def test_a_boundary_of_the_pack_before_is_no_near_one() -> None:
    """The end token before the last token of a pack is not two tokens before the next pack's boundary."""
    packs: dict[str, Any] = {
        "input_ids": [[1, 31, 32, 33, 2, 41], [51, 52, 53, 54]],
        "segment_ids": [[1, 1, 1, 1, 1, 2], [1, 2, 2, 2]],
        "config": SCAN,
    }
    apart = [{**packs, **{name: [packs[name][i]] for name in ("input_ids", "segment_ids")}} for i in (0, 1)]

    assert len(check(ConflictingBoundaries, packs)) == sum(
        len(check(ConflictingBoundaries, p)) for p in apart
    )


def test_a_scan_that_nobody_makes_is_no_record() -> None:
    batch = make_batch({**B3, "config": {"profile": "sft", "trainer": "trl", "spec": SPEC}})

    assert ConflictingBoundaries().unchecked(batch) == "seq_lens is the only record of boundaries"


def test_padding_is_recorded_in_three_ways() -> None:
    packs = {
        "input_ids": [[1, 11, 2, 1, 21, 2, 0, 0]],
        "cu_seqlens": [[0, 3, 8]],
        "segment_ids": [[1, 1, 1, 2, 2, 2, 0, 0]],
        "position_ids": [[0, 1, 2, 0, 1, 2, 0, 0]],
        "layout": {"padding": "segment_id", "nothing": 0},
        "config": {"profile": "sft", "spec": SPEC},
    }

    assert len(check(ConflictingBoundaries, packs)) == 0


def test_padding_inside_a_sample_is_not_a_boundary() -> None:
    packs = pack_of([6], attention_mask=[1, 1, 0, 0, 1, 1], segment_ids=[7] * 6)
    packs["layout"] = {"padding": "mask_zero", "nothing": 0}
    packs["config"]["trainer"] = "llama-factory"

    assert len(check(ConflictingBoundaries, packs)) == 0


def test_a_hole_among_real_tokens_is_a_conflict() -> None:
    packs = pack_of([6], segment_ids=[1, 1, 0, 0, 2, 2])
    packs["layout"] = {"padding": "never_stored", "nothing": 0}

    assert check(ConflictingBoundaries, packs).starts.tolist() == [2]


def test_positions_that_never_restart_in_a_pack_are_left_to_bnd003() -> None:
    packs = {
        "input_ids": [[5] * 6] * 2,
        "seq_lens": [[3, 3], [3, 3]],
        "position_ids": [[0, 1, 2, 3, 4, 5], [0, 1, 2, 0, 1, 2]],
        "config": {"profile": "pretrain", "spec": SPEC},
    }

    assert len(check(ConflictingBoundaries, packs)) == 0


@pytest.mark.parametrize(
    ("profile", "positions", "expected"),
    [
        ("sft", [0, 1, 2, 0, 1, 2, 3, 4, 5], []),  # the last sample runs on: BND003
        ("pretrain", [0, 1, 2, 0, 1, 2, 3, 4, 5], [6]),
        ("sft", [0, 1, 2, 0, 1, 2, 9, 10, 11], []),  # it jumps: BND004
        ("pretrain", [0, 1, 2, 0, 1, 2, 9, 10, 11], []),
        ("sft", [0, 1, 2, 0, 1, 2, 3, 0, 1], [6]),
        ("sft", [0, 1, 0, 1, 0, 1, 0, 1, 2], [2]),
    ],
)
def test_every_fault_of_positions_is_reported_once(
    profile: str, positions: list[int], expected: list[int]
) -> None:
    packs = pack_of([3, 3, 3], position_ids=positions)
    packs["config"]["profile"] = profile

    assert check(ConflictingBoundaries, packs).starts.tolist() == expected


def test_packs_with_a_malformed_record_are_left_to_bnd002() -> None:
    packs = {
        "input_ids": [[5] * 6] * 2,
        "seq_lens": [[3, 3], [3, 4]],
        "segment_ids": [[1, 1, 2, 2, 2, 2]] * 2,
        "layout": {"nothing": 0},
        "config": {"profile": "sft"},
    }

    assert check(ConflictingBoundaries, packs).packs.tolist() == [0]


def test_without_known_padding_a_conflict_is_likely() -> None:
    unknown = pack_of([4, 4], segment_ids=numbers([3, 5]))
    unknown["layout"] = {"padding": "unknown", "nothing": None}
    known = {**unknown, "layout": {"padding": "never_stored", "nothing": None}}

    assert check(ConflictingBoundaries, unknown).confidence is Confidence.LIKELY
    assert check(ConflictingBoundaries, known).confidence is Confidence.CERTAIN


def test_one_hit_per_pack_however_many_records_differ() -> None:
    packs = pack_of([4, 4], segment_ids=numbers([3, 5]), attention_mask=numbers([5, 3]))
    packs["layout"] = {"nothing": 0}

    hits = check(ConflictingBoundaries, packs)

    assert (hits.starts.tolist(), hits.amounts.tolist()) == ([3], [3])
    assert hits.measured["conflicts_of_seq_lens_and_segment_ids"] == 2
    assert hits.measured["conflicts_of_seq_lens_and_attention_mask"] == 2


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_conflicts_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    """Draw other boundaries for some packs in one record."""
    name = data.draw(st.sampled_from(["segment_ids", "attention_mask", "position_ids"]))
    expected = []
    for pack, lengths in enumerate(packs["seq_lens"]):
        if not data.draw(st.booleans()):
            continue
        n_tokens, row = sum(lengths), packs[name][pack]
        starts = data.draw(st.sets(st.integers(1, n_tokens - 1), min_size=1, max_size=4))
        edges = [0, *sorted(starts), n_tokens]
        other = [b - a for a, b in itertools.pairwise(edges)]
        row[:n_tokens] = numbers(other)
        if name == "position_ids":
            row[:n_tokens] = [place for length in other for place in range(length)]
        differing = starts ^ starts_of(lengths)
        if name == "position_ids" and not starts - starts_of(lengths):
            differing = set()  # only missing restarts: BND003
        if differing:
            expected.append((pack, min(differing), len(differing)))
    batch = make_batch(packs)
    if name == "position_ids" and BoundarySource.POSITION_IDS not in batch.boundaries:
        expected = []  # all restarts are single tokens at the ends of packs, as of padding: BND004

    hits = check(ConflictingBoundaries, batch)

    places = (hits.starts - batch.pack_offsets[hits.packs]).tolist()
    assert list(zip(hits.packs.tolist(), places, hits.amounts.tolist(), strict=True)) == expected


@settings(max_examples=50, deadline=None)
@given(text_packs(), st.data())
def test_planted_cuts_hide_boundaries_from_the_scan(packs: Packs, data: st.DataObject) -> None:
    """Take the end token from some samples, as cutting them does."""
    expected = []
    for pack, lengths in enumerate(packs["seq_lens"]):
        lost = []
        for stop in sorted(starts_of(lengths)):
            if data.draw(st.booleans()):
                packs["input_ids"][pack][stop - 1] = 50
                lost.append(stop)
        if lost:
            expected.append((pack, lost[0], len(lost)))
    batch = make_batch(with_config(packs, trainer="olmo-core"))

    hits = check(ConflictingBoundaries, batch)

    places = (hits.starts - batch.pack_offsets[hits.packs]).tolist()
    assert list(zip(hits.packs.tolist(), places, hits.amounts.tolist(), strict=True)) == expected


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(sft_packs(), text_packs()),
    st.sampled_from(["grain", "trl", "llama-factory", "olmo-core", "megatron-reset", "torchtune"]),
    st.sampled_from(["sft", "pretrain"]),
)
def test_silent_on_correct_packs(packs: Packs, trainer: str, profile: str) -> None:
    hits = check(ConflictingBoundaries, with_config(packs, trainer=trainer, profile=profile))

    assert len(hits) == 0


def test_message() -> None:
    columns = copy.deepcopy({name: B3[name] for name in ("input_ids", "seq_lens")})
    report = packlint.check(columns, select=["BND001"], **SCAN)

    (finding,) = report.findings
    assert finding.message == (
        "seq_lens and boundary_tokens give different segments in 1 pack, in pack 0 from token 4; "
        "declared isolates by boundary_tokens; allowed: 0"
    )
