"""SMP002: the same sample is in the packs more than once."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Severity
from packlint.report import RuleStatus
from packlint.testing import judge, make_batches
from packlint_rules.samples.smp002_repeated_sample import RepeatedSample
from tests.matching.packers import (
    Row,
    as_example,
    as_packs,
    correct_packs,
    draw_samples,
    first_fit,
    found_by,
    status_of,
)
from tests.packs import Packs, sft_packs, text_packs

CODE = "SMP002"
ONE, OTHER = list(range(10, 50)), list(range(100, 140))
seeds = st.integers(0, 2**32).map(random.Random)


def test_with_a_reference_copies_are_counted_against_it() -> None:
    found = found_by(CODE, as_example(as_packs([[ONE, OTHER], [ONE], [ONE]]), [ONE, OTHER, ONE]))
    assert found is not None
    assert found.severity is Severity.ERROR
    assert found.message == (
        "1 of 3 samples was packed too often: 40 tokens again (25 % of the packed tokens)"
    )
    assert (found.n_hits, found.n_tokens) == (1, 40)
    assert found.measured == {"repeated_samples": 1, "repeated_tokens": 40}


def test_pieces_of_a_sample_that_is_there_count_too() -> None:
    found = found_by(CODE, as_example(as_packs([[ONE], [ONE[10:30], OTHER]]), [ONE, OTHER]))
    assert found is not None
    assert found.n_tokens == 20


def test_without_a_reference_equal_segments_are_a_warning() -> None:
    example = as_example(as_packs([[OTHER, ONE], [ONE], [ONE]], sizes=[2, 1]), [])
    del example["reference"]
    found = found_by(CODE, example)
    assert found is not None
    assert found.severity is Severity.WARNING
    assert (
        found.message == "2 samples are copies of an earlier one (1 different, 80 tokens again) of 4 compared"
    )
    assert [(place.shard, place.pack, place.note) for place in found.locations] == [
        ("shard-0", 1, "same as pack 0 of shard-0"),
        ("shard-1", 0, "same as pack 0 of shard-0"),
    ]


def test_samples_of_one_pack_are_different_contents() -> None:
    example = as_example(as_packs([[OTHER, ONE], [ONE, OTHER]]), [])
    del example["reference"]
    found = found_by(CODE, example)

    assert found is not None
    assert "2 samples are copies of an earlier one (2 different, " in found.message
    assert {(place.pack, place.start, place.stop) for place in found.locations} == {
        (1, 0, len(ONE)),
        (1, len(ONE), len(ONE) + len(OTHER)),
    }


@pytest.mark.parametrize(("n_tokens", "fires"), [(31, False), (32, True)])
def test_short_segments_are_left_out_without_a_reference(n_tokens: int, fires: bool) -> None:
    example = as_example(as_packs([[ONE[:n_tokens], ONE[:n_tokens]]]), [])
    del example["reference"]
    assert (found_by(CODE, example) is not None) is fires


def test_unrecorded_segments_are_not_checked_without_a_reference() -> None:
    example = as_example(as_packs([[ONE, ONE]]), [])
    del example["reference"], example["seq_lens"]
    assert status_of(CODE, example)[0] is RuleStatus.NOT_CHECKED


def test_unrecorded_segments_are_checked_with_a_reference() -> None:
    example = as_example(as_packs([[ONE, OTHER, ONE]]), [ONE, OTHER])
    del example["seq_lens"]
    found = found_by(CODE, example)
    assert found is not None
    assert found.n_tokens == 40
    assert status_of(CODE, example) == (RuleStatus.FOUND, ())


def test_nothing_is_said_against_a_foreign_reference() -> None:
    assert found_by(CODE, as_example(as_packs([[ONE, ONE]]), [[i + 1000 for i in ONE]])) is None


@settings(max_examples=10)
@given(seeds)
def test_exactly_the_repeats_are_counted(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(1, 15), vocabulary=1000, low=4, repeats=0.2)
    again = [rng.randrange(len(samples)) for _ in range(rng.randint(1, 5))]
    packed = [*samples, *(samples[i] for i in again)]
    rng.shuffle(packed)
    example = as_example(as_packs(first_fit(packed, 256)), samples)
    found = found_by(CODE, example)
    assert found is not None
    assert found.n_tokens == sum(len(samples[i]) for i in again)
    assert found.n_hits == len({tuple(samples[i]) for i in again})
    del example["reference"]
    copies = _repeats(packed)
    found = found_by(CODE, example)
    assert (found.n_hits if found else 0) == sum(n for n, _ in copies)
    assert (found.n_tokens if found else 0) == sum(n * size for n, size in copies)


def _repeats(segments: list[Row]) -> list[tuple[int, int]]:
    """Return for each content that comes more than once: how often again, and its tokens."""
    counted = Counter(tuple(segment) for segment in segments if len(segment) >= 32)
    return [(n - 1, len(content)) for content, n in counted.items() if n > 1]


@settings(max_examples=10)
@given(seeds)
def test_correct_packs_repeat_nothing(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng))) is None


@settings(max_examples=25)
@given(st.one_of(sft_packs(), text_packs()), st.integers(1, 60))
def test_without_a_reference_segments_are_compared_whatever_the_batches(packs: Packs, cut: int) -> None:
    """Short random segments may be equal by chance: then they are copies."""
    segments = []
    for row, lengths in zip(packs["input_ids"], packs["seq_lens"], strict=True):
        starts = np.cumsum([0, *lengths]).tolist()
        segments += [tuple(row[a : a + n]) for a, n in zip(starts, lengths, strict=False)]
    n_copies = sum(n - 1 for n in Counter(segments).values())
    found = judge(RepeatedSample, make_batches(packs, cut), min_sample_tokens=1)
    assert sum(judgement.n_hits for judgement in found) == n_copies
