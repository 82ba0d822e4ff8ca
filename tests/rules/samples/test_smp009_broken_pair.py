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
    found = hits.segments >= 0
    numbers = batch.segment_numbers[hits.segments[found]].tolist()
    return list(zip(hits.packs[found].tolist(), numbers, strict=True))


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


def sides_of(*rows: list[Sample], **config: Any) -> Packs:
    """Return rows of a table of pairs, as the reader joins them."""
    return {**packs_of(*rows, trainer="llama-factory-dpo", **config), "layout": {"unit": "pair"}}


def test_sides_in_columns() -> None:
    assert alone(sides_of([A1, A2], [B1, B2])) == []
    assert alone(sides_of([A1, B2], [B1, B2])) == [(0, 0), (0, 1)]


def test_a_side_that_is_missing_whatever_its_labels() -> None:
    packs = sides_of([A1, A2], [B1], [B2])
    assert alone(packs) == [(1, 0), (2, 0)]

    packs["labels"][1] = [-100] * 5
    assert alone(packs) == [(1, 0), (2, 0)]
    del packs["labels"]
    assert alone(packs) == [(1, 0), (2, 0)]


def test_both_sides_are_missing() -> None:
    hits = check(BrokenPair, sides_of([A1, A2], [], [B1]))

    assert sorted(zip(hits.packs.tolist(), hits.starts.tolist(), hits.stops.tolist(), strict=True)) == [
        (1, 11, 11),
        (2, 11, 16),
    ]
    assert hits.measured == {"samples": 3, "bare_pairs": 1}


def test_two_sides_without_targets_may_be_partners() -> None:
    packs = sides_of([A1, B2])
    packs["labels"][0][:5] = [-100] * 5

    assert alone(packs) == []


def test_a_short_prompt_is_one_where_columns_say_so() -> None:
    short = [([1], [61, 2]), ([1], [62, 2])]
    assert alone(sides_of(short)) == []
    assert alone(packs_of(short)) == [(0, 0), (0, 1)]
    assert alone(sides_of([([], [61, 2]), ([], [62, 2])])) == [(0, 0), (0, 1)]


def test_a_merged_token_at_the_end_of_a_prompt() -> None:
    kept, cut, other = ([1, 51, 52, 53], [61, 2]), ([1, 51, 52], [98, 2]), ([1, 51, 99], [61, 2])
    longer = ([1, 51, 52, 53, 54], [61, 2])
    for row, wanted in (([kept, cut], 0), ([cut, other], 0), ([cut, kept], 0), ([longer, cut], 2)):
        packs = sides_of(row)
        assert len(alone(packs)) == 2
        packs["config"]["trainer"] = "trl-orpo"
        assert len(alone(packs)) == wanted


def test_rows_of_one_sample_hold_no_pairs() -> None:
    batch = make_batch({**packs_of([A1], [A2]), "layout": {"unit": "sample"}})

    assert len(check(BrokenPair, batch)) == 0
    assert str(BrokenPair().unchecked(batch)).startswith("packs: rows are not packs")


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


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["llama-factory-dpo", "trl-orpo"]))
def test_tables_of_pairs_against_a_plain_reading(seed: int, trainer: str) -> None:
    rng = np.random.default_rng(seed)
    slack = 1 if trainer == "trl-orpo" else 0
    rows: list[list[Sample]] = []
    wanted = []
    for number in range(int(rng.integers(1, 6))):
        row = [
            (
                rng.integers(1, 3, int(rng.integers(0, 4))).tolist(),
                rng.integers(1, 3, int(rng.integers(0, 3))).tolist(),
            )
            for _ in range(int(rng.integers(0, 3)))
        ]
        row = [sample for sample in row if sample[0] + sample[1]]
        rows.append(row)
        if len(row) == 1:
            wanted.append((number, 0))
        elif len(row) == 2 and not are_partners(row[0], row[1], slack=slack):
            wanted += [(number, 0), (number, 1)]

    assert alone({**sides_of(*rows), "config": {"profile": "preference", "trainer": trainer}}) == wanted


def are_partners(one: Sample, other: Sample, slack: int) -> bool:
    if not (one[1] and other[1]):
        return True  # without targets nobody knows where the prompt ends
    n, m = len(one[0]), len(other[0])
    compared = max(min(n, m) - slack, 0)
    return abs(n - m) <= slack and min(n, m) >= 1 and one[0][:compared] == other[0][:compared]
