"""SPC009: an end token stands in the middle of a source document."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Severity
from packlint.report import RuleStatus
from tests.matching.packers import (
    BOS,
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

CODE = "SPC009"
ONE, OTHER = list(range(10, 60)), list(range(100, 140))
seeds = st.integers(0, 2**32).map(random.Random)


@pytest.mark.parametrize(
    "packs",
    [
        [[[*ONE[:20], EOS]], [[*ONE[20:], EOS], [*OTHER, EOS]]],
        [[[*ONE[:20], EOS, *ONE[20:], EOS], [*OTHER, EOS]]],
        [[[*ONE[:20], EOS], [*ONE[20:], EOS]], [[*OTHER, EOS]]],
    ],
    ids=["where a pack ends", "inside a segment", "between two segments of a pack"],
)
def test_an_end_token_where_the_sample_goes_on(packs: list[list[Row]]) -> None:
    found = found_by(CODE, as_example(as_packs(packs), [ONE, OTHER]))
    assert found is not None
    assert found.severity is Severity.WARNING
    assert found.message == (
        "at 1 place inside 1 of 2 samples special tokens stand where the sample goes on; allowed: 0"
    )
    assert found.measured == {"invented_ends": 1, "samples": 1}


@pytest.mark.parametrize(
    "packs",
    [
        [[ONE[:20]], [[*ONE[20:], EOS], [*OTHER, EOS]]],
        [[ONE[:20]], [[BOS, *ONE[20:], EOS], [*OTHER, EOS]]],
        [[[*ONE[:20], EOS], [*OTHER, EOS]]],
    ],
    ids=["cut without", "a begin id where it goes on", "the rest is missing"],
)
def test_no_end_token_where_the_sample_goes_on(packs: list[list[Row]]) -> None:
    assert found_by(CODE, as_example(as_packs(packs), [ONE, OTHER])) is None


def test_an_end_id_that_the_sample_holds_itself_is_not_invented() -> None:
    chat = [*ONE[:20], EOS, *ONE[20:], EOS]
    assert found_by(CODE, as_example(as_packs([[chat, OTHER]]), [chat, OTHER])) is None
    cut = as_packs([[chat[:21]], [chat[21:], OTHER]])
    assert found_by(CODE, as_example(cut, [chat, OTHER])) is None


@settings(max_examples=10)
@given(seeds)
def test_chunks_that_all_got_an_end_token(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(1, 10), vocabulary=1000, low=20)
    chunks = [[sample[a : a + 40] for a in range(0, len(sample), 40)] for sample in samples]
    kept = [[chunk for chunk in parts if len(chunk) >= 16 or len(parts) == 1] for parts in chunks]
    packs = as_packs([[[*chunk, EOS]] for parts in kept for chunk in parts])
    found = found_by(CODE, as_example(packs, samples))
    n_inside = [len(parts) - 1 for parts in kept]
    assert (found.n_hits if found else 0) == sum(n_inside)
    assert (found.measured["samples"] if found else 0) == sum(n > 0 for n in n_inside)


@settings(max_examples=10)
@given(seeds)
def test_correct_packs_have_none(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng))) is None


@settings(max_examples=10)
@given(seeds)
def test_streams_of_ended_documents_have_none(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=10, vocabulary=1000)
    packs = as_packs(wrapped([[*sample, EOS] for sample in samples], 64))
    assert found_by(CODE, as_example(packs, samples)) is None


def test_nothing_is_said_without_a_reference_or_against_a_foreign_one() -> None:
    packs = as_packs([[[*ONE[:20], EOS]], [ONE[20:]]])
    example = as_example(packs, [])
    del example["reference"]
    assert status_of(CODE, example)[0] is RuleStatus.NOT_CHECKED
    assert status_of(CODE, as_example(packs, [OTHER]))[0] is RuleStatus.NOT_CHECKED
