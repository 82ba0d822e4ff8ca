"""SMP007: the same pack twice, anywhere in the data set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import PackBatch, Unit
from packlint.rule import Judgement
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.samples.smp007_repeated_pack import RepeatedPack
from tests.packs import Packs, random_packs, sft_packs, text_packs, with_config

ROW = [1, 11, 12, 13, 14, 15, 16, 2]


def repeated(*batches: PackBatch, **options: Any) -> Judgement | None:
    found = judge(RepeatedPack, batches, **options)
    return found[0] if found else None


def shard(index: int, *rows: list[int], dtype: Any = np.int64, **columns: Any) -> PackBatch:
    batch = make_batch({"input_ids": list(rows), **columns})
    context = replace(batch.shard, name=f"shard-{index}", index=index)
    return replace(batch, shard=context, tokens=batch.tokens.astype(dtype), _cache={})


def test_copies_across_shards_and_storage_types() -> None:
    other = [*ROW[:-1], 3]

    found = repeated(shard(0, other, ROW, dtype=np.uint16), shard(1, ROW, ROW, dtype=np.int32))

    assert found is not None
    assert found.message == (
        "2 packs are copies of an earlier pack (1 different, 16 tokens again) of 4 compared; allowed: 0"
    )
    assert (found.n_hits, found.n_packs, found.n_tokens) == (2, 2, 16)
    assert [(place.shard, place.pack, place.stop, place.note) for place in found.locations] == [
        ("shard-1", 0, 8, "same as pack 1 of shard-0"),
        ("shard-1", 1, 8, "same as pack 1 of shard-0"),
    ]


@pytest.mark.parametrize(
    "other",
    [[*ROW, 2], ROW[:-1], ROW[::-1], [*ROW[:6], 2, 16], [*ROW[:-1], -2]],
)
def test_other_packs_are_no_copies(other: list[int]) -> None:
    assert repeated(shard(0, ROW, other), min_pack_tokens=1) is None


@pytest.mark.parametrize(("n_tokens", "fires"), [(7, False), (8, True)])
def test_tiny_packs_are_left_out(n_tokens: int, fires: bool) -> None:
    row = list(range(10, 10 + n_tokens))

    assert (repeated(shard(0, row, row)) is not None) == fires


@pytest.mark.parametrize(("n_real", "fires"), [(7, False), (8, True)])
def test_padding_does_not_make_a_pack_longer(n_real: int, fires: bool) -> None:
    row = [*range(10, 10 + n_real), *[0] * 20]
    mask = [1] * n_real + [0] * 20

    assert (repeated(shard(0, row, row, attention_mask=[mask, mask])) is not None) == fires


def test_packs_of_padding_are_no_copies_whether_it_is_known_or_not() -> None:
    row = [0] * 20

    assert repeated(shard(0, row, row, [], [])) is None
    assert repeated(shard(0, row, row, attention_mask=[row, row])) is None


@pytest.mark.parametrize("unit", [Unit.SAMPLE, Unit.DOCUMENT])
def test_rows_that_are_no_packs(unit: Unit) -> None:
    batch = shard(0, ROW, ROW)

    assert repeated(replace(batch, shard=replace(batch.shard, unit=unit))) is None


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=60)
def test_finds_exactly_the_planted_copies(seed: int, data: st.DataObject) -> None:
    packs = random_packs(np.random.default_rng(seed), n_packs=data.draw(st.integers(1, 6)), max_sample_len=24)
    assert repeated(*make_batches(packs)) is None
    n_packs = len(packs["input_ids"])
    copied = data.draw(st.lists(st.integers(0, n_packs - 1), max_size=8))
    order = data.draw(st.permutations([*range(n_packs), *copied]))
    again = {name: [rows[i] for i in order] for name, rows in packs.items() if isinstance(rows, list)}
    cut = data.draw(st.sampled_from([1, 60, 1 << 60]))

    found = repeated(*make_batches({**packs, **again}, cut))

    long_enough = [i for i in order if sum(packs["seq_lens"][i]) >= 8]
    firsts: dict[int, int] = {}
    copies = set()
    for number, i in enumerate(order):
        if i in long_enough and i in firsts:
            copies.add((number, f"same as pack {firsts[i]} of example"))
        firsts.setdefault(i, number)
    if not copies:
        assert found is None
        return
    assert found is not None
    assert found.n_packs == found.n_hits == len(copies)
    assert found.measured == {
        "repeated_contents": len({note for _, note in copies}),
        "packs_compared": len(long_enough),
    }
    assert found.n_tokens == sum(len(again["input_ids"][number]) for number, _ in copies)
    shown = {(place.pack, place.note) for place in found.locations}
    assert shown <= copies
    assert len(shown) == min(5, len(copies))


@given(sft_packs() | text_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=40)
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    rows = packs["input_ids"]
    unique = [i for i, row in enumerate(rows) if rows.index(row) == i]
    packs.update({name: [rows[i] for i in unique] for name, rows in packs.items() if isinstance(rows, list)})

    assert repeated(make_batch(with_config(packs, profile=profile))) is None


@given(st.permutations(range(5)))
@settings(max_examples=20)
def test_order_of_the_batches_does_not_matter(order: list[int]) -> None:
    batches = [shard(i, ROW, [*ROW, i % 2]) for i in range(5)]

    assert judge(RepeatedPack, [batches[i] for i in order]) == judge(RepeatedPack, batches)


@pytest.mark.parametrize("rows", [[[]], [[], []], [[5]]])
def test_little_or_no_data(rows: list[list[int]]) -> None:
    assert repeated(make_batch({"input_ids": rows}), min_pack_tokens=0) is None
    assert repeated() is None
