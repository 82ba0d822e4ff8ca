"""SMP005: a sample was packed with some of its tokens changed."""

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
    first_fit,
    found_by,
    status_of,
)

CODE = "SMP005"
ONE, OTHER = list(range(10, 60)), list(range(100, 140))
seeds = st.integers(0, 2**32).map(random.Random)


@pytest.mark.parametrize(
    ("segment", "what"),
    [
        ([99, *ONE[1:]], "1 token changed (1 first)"),
        ([*ONE[:-1], 99], "1 token changed (1 last)"),
        ([*ONE[:20], 99, *ONE[21:]], "1 token changed (1 inside)"),
        ([*ONE[:20], 97, 98, 99, *ONE[23:]], "3 tokens changed (3 inside)"),
        ([*ONE[:20], 99, *ONE[20:]], "1 token changed (1 inside)"),
        ([*ONE[:20], *ONE[22:]], "2 tokens changed (2 inside)"),
        ([99, *ONE[1:20], 98, *ONE[21:]], "2 tokens changed (1 first, 1 inside)"),
    ],
)
def test_what_was_changed_is_named_by_place(segment: Row, what: str) -> None:
    found = found_by(CODE, as_example(as_packs([[segment, OTHER]]), [ONE, OTHER]))
    assert found is not None
    assert found.severity is Severity.ERROR
    assert found.message == f"1 of 2 samples was packed with {what}; allowed: 0"
    assert found.n_hits == 1
    assert found.n_tokens == found.measured["altered_tokens"] == int(what[0])
    [place] = found.locations
    assert place.note.startswith("sample 0 of reference")


def test_a_begin_id_written_over_the_first_token() -> None:
    segments = [[BOS, *sample[1:]] for sample in (ONE, OTHER)]
    found = found_by(CODE, as_example(as_packs([segments]), [ONE, OTHER]))
    assert found is not None
    assert found.message == "2 of 2 samples were packed with 2 tokens changed (2 first); allowed: 0"


@pytest.mark.parametrize(
    "segment",
    [[BOS, *ONE, EOS], ONE[:30], ONE[1:], [*ONE[:-1], EOS], [*ONE[:20], EOS, *ONE[20:]], ONE + OTHER],
    ids=["specials", "truncated", "head cut", "last one cut, end id as usual", "end id inside", "merged"],
)
def test_other_faults_are_not_called_altered(segment: Row) -> None:
    ended = [[*sample, EOS] for sample in (OTHER, list(range(200, 240)), list(range(300, 340)))]
    samples = [ONE, OTHER, list(range(200, 240)), list(range(300, 340))]
    assert found_by(CODE, as_example(as_packs([[segment], ended]), samples)) is None


@settings(max_examples=10)
@given(seeds)
def test_exactly_the_tokens_changed_are_counted(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(2, 15), vocabulary=1000, low=40)
    changed = sorted(rng.sample(range(1, len(samples)), rng.randint(1, len(samples) - 1)))
    packed = [list(sample) for sample in samples]
    total = 0
    for i in changed:
        n = rng.randint(1, 5)
        at = rng.randint(17, len(packed[i]) - 17 - n)
        packed[i][at : at + n] = range(5000, 5000 + n)
        total += n
    found = found_by(CODE, as_example(as_packs(first_fit(packed, 256)), samples))
    assert found is not None
    assert (found.n_hits, found.n_tokens) == (len(changed), total)


@settings(max_examples=10)
@given(seeds)
def test_correct_packs_have_altered_nothing(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng))) is None


def test_nothing_is_said_without_a_reference_or_against_a_foreign_one() -> None:
    packs = as_packs([[[99, *ONE[1:]]]])
    example = as_example(packs, [])
    del example["reference"]
    assert status_of(CODE, example)[0] is RuleStatus.NOT_CHECKED
    assert status_of(CODE, as_example(packs, [OTHER]))[0] is RuleStatus.NOT_CHECKED
