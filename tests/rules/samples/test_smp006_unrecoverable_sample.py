"""SMP006: shards without sample ids."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import PackBatch
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.samples.smp006_unrecoverable_sample import UnrecoverableSample
from tests.packs import Packs, sft_packs, text_packs, with_config


def shard(index: int, n_packs: int, has_ids: bool) -> PackBatch:
    batch = make_batch({"input_ids": [[1, 11, 2]] * n_packs})
    context = replace(batch.shard, name=f"shard-{index}", index=index, has_sample_ids=has_ids)
    return replace(batch, shard=context)


def test_one_finding_for_all_shards() -> None:
    (found,) = judge(UnrecoverableSample, [shard(0, 3, False), shard(1, 2, False)])

    assert found.message == (
        "no shard holds sample ids: findings in 5 packs cannot be led back to their source"
    )
    assert (found.n_hits, found.n_packs) == (5, 5)
    assert [place.shard for place in found.locations] == ["shard-0", "shard-1"]


def test_names_the_shards_that_lack_them() -> None:
    (found,) = judge(UnrecoverableSample, [shard(0, 3, True), shard(1, 2, False)])

    assert found.message == (
        "1 of 2 shards hold no sample ids: findings in 2 packs cannot be led back to their source"
    )
    assert [place.note for place in found.locations] == ["2 packs without sample ids"]


def test_few_places_are_shown_and_all_counted() -> None:
    (found,) = judge(UnrecoverableSample, [shard(i, 1, False) for i in range(9)])

    assert found.n_hits == 9
    assert len(found.locations) == 5


@given(sft_packs() | text_packs(), st.booleans(), st.sampled_from([10, 1 << 60]))
@settings(max_examples=30)
def test_fires_without_ids_and_only_then(packs: Packs, has_ids: bool, block_tokens: int) -> None:
    if has_ids:
        packs["sample_ids"] = [list(range(len(lens))) for lens in packs["seq_lens"]]

    found = judge(UnrecoverableSample, make_batches(packs, block_tokens))

    assert [judgement.n_packs for judgement in found] == ([] if has_ids else [len(packs["input_ids"])])


@given(sft_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=10)
def test_silent_with_ids_under_every_profile(packs: Packs, profile: str) -> None:
    packs["sample_ids"] = [list(range(len(lens))) for lens in packs["seq_lens"]]

    assert judge(UnrecoverableSample, [make_batch(with_config(packs, profile=profile))]) == []


@pytest.mark.parametrize("n_packs", [0, 1])
def test_little_or_no_data(n_packs: int) -> None:
    assert len(judge(UnrecoverableSample, [shard(0, 1, False)] * n_packs)) == n_packs
