"""TGT015: one loss mask over packs of different samples."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import judge, make_batch, make_batches
from packlint_rules.targets.tgt015_repeated_loss_mask import RepeatedLossMask
from tests.packs import Packs, random_packs, sft_packs


def _runs(row: list[int]) -> list[tuple[int, int]]:
    """Return the runs of live labels, in plain Python."""
    live = [label != -100 for label in row] + [False]
    starts = [i for i, on in enumerate(live) if on and (i == 0 or not live[i - 1])]
    return [(start, live.index(False, start)) for start in starts]


def _shared(packs: Packs) -> tuple[int, int]:
    """Return packs and masks that a rule of four runs has to report, in plain Python."""
    groups: dict[tuple[tuple[int, int], ...], list[tuple[int, ...]]] = {}
    for labels, segments in zip(packs["labels"], packs["segment_ids"], strict=True):
        runs = _runs(labels)
        if len(runs) >= 4:
            owners = tuple(segments.index(segments[start]) if segments[start] else -1 for start, _ in runs)
            groups.setdefault(tuple(runs), []).append(owners)
    shared = [owners for owners in groups.values() if len(set(owners)) > 1]
    return sum(map(len, shared)), len(shared)


@pytest.mark.parametrize("example", RepeatedLossMask.good)
def test_good_gives_nothing(example: Packs) -> None:
    assert judge(RepeatedLossMask, make_batches(example)) == []


@pytest.mark.parametrize("example", RepeatedLossMask.bad)
def test_bad_names_both_packs(example: Packs) -> None:
    (found,) = judge(RepeatedLossMask, make_batches(example))

    assert found.n_hits == found.n_packs == 2
    assert found.locations[0].note == "same loss mask as pack 1 of example; 2 packs have it"


def test_samples_of_one_form_share_masks_rightly() -> None:
    packs: Packs = {
        "input_ids": [[1, 11, 2] * 5, [1, 21, 2] * 5],
        "labels": [[-100, 11, 2] * 5, [-100, 21, 2] * 5],
        "seq_lens": [[3] * 5] * 2,
    }

    assert judge(RepeatedLossMask, make_batches(packs)) == []


def test_untrained_last_sample_may_differ() -> None:
    packs: Packs = {
        "input_ids": [[*[1, 11, 2] * 4, 1, 12, 13], [*[1, 21, 2] * 4, 1, 22, 0]],
        "labels": [[*[-100, 11, 2] * 4, -100, -100, -100], [*[-100, 21, 2] * 4, -100, -100, -100]],
        "seq_lens": [[3, 3, 3, 3, 3], [3, 3, 3, 3, 2, 1]],
    }

    assert judge(RepeatedLossMask, make_batches(packs)) == []


def test_masks_that_end_elsewhere_are_not_the_same() -> None:
    packs: Packs = {
        "input_ids": [[1, 11, 12] * 4, [1, 11, 12] * 4],
        "labels": [[-100, 11, 12] * 4, [-100, 11, -100] * 4],
        "seq_lens": [[3, 3, 3, 3], [6, 6]],
    }

    assert judge(RepeatedLossMask, make_batches(packs)) == []


def test_few_runs_are_not_compared() -> None:
    packs: Packs = {
        "input_ids": [[1, 11, 12, 2], [1, 2, 1, 2]],
        "labels": [[-100, 11, -100, 2], [-100, 2, -100, 2]],
        "seq_lens": [[4], [2, 2]],
    }

    assert judge(RepeatedLossMask, make_batches(packs)) == []
    assert len(judge(RepeatedLossMask, make_batches(packs), min_mask_runs=2)) == 1


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 200))
def test_planted_fault_is_counted_exactly_in_any_cut_and_order(seed: int, block_tokens: int) -> None:
    rng = np.random.default_rng(seed)
    packs = random_packs(rng, n_packs=12, max_segments=7)
    for pack in rng.permutation(12)[: rng.integers(0, 8)].tolist():
        source = int(rng.integers(0, 12))
        packs["labels"][pack] = list(packs["labels"][source])

    batches = make_batches(packs, block_tokens)
    found = judge(RepeatedLossMask, [batches[i] for i in rng.permutation(len(batches))])

    n_packs, n_masks = _shared(packs)
    assert [(f.n_hits, f.measured["masks"]) for f in found] == ([(n_packs, n_masks)] if n_packs else [])
    assert found == judge(RepeatedLossMask, [make_batch(packs)])


@settings(max_examples=25, deadline=None)
@given(sft_packs(max_packs=8))
def test_silent_on_correct_packs(packs: Packs) -> None:
    assert _shared(packs) == (0, 0)
    assert judge(RepeatedLossMask, make_batches(copy.deepcopy(packs))) == []
