"""BND009: segments longer than the declared limit."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.boundaries.bnd009_overlong_segment import OverlongSegment
from tests.packs import Packs, sft_packs, text_packs, with_config


def limited(packs: Packs, limit: int, **config: str) -> Packs:
    return with_config(packs, spec={**packs["config"].get("spec", {}), "max_sample_len": limit}, **config)


def test_only_what_the_scan_joins_is_not_its_matter() -> None:
    """Case B3: the scan sees one document of 7 tokens, the record two of 4 and 3."""
    packs = {
        "input_ids": [[1, 11, 12, 13, 1, 21, 2]],
        "seq_lens": [[4, 3]],
        "config": {
            "profile": "pretrain",
            "trainer_contract": {"isolates_by": ["boundary_tokens"], "scans_for_end_token": True},
            "spec": {"bos_id": 1, "eos_ids": [2], "max_sample_len": 4},
        },
    }

    assert len(check(OverlongSegment, packs)) == 0


def test_padding_does_not_count() -> None:
    packs = {
        "input_ids": [[5, 5, 5, 0, 0]],
        "attention_mask": [[1, 1, 1, 0, 0]],
        "cu_seqlens": [[0, 5]],
        "layout": {"padding": "mask_zero"},
        "config": {"profile": "sft", "spec": {"max_sample_len": 3}},
    }

    assert len(check(OverlongSegment, packs)) == 0


def test_without_a_limit() -> None:
    batch = make_batch({"input_ids": [[5, 5]], "seq_lens": [[2]]})

    assert OverlongSegment().unchecked(batch) == "max_sample_len: unknown; give [spec] max_sample_len"
    assert len(check(OverlongSegment, batch)) == 0


def test_inferred_segments_are_likely() -> None:
    packs = {
        "input_ids": [[5, 5, 5, 2, 5, 2]],
        "config": {"profile": "pretrain", "spec": {"eos_ids": [2], "max_sample_len": 3}},
    }

    hits = check(OverlongSegment, packs)

    assert hits.segments.tolist() == [0]
    assert hits.confidence is Confidence.LIKELY


def test_packs_of_a_malformed_record_are_left_out() -> None:
    packs = {
        "input_ids": [[5] * 6] * 2,
        "seq_lens": [[6], [5]],
        "config": {"profile": "sft", "spec": {"max_sample_len": 4}},
    }

    assert check(OverlongSegment, packs).packs.tolist() == [0]


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.integers(1, 14), st.sampled_from(["sft", "pretrain"]))
def test_exactly_the_longer_ones(packs: Packs, limit: int, profile: str) -> None:
    lengths = [length for row in packs["seq_lens"] for length in row]
    expected = [(i, length - limit) for i, length in enumerate(lengths) if length > limit]

    hits = check(OverlongSegment, limited(packs, limit, profile=profile))

    assert list(zip(hits.segments.tolist(), hits.amounts.tolist(), strict=True)) == expected
    assert hits.measured == {"excess_tokens": sum(excess for _, excess in expected)}


def test_message() -> None:
    report = packlint.check(
        {"input_ids": [[5] * 9], "seq_lens": [[5, 4]]}, spec={"max_sample_len": 3}, select=["BND009"]
    )

    assert (
        report.findings[0].message == "2 segments are too long, the longest with 5 tokens; allowed: 3 tokens"
    )
