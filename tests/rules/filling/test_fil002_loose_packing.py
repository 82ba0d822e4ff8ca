"""FIL002: more packs than the bound."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.finding import Confidence
from packlint.model.batch import PackBatch
from packlint.rule import Judgement
from packlint.summaries.packing import packing_bound
from packlint.testing import judge, make_batch, make_batches
from packlint_rules.filling.fil002_loose_packing import LoosePacking
from tests.packs import Packs

ROOM = 8


def rows(*lengths: list[int], trainer: str = "trl", **spec: Any) -> Packs:
    ids = [list(range(10, 10 + sum(samples))) for samples in lengths]
    config = {"trainer": trainer, "spec": {"max_seq_len": ROOM, **spec}}
    return {"input_ids": ids, "seq_lens": list(lengths), "config": config}


def loose(packs: Packs | list[PackBatch], **options: Any) -> Judgement | None:
    batches = packs if isinstance(packs, list) else [make_batch(packs)]
    found = judge(LoosePacking, batches, **options)
    return found[0] if found else None


def test_case_k1() -> None:
    found = loose(rows([5], [5], [5], [3], [3], [3]))

    assert found is not None
    assert found.message == "6 packs used; no packer can use fewer than 3 (100 % more); allowed: 5 %"
    assert found.n_hits == found.n_packs == 3
    assert found.measured == {"packs": 6, "bound": 3, "gap_fraction": 1.0}
    assert found.confidence is Confidence.CERTAIN
    assert loose(rows([5, 3], [5, 3], [5, 3])) is None


def test_padding_that_nobody_can_avoid_is_no_fault() -> None:
    assert loose(rows(*[[5]] * 50)) is None


@pytest.mark.parametrize(("n_extra", "fires"), [(0, False), (1, False), (2, False), (5, False), (6, True)])
def test_limit(n_extra: int, fires: bool) -> None:
    full, halves = [[8]] * (100 - n_extra), [[4]] * (2 * n_extra)

    assert (loose(rows(*full, *halves)) is not None) == fires


def test_one_pack_more_is_rounding() -> None:
    assert loose(rows([4], [4])) is None
    assert loose(rows([4], [4]), min_gap_packs=1) is not None


@pytest.mark.parametrize("trainer", ["xtuner", "megatron", "prolong", "torchtitan"])
def test_packers_that_cut_are_left_alone(trainer: str) -> None:
    assert loose(rows([5], [5], [5], [3], [3], [3], trainer=trainer)) is None


def test_row_lengths_are_packed_apart() -> None:
    long = make_batch(rows([5], [3]))
    short = make_batch(rows([3], [1], max_seq_len=4))

    assert loose([long, short], min_gap_packs=1, max_gap_fraction=0.9).measured["bound"] == 2  # type: ignore[union-attr]


def test_llama_factory_fills_one_slot_less_than_its_rows_have() -> None:
    ids = [[*range(10, 14), 0, 0, 0, 0, 0]] * 4
    mask = [[1] * 4 + [0] * 5] * 4
    packs = {"input_ids": ids, "attention_mask": mask, "config": {"trainer": "llama-factory"}}
    fives = {
        "input_ids": [[*range(10, 15), 0, 0, 0, 0]] * 2 + [[*range(10, 14), 0, 0, 0, 0, 0]] * 2,
        "attention_mask": [[1] * 5 + [0] * 4] * 2 + [[1] * 4 + [0] * 5] * 2,
        "config": {"trainer": "llama-factory"},
    }

    assert loose(packs).measured["bound"] == 2  # type: ignore[union-attr]
    assert loose(fives) is None, "5 + 4 fits 9 slots, but not the 8 that the packer fills"


def test_bridge_does_not_count_the_last_token_of_a_sample() -> None:
    packs = rows([5, 5], [5, 5], [5, 5], trainer="megatron-bridge")

    assert loose(packs) is None
    assert loose(rows([5], [5], [5], [5], [5], [5], trainer="megatron-bridge")).measured["bound"] == 3  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"position_ids": [[0, 1, 2, 0, 1]] * 2}, None),
        ({"config": {"trainer": "olmo-core", "spec": {"eos_ids": [2], "max_seq_len": 8}}}, "scanned"),
        ({"seq_lens": [[5], [5]], "config": {"trainer": "megatron-bridge"}}, "states the limit"),
    ],
)
def test_not_checked_where_samples_or_room_are_guesses(change: dict[str, Any], reason: str | None) -> None:
    batch = make_batch({"input_ids": [[11, 2, 12, 13, 2]] * 2, "config": {"trainer": "trl"}, **change})

    found = LoosePacking().unchecked(batch)

    assert found is None if reason is None else reason in (found or "")


def test_needs_a_trainer_and_a_length() -> None:
    report = packlint.check({"input_ids": [[1, 2, 3], [1, 2]], "seq_lens": [[3], [2]]}, profile="sft")

    (rule,) = (rule for rule in report.rules if rule.code == "FIL002")
    assert rule.status == "not_checked"


def test_malformed_and_empty_packs_are_for_other_rules() -> None:
    packs = rows([8], [8])
    packs["input_ids"] += [[1, 2], [1, 2], []]
    packs["seq_lens"] += [[9], [9], []]

    assert loose(packs) is None


def test_samples_that_need_room_on_two_sides_are_left_alone() -> None:
    decoder = make_batch(rows(*[[4]] * 9, trainer="seqio"))
    encoder = make_batch(rows(*[[8]] * 9, trainer="seqio-inputs"))

    assert loose([decoder, encoder]) is None
    assert loose([decoder]) is not None


def test_inferred_samples_are_likely() -> None:
    packs = {
        "input_ids": [[11, 12, 13, 14]] * 4,
        "position_ids": [[0, 1, 0, 1]] * 4,
        "config": {"trainer": "transformers-flattening", "spec": {"max_seq_len": 8}},
    }

    assert loose(packs).confidence is Confidence.LIKELY  # type: ignore[union-attr]


SAMPLES = st.lists(st.integers(1, ROOM), min_size=1, max_size=40)


@given(SAMPLES, st.sampled_from([1, 30, 1 << 60]), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_one_sample_per_row_against_the_bound(samples: list[int], block_tokens: int, random: Any) -> None:
    batches = make_batches(rows(*[[n] for n in samples]), block_tokens)
    random.shuffle(batches)
    half = [replace(b, shard=replace(b.shard, index=i % 2)) for i, b in enumerate(batches)]

    found = loose(half)

    bound = packing_bound({n: samples.count(n) for n in samples}, ROOM)
    gap = len(samples) - bound
    assert (0 if found is None else found.n_hits) == (gap if gap > 1 and gap > 0.05 * bound else 0)


@given(st.integers(0, 2**32), st.integers(8, 60))
@settings(max_examples=50)
def test_silent_on_rows_that_are_full(seed: int, n_packs: int) -> None:
    rng = np.random.default_rng(seed)
    cuts = [
        np.sort(rng.choice(np.arange(1, ROOM), rng.integers(0, 4), replace=False)) for _ in range(n_packs)
    ]

    assert loose(rows(*[np.diff([0, *cut, ROOM]).tolist() for cut in cuts])) is None
