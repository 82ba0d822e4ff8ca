"""ISO003: samples that the trainer cuts into parts that cannot see each other."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.testing import check, make_batch
from packlint_rules.isolation.iso003_fragmented_sample import FragmentedSample
from tests.packs import Packs, sft_packs, text_packs, with_config

PACK: Packs = {
    "input_ids": [[1, 11, 12, 13, 14, 2, 1, 21, 2]],
    "seq_lens": [[6, 3]],
    "config": {"trainer": "llama-factory", "profile": "sft", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


def test_pairs_across_the_cut_are_hidden() -> None:
    hits = check(FragmentedSample, {**PACK, "attention_mask": [[1, 1, 2, 2, 2, 2, 3, 3, 3]]})

    assert hits.segments.tolist() == [0]
    assert hits.amounts.tolist() == [2 * 4]
    assert hits.measured == {"hidden_pairs": 8}
    assert hits.confidence is Confidence.CERTAIN


def test_numbers_that_come_back_hide_less() -> None:
    hits = check(FragmentedSample, {**PACK, "attention_mask": [[1, 1, 2, 2, 1, 1, 3, 3, 3]]})

    assert hits.amounts.tolist() == [2 * 2 + 2 * 2]


def test_tokens_in_no_block_see_nothing() -> None:
    hits = check(
        FragmentedSample,
        {**PACK, "attention_mask": [[1, 1, 1, 1, 1, 1, 0, 0, 0]], "layout": {"padding": "never_stored"}},
    )

    assert hits.segments.tolist() == [1]
    assert hits.amounts.tolist() == [6]


def test_a_scan_for_end_tokens_cuts_turns_apart() -> None:
    packs = {
        "input_ids": [[1, 31, 2, 41, 2]],
        "seq_lens": [[5]],
        "config": {
            "profile": "pretrain",
            "trainer_contract": {"isolates_by": ["boundary_tokens"], "scans_for_end_token": True},
            "spec": {"eos_ids": [2]},
        },
    }

    assert check(FragmentedSample, packs).amounts.tolist() == [6]


def test_inferred_samples_are_not_judged() -> None:
    batch = make_batch(
        {"input_ids": [[1, 5, 2, 1, 6, 2]], "config": {"trainer": "trl", "spec": {"eos_ids": [2]}}}
    )

    assert FragmentedSample().unchecked(batch) == "only boundary tokens tell where samples begin"


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.data())
def test_planted_cuts_are_found_and_nothing_else(packs: Packs, data: st.DataObject) -> None:
    """Give the tail of some samples a number of its own."""
    expected = []
    number = itertools.count(100)
    segment = 0
    for pack, lengths in enumerate(packs["seq_lens"]):
        start = 0
        for length in lengths:
            if data.draw(st.booleans()):
                head = data.draw(st.integers(1, length - 1))
                mask = packs["attention_mask"][pack]
                mask[start + head : start + length] = [next(number)] * (length - head)
                expected.append((segment, head * (length - head)))
            start, segment = start + length, segment + 1

    hits = check(FragmentedSample, with_config(packs, trainer="llama-factory"))

    assert list(zip(hits.segments.tolist(), hits.amounts.tolist(), strict=True)) == expected


@settings(max_examples=50, deadline=None)
@given(
    st.one_of(sft_packs(), text_packs()),
    st.sampled_from(["grain", "llama-factory", "trl", "transformers-flattening", "megatron", "trl-wrapped"]),
    st.sampled_from(["sft", "pretrain"]),
)
def test_silent_on_correct_packs(packs: Packs, trainer: str, profile: str) -> None:
    hits = check(FragmentedSample, with_config(packs, trainer=trainer, profile=profile))

    assert len(hits) == 0
    assert hits.measured == {"hidden_pairs": 0}


@pytest.mark.parametrize(
    ("mask", "said"), [([1, 2, 2], "1 segment is cut"), ([1, 2, 3], "hides 3 (query, key) pairs")]
)
def test_message(mask: list[int], said: str) -> None:
    report = packlint.check(
        {"input_ids": [[1, 5, 2]], "seq_lens": [[3]], "attention_mask": [mask]},
        trainer="llama-factory",
        select=["ISO003"],
    )

    assert said in report.findings[0].message
