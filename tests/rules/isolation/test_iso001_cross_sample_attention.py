"""ISO001: tokens that can attend to another sample."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.isolation.iso001_cross_sample_attention import CrossSampleAttention
from tests.packs import Packs, sft_packs, text_packs, with_config

A1: Packs = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "attention_mask": [[1] * 8],
    "position_ids": [list(range(8))],
    "seq_lens": [[4, 4]],
    "config": {"profile": "sft", "trainer": "transformers", "spec": {"bos_id": 1, "eos_ids": [2]}},
}
ISOLATING = ("grain", "trl", "llama-factory", "transformers-flattening", "maxtext", "unsloth")
LEAKING = ("trl-wrapped", "megatron", "colossalai", "nanogpt")


def leaks_of_plain_causal(packs: Packs) -> list[tuple[int, int, int]]:
    """Return pack, first token and leaked pairs of each segment that follows another one."""
    found = []
    for pack, lengths in enumerate(packs["seq_lens"]):
        starts = list(itertools.accumulate(lengths, initial=0))
        found += [(pack, start, start * n) for start, n in zip(starts, lengths, strict=False) if start]
    return found


def test_case_a1() -> None:
    hits = check(CrossSampleAttention, A1)

    assert (hits.starts.tolist(), hits.stops.tolist()) == ([4], [8])
    assert hits.segments.tolist() == [1]
    assert hits.amounts.tolist() == [16]
    assert hits.confidence is Confidence.CERTAIN
    assert hits.measured == {
        "leaked_pairs": 16,
        "allowed_pairs": 36,
        "exposed_tokens": 4,
        "exposed_targets": 4,
        "packs_isolated_by_overridden_positions": 1,
    }


def test_without_need_of_isolation_the_numbers_are_only_measured() -> None:
    hits = check(CrossSampleAttention, with_config(A1, profile="pretrain"))

    assert len(hits) == 0
    assert hits.measured["leaked_pairs"] == 16


def test_boundaries_read_out_of_positions_are_likely() -> None:
    packs = {**A1, "position_ids": [[0, 1, 2, 3, 0, 1, 2, 3]]}
    del packs["seq_lens"]

    hits = check(CrossSampleAttention, packs)

    assert hits.amounts.tolist() == [16]
    assert hits.confidence is Confidence.LIKELY


def test_a_number_that_comes_back_leaks_and_padding_inside_a_sample_does_not() -> None:
    config = {"profile": "sft", "trainer": "llama-factory"}
    back = {"input_ids": [[5] * 6], "attention_mask": [[1, 1, 2, 2, 1, 1]], "config": config}
    holed = {**back, "attention_mask": [[1, 1, 0, 0, 1, 1]], "layout": {"padding": "mask_zero"}}

    hits = check(CrossSampleAttention, back)

    assert (hits.starts.tolist(), hits.amounts.tolist()) == ([4], [4])
    assert len(check(CrossSampleAttention, holed)) == 0


def test_only_exposed_tokens_of_a_segment_are_its_place() -> None:
    packs = {
        "input_ids": [[5] * 8],
        "seq_lens": [[4, 4]],
        "attention_mask": [[1, 1, 1, 1, 2, 2, 1, 1]],
        "config": {"profile": "sft", "trainer": "llama-factory"},
    }

    hits = check(CrossSampleAttention, packs)

    assert (hits.starts.tolist(), hits.stops.tolist()) == ([6], [8])
    assert hits.measured["exposed_tokens"] == 2


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.sampled_from(LEAKING))
def test_one_causal_block_exposes_all_segments_but_the_first(packs: Packs, trainer: str) -> None:
    expected = leaks_of_plain_causal(packs)
    batch = make_batch(with_config(packs, trainer=trainer))
    hits = check(CrossSampleAttention, batch)
    places = (hits.starts - batch.pack_offsets[hits.packs]).tolist()

    assert list(zip(hits.packs.tolist(), places, hits.amounts.tolist(), strict=True)) == expected
    assert hits.measured["leaked_pairs"] == sum(pairs for _, _, pairs in expected)
    totals = [sum(lengths) for lengths in packs["seq_lens"]]
    assert hits.measured["allowed_pairs"] == sum(n * (n + 1) // 2 for n in totals)


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_joins_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    """Give some samples the number of the sample before."""
    expected = []
    for pack, lengths in enumerate(packs["seq_lens"]):
        starts = list(itertools.accumulate(lengths, initial=0))
        for sample in range(1, len(lengths)):
            if data.draw(st.booleans()):
                mask = packs["attention_mask"][pack]
                start, stop = starts[sample], starts[sample + 1]
                joined = mask.index(mask[start - 1])
                mask[start:stop] = [mask[start - 1]] * (stop - start)
                expected.append((pack, start, lengths[sample] * (start - joined)))
    batch = make_batch(with_config(packs, trainer="llama-factory"))

    hits = check(CrossSampleAttention, batch)

    places = (hits.starts - batch.pack_offsets[hits.packs]).tolist()
    assert list(zip(hits.packs.tolist(), places, hits.amounts.tolist(), strict=True)) == expected
    assert hits.confidence is Confidence.CERTAIN


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(ISOLATING), st.sampled_from(["sft", "pretrain"]))
def test_silent_where_the_trainer_reads_the_boundaries(packs: Packs, trainer: str, profile: str) -> None:
    hits = check(CrossSampleAttention, with_config(packs, trainer=trainer, profile=profile))

    assert len(hits) == 0
    assert hits.measured["leaked_pairs"] == hits.measured["exposed_targets"] == 0


@settings(max_examples=50, deadline=None)
@given(text_packs(), st.sampled_from(LEAKING))
def test_silent_where_samples_may_see_each_other(packs: Packs, trainer: str) -> None:
    assert len(check(CrossSampleAttention, with_config(packs, trainer=trainer))) == 0


@pytest.mark.parametrize(
    ("columns", "trainer", "reason"),
    [
        ({"seq_lens": [[4, 4]]}, "trl-wrapped", "trl-wrapped keeps no samples apart"),
        ({"segment_ids": [[1] * 4 + [2] * 4]}, "trl", "trl isolates by seq_lens, which the shard lacks"),
        (
            {"seq_lens": [[4, 4]], "segment_ids": [[1] * 8]},
            "grain",
            "segment_ids, coarser than the true record",
        ),
        (
            {"position_ids": [[0, 1, 2, 3] * 2], "attention_mask": [[1] * 8]},
            "transformers",
            "transformers ignores position_ids beside an attention_mask",
        ),
    ],
)
def test_the_message_says_why(columns: Packs, trainer: str, reason: str) -> None:
    report = packlint.check(
        {"input_ids": A1["input_ids"], **columns},
        profile="sft",
        trainer=trainer,
        select=["ISO001"],
        spec={"bos_id": 1, "eos_ids": [2]},
    )

    (finding,) = report.findings
    assert finding.message.startswith(
        "16 (query, key) pairs reach into another sample, 44.4 % of those allowed"
    )
    assert "4 tokens and 4 targets" in finding.message
    assert reason in finding.message


@pytest.mark.parametrize(
    ("trainer", "spec", "reason"),
    [
        ("megatron-reset", {}, "none is known"),
        ("megatron-reset", {"eos_ids": [2]}, None),
        ("megatron", {"eos_ids": [2]}, "may close turns too"),
        ("megatron", {"eos_ids": [2], "end_of_turn_ids": []}, None),
        ("trl", {"eos_ids": [2], "end_of_turn_ids": [2]}, "closes turns too"),
        ("trl", {"eos_ids": [2], "end_of_turn_ids": [7]}, None),
        ("megatron-reset", {"eos_ids": [2], "end_of_turn_ids": [2]}, None),
    ],
)
def test_tokens_that_tell_nothing(trainer: str, spec: dict[str, Any], reason: str | None) -> None:
    batch = make_batch(
        {"input_ids": [[1, 5, 2, 1, 6, 2]], "config": {"profile": "sft", "trainer": trainer, "spec": spec}}
    )

    told = CrossSampleAttention().unchecked(batch)

    assert told is None if reason is None else reason in str(told)
