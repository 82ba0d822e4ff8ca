"""TGT016: masks that are right in the first sample of a pack only."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import judge, judge_example, make_batches
from packlint_rules.targets.tgt016_place_dependent_mask import PlaceDependentMask
from tests.rules.targets.chats import Chats, random_chats


@pytest.mark.parametrize("example", PlaceDependentMask.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(judge_example(PlaceDependentMask, example)) == 0


def broken_from_the_second(chats: Chats, rng: np.random.Generator) -> Chats:
    """Move the mask of later samples by the length of the sample before: ranges added to the wrong base."""
    packs = copy.deepcopy(chats.packs)
    for pack, segments in enumerate(packs["segment_ids"]):
        for sample in range(2, max(segments) + 1):
            start, stop = segments.index(sample), len(segments) - segments[::-1].index(sample)
            shift = int(rng.integers(5, 15))
            live = [label != -100 for label in packs["labels"][pack][start:stop]]
            moved = live[shift:] + live[:shift]
            ids = packs["input_ids"][pack][start:stop]
            packs["labels"][pack][start:stop] = [i if m else -100 for i, m in zip(ids, moved, strict=True)]
    return Chats(packs, chats.tokens)


def test_wrong_base() -> None:
    """OpenRLHF#781."""
    rng = np.random.default_rng(5)
    chats = broken_from_the_second(random_chats(rng, n_packs=60), rng)

    (found,) = judge_example(PlaceDependentMask, chats.packs)

    assert set(found.measured) >= {"user_gap_fraction", "assistant_gap_fraction"}
    assert float(found.measured["user_gap_fraction"]) < 0 < float(found.measured["assistant_gap_fraction"])


def test_message() -> None:
    (found,) = judge_example(PlaceDependentMask, PlaceDependentMask.bad[0])

    assert found.message == (
        "the loss mask depends on the place in the pack:"
        " 0 % of user tokens are targets in first samples (16), 100 % in later ones (16);"
        " 100 % of assistant tokens are targets in first samples (16), 0 % in later ones (16)"
    )
    assert found.measured == {"user_gap_fraction": -1.0, "assistant_gap_fraction": 1.0}
    assert (found.n_hits, found.n_segments) == (2, 16)


def test_later_samples_are_shown() -> None:
    (found,) = judge_example(PlaceDependentMask, PlaceDependentMask.bad[0])

    assert [(p.pack, p.segment, p.start, p.stop) for p in found.locations] == [
        (pack, 1, 7, 15) for pack in range(5)
    ]
    assert {p.note for p in found.locations} == {
        "2 of 2 user tokens are targets; 0 of 1 assistant tokens are targets"
    }


def test_a_few_samples_prove_nothing() -> None:
    bad = PlaceDependentMask.bad[0]
    few = {name: rows[:8] if name != "config" else rows for name, rows in bad.items()}

    assert judge_example(PlaceDependentMask, few) == []


def test_a_mask_that_is_wrong_everywhere_is_another_fault() -> None:
    rng = np.random.default_rng(5)
    chats = random_chats(rng, n_packs=40)
    chats.packs["labels"] = copy.deepcopy(chats.packs["input_ids"])

    assert judge_example(PlaceDependentMask, chats.packs) == []


def test_long_chats_first_have_other_shares() -> None:
    """Best fit puts the longest first; where only last answers are learnt, the assistant's share differs."""
    rng = np.random.default_rng(5)
    chats = random_chats(rng, n_packs=60, max_samples=3)
    last = {(t.pack, t.sample): t.answer for t in chats.tokens}
    for t in chats.tokens:
        if t.is_target and t.answer < last[t.pack, t.sample]:
            chats.packs["labels"][t.pack][t.place] = -100
    packs = _longest_first(chats.packs)

    assert judge_example(PlaceDependentMask, packs, min_gap_fraction=0.1, min_standard_errors=4.0) == []


def _longest_first(packs: dict[str, list[list[int]]]) -> dict[str, list[list[int]]]:
    moved = copy.deepcopy(packs)
    for pack, segments in enumerate(packs["segment_ids"]):
        sizes = sorted((-segments.count(s), s) for s in set(segments) - {0})
        order = [i for _, s in sizes for i, one in enumerate(segments) if one == s]
        order += [i for i, one in enumerate(segments) if one == 0]
        for name in ("input_ids", "labels", "position_ids"):
            moved[name][pack] = [packs[name][pack][i] for i in order]
        moved["segment_ids"][pack] = [
            number for number, (n, _) in enumerate(sizes, start=1) for _ in range(-n)
        ] + [0] * segments.count(0)
    return moved


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_batches_in_any_order_give_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chats = broken_from_the_second(random_chats(rng, n_packs=20, max_samples=3), rng)
    batches = make_batches(chats.packs, block_tokens=100)

    together, apart = judge(PlaceDependentMask, batches), judge(PlaceDependentMask, batches[::-1])

    assert together == apart == judge_example(PlaceDependentMask, chats.packs)


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_silent_on_correct_packs(seed: int) -> None:
    chats = random_chats(np.random.default_rng(seed), n_packs=20)

    assert judge_example(PlaceDependentMask, chats.packs) == []


@pytest.mark.parametrize(
    "option", [{"min_samples": 17}, {"min_gap_fraction": 1.01}, {"min_standard_errors": 99.0}]
)
def test_options_set_the_limits(option: dict[str, float]) -> None:
    bad = PlaceDependentMask.bad[0]

    assert len(judge_example(PlaceDependentMask, bad)) == 1
    assert judge_example(PlaceDependentMask, bad, **option) == []
