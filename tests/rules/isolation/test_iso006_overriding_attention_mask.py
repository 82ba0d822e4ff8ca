"""ISO006: masks of zeros and ones that make the trainer ignore restarted positions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.testing import check
from packlint_rules.isolation.iso006_overriding_attention_mask import OverridingAttentionMask
from tests.packs import Packs, sft_packs, text_packs, with_config

PACK: Packs = {
    "input_ids": [[1, 11, 2, 1, 21, 2, 0]],
    "position_ids": [[0, 1, 2, 0, 1, 2, 0]],
    "attention_mask": [[1, 1, 1, 1, 1, 1, 0]],
    "layout": {"padding": "mask_zero"},
    "config": {"profile": "sft", "trainer": "transformers", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


def binary(packs: Packs) -> Packs:
    """Return the packs with a mask of zeros and ones, padding marked by it, and no other record."""
    mask = [[int(value > 0) for value in row] for row in packs["attention_mask"]]
    kept = {name: packs[name] for name in ("input_ids", "position_ids", "config")}
    return {**kept, "attention_mask": mask, "layout": {"padding": "mask_zero"}}


def test_padding_is_no_sample() -> None:
    hits = check(OverridingAttentionMask, PACK)

    assert hits.packs.tolist() == [0]
    assert hits.amounts.tolist() == [2]
    assert hits.measured == {"ignored_samples": 2}
    assert hits.confidence is Confidence.CERTAIN


def test_one_sample_and_padding_is_no_pack_to_isolate() -> None:
    other = {
        "input_ids": [*PACK["input_ids"], [1, 11, 12, 13, 2, 0, 0]],
        "position_ids": [*PACK["position_ids"], [0, 1, 2, 3, 4, 0, 1]],
        "attention_mask": [*PACK["attention_mask"], [1, 1, 1, 1, 1, 0, 0]],
    }

    assert check(OverridingAttentionMask, {**PACK, **other}).packs.tolist() == [0]


@pytest.mark.parametrize(
    "change",
    [
        {"attention_mask": [[1, 1, 1, 2, 2, 2, 0]]},
        {"position_ids": [[0, 1, 2, 3, 4, 5, 6]]},
        {"config": {**PACK["config"], "trainer": "transformers-flattening"}},
        {"config": {**PACK["config"], "trainer": "axolotl"}},
        {"config": {**PACK["config"], "profile": "pretrain"}},
    ],
)
def test_silent_where_the_mask_numbers_or_nobody_minds(change: Packs) -> None:
    assert len(check(OverridingAttentionMask, {**PACK, **change})) == 0


@settings(max_examples=50, deadline=None)
@given(sft_packs(), st.sampled_from(["transformers", "llama-factory-plain"]))
def test_planted_masks_are_found_in_packs_of_several_samples(packs: Packs, trainer: str) -> None:
    packs = with_config(packs, trainer=trainer)
    expected = [pack for pack, lengths in enumerate(packs["seq_lens"]) if len(lengths) > 1]

    hits = check(OverridingAttentionMask, binary(packs))

    assert hits.packs.tolist() == expected
    assert hits.measured.get("ignored_samples", 0) == sum(len(packs["seq_lens"][pack]) for pack in expected)


@settings(max_examples=50, deadline=None)
@given(st.one_of(sft_packs(), text_packs()), st.sampled_from(["grain", "trl", "llama-factory", "unsloth"]))
def test_silent_for_trainers_that_do_not_prefer_the_mask(packs: Packs, trainer: str) -> None:
    packs = with_config(packs, trainer=trainer)

    assert len(check(OverridingAttentionMask, packs)) == 0
    assert len(check(OverridingAttentionMask, binary(packs))) == 0


def test_message() -> None:
    columns = {name: PACK[name] for name in ("input_ids", "position_ids", "attention_mask")}
    report = packlint.check(columns, profile="sft", trainer="transformers", select=["ISO006"])

    (finding,) = report.findings
    assert "1 pack holds an attention_mask beside positions that restart for 2 samples" in finding.message
    assert "under FlashAttention only if the mask holds zeros" in finding.message
