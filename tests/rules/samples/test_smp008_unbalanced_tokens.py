"""SMP008: packed tokens come from no sample of the reference."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Severity
from packlint.report import RuleStatus
from packlint.testing import lint
from tests.matching.packers import (
    EOS,
    as_example,
    as_packs,
    best_fit_split,
    correct_packs,
    draw_samples,
    first_fit,
    found_by,
    status_of,
    wrapped,
)

CODE = "SMP008"
ONE, OTHER, FOREIGN = list(range(10, 60)), list(range(100, 140)), list(range(500, 530))
seeds = st.integers(0, 2**32).map(random.Random)


def test_message_holds_the_whole_equation() -> None:
    packs = as_packs([[[*ONE, EOS], FOREIGN], [[99, *OTHER[1:], EOS]], [[*ONE, EOS]]])
    lost = list(range(200, 220))
    found = found_by(CODE, as_example(packs, [ONE, OTHER, lost]))
    assert found is not None
    assert found.severity is Severity.ERROR
    assert found.message == (
        "30 of 173 packed tokens (17.3 %) come from no sample: 173 packed = 110 in the reference - 21 lost"
        " + 50 repeated + 3 special tokens + 1 in place of lost ones + 30 unknown"
    )
    assert found.measured == {
        "reference_tokens": 110,
        "lost_tokens": 21,
        "repeated_tokens": 50,
        "special_tokens_added": 3,
        "replaced_tokens": 1,
        "unknown_tokens": 30,
        "packed_tokens": 173,
    }
    [place] = found.locations
    assert (place.pack, place.start, place.stop, place.amount) == (0, 51, 81, 30)
    assert place.note == "30 tokens of no sample"


def test_the_report_holds_the_equation_also_where_it_closes() -> None:
    report = lint(as_example(as_packs([[ONE], [OTHER]]), [ONE, OTHER]))
    assert report.drift["conservation"]["packed_tokens"] == 90
    assert report.drift["conservation"]["unknown_tokens"] == 0


def test_padding_does_not_count() -> None:
    example = as_example(as_packs([[ONE, [0] * 7]]), [ONE])
    example["seq_lens"] = [[50]]
    example["attention_mask"] = [[1] * 50 + [0] * 7]
    assert found_by(CODE, example) is None


@settings(max_examples=10)
@given(seeds)
def test_exactly_the_foreign_tokens_are_counted(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(1, 15), vocabulary=1000)
    foreign = [
        list(range(5000 + 100 * i, 5000 + 100 * i + rng.randint(1, 60))) for i in range(rng.randint(1, 4))
    ]
    packed = [*samples, *foreign]
    rng.shuffle(packed)
    found = found_by(CODE, as_example(as_packs(first_fit(packed, 256)), samples))
    assert found is not None
    assert (found.n_hits, found.n_tokens) == (len(foreign), sum(map(len, foreign)))
    assert [place.amount for place in found.locations] == sorted(map(len, foreign), reverse=True)


@settings(max_examples=10)
@given(seeds)
def test_the_books_of_correct_packs_close(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng))) is None


@settings(max_examples=10)
@given(seeds)
def test_the_books_close_where_samples_are_cut(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=10, vocabulary=1000)
    for packs in (wrapped(samples, 64), best_fit_split(samples, 64, rng), [[s[:64]] for s in samples]):
        assert found_by(CODE, as_example(as_packs(packs), samples)) is None


def test_nothing_is_said_without_a_reference_or_against_a_foreign_one() -> None:
    packs = as_packs([[ONE]])
    example = as_example(packs, [])
    del example["reference"]
    assert status_of(CODE, example)[0] is RuleStatus.NOT_CHECKED
    assert status_of(CODE, as_example(packs, [OTHER]))[0] is RuleStatus.NOT_CHECKED
