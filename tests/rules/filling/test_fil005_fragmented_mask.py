"""FIL005: blocks that are mostly masked away."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.rule import Judgement
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.filling.fil005_fragmented_mask import FragmentedMask
from tests.packs import Packs, sft_packs, text_packs, with_config


def rows(*lengths: list[int], trainer: str = "torchtune") -> Packs:
    ids = [[7] * sum(samples) for samples in lengths]
    return {"input_ids": ids, "seq_lens": list(lengths), "config": {"trainer": trainer}}


def fragmented(packs: Packs, **options: Any) -> Judgement | None:
    found = judge(FragmentedMask, [make_batch(packs)], **options)
    return found[0] if found else None


def test_by_hand() -> None:
    found = fragmented(rows([16] * 64))  # 8 blocks, none across an edge: 8 blocks of 128 x 128

    assert found is not None
    factor = 8 * 128**2 / (64 * 16 * 17 / 2)
    assert found.measured == {
        "work_factor": pytest.approx(factor),
        "block_density": 8 / 64,
        "samples_per_pack": 64.0,
    }
    assert found.message == (
        "the block mask computes 15.1 times the pairs that samples need (64 samples per pack, block density"
        " 12.5 %); allowed: 8 times"
    )
    assert found.n_packs == 1
    assert [place.amount for place in found.locations] == [8 * 128**2 - 64 * 136]


@pytest.mark.parametrize(
    ("length", "fires"), [(1024, False), (128, False), (64, False), (32, False), (30, True)]
)
def test_only_very_short_samples(length: int, fires: bool) -> None:
    samples = [length] * (2048 // length)
    samples[-1] += 2048 - sum(samples)

    assert (fragmented(rows(samples)) is not None) == fires


def test_smaller_blocks_mend_it() -> None:
    assert fragmented(rows([16] * 64), block_tokens=16) is None
    assert fragmented(rows([16] * 64), max_work_factor=20.0) is None


def test_packs_of_few_blocks_tell_nothing() -> None:
    assert fragmented(rows([16] * 55)) is None
    assert fragmented(rows([16] * 57)) is not None


@pytest.mark.parametrize("trainer", ["megatron", "litgpt", "llama-factory"])
def test_no_block_mask_without_isolation(trainer: str) -> None:
    assert fragmented(rows([16] * 64, trainer=trainer)) is None


def test_inferred_samples_are_likely() -> None:
    packs = {
        "input_ids": [[7] * 1024],
        "position_ids": [[*range(16)] * 64],
        "config": {"trainer": "transformers-flattening"},
    }

    assert fragmented(packs).confidence is Confidence.LIKELY  # type: ignore[union-attr]


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=9), min_size=1, max_size=6), st.data())
@settings(max_examples=60)
def test_any_cut_into_batches_and_shards_gives_the_same(
    lengths: list[list[int]], data: st.DataObject
) -> None:
    packs = rows(*lengths)
    options: dict[str, Any] = {"block_tokens": 4, "min_pack_blocks": 1, "max_work_factor": 2.0}
    batches = make_batches(packs, data.draw(st.sampled_from([1, 20])))
    batches = [replace(b, shard=replace(b.shard, index=i % 3)) for i, b in enumerate(batches)]

    found = judge(FragmentedMask, data.draw(st.permutations(batches)), **options)

    whole = fragmented(packs, **options)
    assert [(f.message, f.measured) for f in found] == (
        [] if whole is None else [(whole.message, whole.measured)]
    )


@given(sft_packs() | text_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=20)
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert fragmented(with_config(packs, profile=profile)) is None


@pytest.mark.parametrize("packs", [rows([]), rows([], []), rows([1])])
def test_little_or_no_data(packs: Packs) -> None:
    assert fragmented(packs, min_pack_blocks=0, max_work_factor=1e9) is None
