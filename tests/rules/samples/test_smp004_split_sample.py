"""SMP004: a sample lies in several packs."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Severity
from packlint.report import RuleStatus
from tests.matching.packers import (
    EOS,
    Row,
    as_example,
    as_packs,
    correct_packs,
    draw_samples,
    found_by,
    status_of,
    wrapped,
)

CODE = "SMP004"
ONE, OTHER = list(range(10, 60)), list(range(100, 140))
seeds = st.integers(0, 2**32).map(random.Random)


def test_chats_are_cut_in_an_answer() -> None:
    example = as_example(as_packs([[ONE[:20]], [ONE[20:], OTHER]]), [ONE, OTHER], profile="sft")
    example["labels"] = [[-100] * 15 + ONE[15:20], ONE[20:] + OTHER]
    found = found_by(CODE, example)
    assert found is not None
    assert found.severity is Severity.WARNING
    assert found.message == (
        "1 of 2 samples (50 %) lies in several packs: 1 cut, 1 with a target first in the next pack"
    )
    assert found.measured == {"split_samples": 1, "cuts": 1, "cuts_in_answers": 1}
    assert (found.n_hits, found.n_segments) == (1, 2)


@pytest.mark.parametrize(("first", "n_in_answers"), [(20, 0), (30, 1), (40, 1)])
def test_a_cut_before_or_inside_an_answer_leaves_it_without_its_question(
    first: int, n_in_answers: int
) -> None:
    example = as_example(as_packs([[ONE[:first]], [ONE[first:], OTHER]]), [ONE, OTHER], profile="sft")
    labels = [-100] * 30 + ONE[30:]
    example["labels"] = [labels[:first], labels[first:] + OTHER]
    found = found_by(CODE, example)
    assert found is not None
    assert found.measured["cuts_in_answers"] == n_in_answers


def test_streams_are_cut_by_design() -> None:
    found = found_by(CODE, as_example(as_packs([[ONE[:20]], [ONE[20:]]]), [ONE], profile="pretrain"))
    assert found is not None
    assert found.severity is Severity.INFO
    assert "target" not in found.message


@pytest.mark.parametrize(("limit", "needless"), [(20, 0), (30, 1), (50, 2)])
def test_cuts_that_were_not_needed_are_counted(limit: int, needless: int) -> None:
    packs = as_packs([[ONE[:20]], [ONE[20:40]], [ONE[40:]]])
    found = found_by(CODE, as_example(packs, [ONE], spec={"max_seq_len": limit}, profile="pretrain"))
    assert found is not None
    assert found.measured["needless_cuts"] == needless
    assert f"{needless} needless with packs of {limit}" in found.message


def test_two_segments_of_one_pack_are_no_split() -> None:
    assert found_by(CODE, as_example(as_packs([[ONE[:20], ONE[20:]]]), [ONE], profile="pretrain")) is None


@settings(max_examples=10)
@given(seeds, st.booleans())
def test_exactly_the_cuts_of_a_stream_are_counted(rng: random.Random, is_recorded: bool) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(1, 15), vocabulary=1000)
    stream = [[*sample, EOS] for sample in samples]
    example = as_example(as_packs(wrapped(stream, 64)), samples, profile="pretrain")
    if not is_recorded:
        del example["seq_lens"]
    cuts = _cuts(stream, 64)
    found = found_by(CODE, example)
    assert (found.n_hits if found else 0) == sum(n > 0 for n in cuts)
    assert (found.measured["cuts"] if found else 0) == sum(cuts)


def _cuts(stream: list[Row], size: int) -> list[int]:
    """Return how often packs end inside each sample, its end token not counted."""
    cuts, place = [], 0
    for sample in stream:
        cuts.append((place + len(sample) - 2) // size - place // size)
        place += len(sample)
    return cuts


@settings(max_examples=10)
@given(seeds)
def test_correct_packs_have_split_nothing(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng), profile="sft")) is None


def test_nothing_is_said_without_a_reference_or_against_a_foreign_one() -> None:
    packs = as_packs([[ONE[:30]], [ONE[30:]]])
    example = as_example(packs, [])
    del example["reference"]
    assert status_of(CODE, example)[0] is RuleStatus.NOT_CHECKED
    assert status_of(CODE, as_example(packs, [OTHER]))[0] is RuleStatus.NOT_CHECKED
