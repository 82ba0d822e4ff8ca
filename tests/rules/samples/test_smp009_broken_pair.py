"""SMP009: chosen and rejected answers without a partner of the same masked prompt beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check, make_batch
from packlint_rules.samples.smp009_broken_pair import BrokenPair
from tests.packs import Packs, sft_packs

Sample = tuple[list[int], list[int]]
A1, A2 = ([1, 51, 52], [61, 2]), ([1, 51, 52], [62, 63, 2])
B1, B2 = ([1, 53, 54], [64, 2]), ([1, 53, 54], [65, 2])


def packs_of(*rows: list[Sample], **config: Any) -> Packs:
    return {
        "input_ids": [[i for prompt, answer in row for i in prompt + answer] for row in rows],
        "labels": [[i for p, answer in row for i in [-100] * len(p) + answer] for row in rows],
        "seq_lens": [[len(prompt) + len(answer) for prompt, answer in row] for row in rows],
        "config": {"profile": "preference", "trainer": "trl", "spec": {"eos_ids": [2]}, **config},
    }


def alone(packs: Packs) -> list[tuple[int, int]]:
    batch = make_batch(packs)
    hits = check(BrokenPair, batch)
    return list(zip(hits.packs.tolist(), batch.segment_numbers[hits.segments].tolist(), strict=True))


def test_pairs_side_by_side() -> None:
    assert alone(packs_of([A1, A2, B1, B2], [B1, B2])) == []


def test_one_is_missing() -> None:
    assert alone(packs_of([A1, B1, B2])) == [(0, 0)]
    assert alone(packs_of([A1, A2, B1])) == [(0, 2)]


def test_a_pair_in_two_packs() -> None:
    assert alone(packs_of([B1, B2, A1], [A2, B1, B2])) == [(0, 2), (1, 0)]


def test_another_prompt() -> None:
    assert alone(packs_of([A1, B2])) == [(0, 0), (0, 1)]


def test_a_prompt_that_is_cut_in_one_of_them() -> None:
    assert alone(packs_of([A1, (A2[0][1:], A2[1])])) == [(0, 0), (0, 1)]


def test_a_prompt_that_is_masked_in_one_of_them() -> None:
    packs = packs_of([A1, A2])
    packs["labels"][0][6] = 51

    assert alone(packs) == [(0, 0), (0, 1)]


def test_prompts_that_are_masked_in_neither() -> None:
    packs = packs_of([A1, A2])
    packs["labels"] = [list(row) for row in packs["input_ids"]]

    assert alone(packs) == [(0, 0), (0, 1)]


def test_two_pairs_of_one_prompt() -> None:
    assert alone(packs_of([A1, A2, A1, A2])) == []
    assert alone(packs_of([A1, A2, A1])) == [(0, 2)]


def test_a_sample_without_targets_passes_for_a_partner() -> None:
    packs = packs_of([A1, A2, B1, B2])
    for at in (3, 4):
        packs["labels"][0][at] = -100

    assert alone(packs) == []


def test_nothing_where_nobody_claims_pairs() -> None:
    batch = make_batch(packs_of([A1, B1], profile="sft"))

    assert len(check(BrokenPair, batch)) == 0
    assert BrokenPair().unchecked(batch) is None  # the profile asks for nothing: no gap to report
    assert len(check(BrokenPair, make_batch(packs_of([A1, B1])))) == 2


def prompt(rng: np.random.Generator) -> list[int]:
    return [1, *rng.integers(10, 100, int(rng.integers(4, 9))).tolist()]


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 2**32), st.lists(st.lists(st.booleans(), min_size=1, max_size=8), min_size=1, max_size=4)
)
def test_lost_partners_are_found_and_nothing_else(seed: int, whole: list[list[bool]]) -> None:
    rng = np.random.default_rng(seed)
    rows: list[list[Sample]] = []
    wanted = []
    for number, row in enumerate(whole):
        samples: list[Sample] = []
        for at, is_whole in enumerate(row):
            asked = [*prompt(rng), 100 + at]  # no two pairs of a pack share their prompt
            if not is_whole:
                wanted.append((number, len(samples)))
            for _ in range(2 if is_whole else 1):
                samples.append((asked, [*rng.integers(10, 100, int(rng.integers(1, 5))).tolist(), 2]))
        rows.append(samples)

    assert alone(packs_of(*rows)) == wanted


@settings(max_examples=20, deadline=None)
@given(sft_packs(), st.sampled_from(["sft", "pretrain", "strict"]))
def test_silent_under_other_profiles(packs: Packs, profile: str) -> None:
    packs["config"]["profile"] = profile

    assert len(check(BrokenPair, packs)) == 0
