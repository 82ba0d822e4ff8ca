"""FIL001: padding and unused room, over the whole data set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import PackBatch, Unit
from packlint.model.spec import Known, Origin
from packlint.rule import Judgement
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.filling.fil001_padding_waste import PaddingWaste
from tests.packs import Packs, sft_packs, text_packs, with_config


def waste(*batches: PackBatch, **options: Any) -> Judgement | None:
    found = judge(PaddingWaste, batches, **options)
    assert len(found) < 2
    return found[0] if found else None


def padded(n_real: int, n_padding: int, **config: Any) -> PackBatch:
    row = [*range(10, 10 + n_real), *[0] * n_padding]
    mask = [1] * n_real + [0] * n_padding
    return make_batch({"input_ids": [row], "attention_mask": [mask], "config": config})


def ragged(*lengths: int, **config: Any) -> PackBatch:
    rows = [list(range(10, 10 + n)) for n in lengths]
    return make_batch({"input_ids": rows, "seq_lens": [[n] for n in lengths], "config": config})


def test_case_k1() -> None:
    """Rows of one sample, 5 5 5 3 3 3, row length 8: 24 of 48 slots used."""
    found = waste(ragged(5, 5, 5, 3, 3, 3, spec={"max_seq_len": 8}))

    assert found is not None
    assert found.message == ("24 of 48 slots used (50 %): 24 are empty in short packs; allowed waste: 5 %")
    assert found.measured == {"padding_fraction": 0.5, "slots": 48, "unused_slots": 24}
    assert (found.n_hits, found.n_packs, found.n_tokens) == (6, 6, 0)


@pytest.mark.parametrize(("n_padding", "fires"), [(0, False), (5, False), (6, True)])
def test_limit(n_padding: int, fires: bool) -> None:
    assert (waste(padded(100 - n_padding, n_padding)) is not None) == fires


def test_limit_is_an_option() -> None:
    assert waste(padded(50, 50), max_padding_fraction=0.5) is None
    assert waste(padded(49, 51), max_padding_fraction=0.5) is not None


def test_shards_are_judged_together_and_the_worst_are_shown() -> None:
    full, half = padded(100, 0), padded(5, 5)
    half = replace(half, shard=replace(half.shard, name="half", index=1))

    assert waste(full, half) is None
    found = waste(full, half, max_padding_fraction=0.01)

    assert found is not None
    assert [(place.shard, place.amount, place.note) for place in found.locations] == [
        ("half", 5, "5 slots wasted")
    ]


@pytest.mark.parametrize("trainer", ["trl", "unsloth", "megatron-bridge"])
def test_trainers_without_padding_waste_no_room_unless_it_was_promised(trainer: str) -> None:
    promised = ragged(3, 3, 5, trainer=trainer, spec={"max_seq_len": 5})
    assert promised.spec.max_seq_len is not None
    stated = replace(promised.spec, max_seq_len=Known(5, Origin.FORMAT))

    assert waste(promised) is not None
    assert waste(replace(promised, shard=replace(promised.shard, spec=stated))) is None


@pytest.mark.parametrize("trainer", ["colossalai", None])
def test_room_that_a_format_states_is_wasted_where_the_trainer_pads(trainer: str | None) -> None:
    batch = ragged(3, 3, 5, trainer=trainer, spec={"max_seq_len": 5})
    stated = replace(batch.spec, max_seq_len=Known(5, Origin.FORMAT))

    found = waste(replace(batch, shard=replace(batch.shard, spec=stated)))

    assert found is not None
    assert found.measured["unused_slots"] == 4


def test_a_detected_length_promises_nothing() -> None:
    batch = make_batch({"input_ids": [[1, 2, 3]] * 3})
    detected = batch.spec.max_seq_len
    assert detected is not None
    shard = replace(batch.shard, spec=replace(batch.spec, max_seq_len=replace(detected, value=9)))

    assert waste(replace(batch, shard=shard)) is None


def test_last_window_of_a_stream_may_be_short() -> None:
    assert waste(ragged(8, 8, 1, trainer="trl-wrapped", spec={"max_seq_len": 8})) is None


def test_longer_packs_waste_nothing() -> None:
    assert waste(ragged(9, 9, trainer="llama-factory", spec={"max_seq_len": 8})) is None


def test_unknown_padding_is_said_and_unused_room_counts_all_the_same() -> None:
    batch = ragged(3, 3, spec={"max_seq_len": 6})

    assert PaddingWaste().unchecked(batch) == (
        "padding: nothing tells padding from tokens; give [spec] pad_id"
    )
    assert PaddingWaste().unchecked(padded(3, 1)) is None
    assert waste(batch) is not None


@pytest.mark.parametrize("unit", [Unit.SAMPLE, Unit.DOCUMENT])
def test_rows_that_are_no_packs_do_not_count(unit: Unit) -> None:
    batch = padded(1, 9)

    assert waste(replace(batch, shard=replace(batch.shard, unit=unit))) is None


@given(sft_packs() | text_packs(), st.sampled_from([10, 40, 1 << 60]))
@settings(max_examples=50)
def test_counts_are_exact_however_the_data_is_cut(packs: Packs, block_tokens: int) -> None:
    found = waste(*make_batches(packs, block_tokens), max_padding_fraction=0.0)

    slots = sum(len(row) for row in packs["input_ids"])
    padding = sum(row.count(0) for row in packs["segment_ids"])
    if padding == 0:
        assert found is None
        return
    assert found is not None
    assert found.n_tokens == padding
    assert found.n_packs == sum(0 in row for row in packs["segment_ids"])
    assert found.measured == {"padding_fraction": padding / slots, "slots": slots, "unused_slots": 0}


@given(sft_packs(padded=False), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=30)
def test_silent_on_packs_without_padding(packs: Packs, profile: str) -> None:
    assert waste(make_batch(with_config(packs, profile=profile))) is None


@pytest.mark.parametrize("rows", [[[]], [[], []]])
def test_packs_without_tokens(rows: list[list[int]]) -> None:
    assert waste(make_batch({"input_ids": rows})) is None
    assert waste() is None
