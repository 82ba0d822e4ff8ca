"""TOK003: the packs were not made with the tokenizer of the reference."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence, Severity
from packlint.report import RuleStatus
from packlint.testing import lint
from tests.matching.packers import (
    as_example,
    as_packs,
    best_fit_split,
    correct_packs,
    draw_samples,
    first_fit,
    found_by,
    status_of,
)

CODE = "TOK003"
SAMPLE_RULES = ("SMP001", "SMP002", "SMP003", "SMP004", "SMP005", "SMP008", "SPC009")
seeds = st.integers(0, 2**32).map(random.Random)


def test_ids_of_another_tokenizer_are_found_and_nothing_else_is_said_against_the_reference() -> None:
    rng = random.Random(0)
    samples = draw_samples(rng, n_samples=12, vocabulary=1000, low=40)
    other = [[token + 3000 for token in sample] for sample in samples]
    example = as_example(as_packs(first_fit(samples, 256)), other)
    found = found_by(CODE, example)
    assert found is not None
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.LIKELY)
    highest, theirs = max(map(max, samples)), max(map(max, other))
    assert found.message == (
        "none of the 12 samples of the reference is in the packs, not even in part: another tokenizer, or"
        f" other data; largest id {highest:,} in the packs, {theirs:,} in the reference"
    )
    assert found.n_tokens == sum(map(len, samples))
    report = lint(example)
    by_code = {rule.code: rule for rule in report.rules}
    for code in SAMPLE_RULES:
        assert by_code[code].status is RuleStatus.NOT_CHECKED
        assert any("TOK003" in reason for reason in by_code[code].reasons)


def test_one_piece_that_is_the_same_is_the_same_tokenizer() -> None:
    rng = random.Random(1)
    samples = draw_samples(rng, n_samples=12, vocabulary=1000, low=40)
    other = [[token + 3000 for token in sample] for sample in samples]
    other[3] = samples[3][:20] + other[3]
    assert found_by(CODE, as_example(as_packs(first_fit(samples, 256)), other)) is None


@settings(max_examples=10)
@given(seeds)
def test_any_other_tokenizer_is_found(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(1, 15), vocabulary=1000, low=20)
    ids = list(range(5, 1005))
    rng.shuffle(ids)
    other = [[ids[token - 5] for token in sample] for sample in samples]
    found = found_by(CODE, as_example(as_packs(first_fit(samples, 256)), other))
    assert found is not None
    assert found.measured["reference_samples"] == len(samples)


@settings(max_examples=10)
@given(seeds)
def test_correct_packs_are_of_the_same_tokenizer(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng))) is None
    samples = draw_samples(rng, n_samples=5, vocabulary=1000, low=20)
    assert found_by(CODE, as_example(as_packs(best_fit_split(samples, 32, rng)), samples)) is None


def test_not_checked_without_a_reference() -> None:
    example = as_example(as_packs([[list(range(10, 40))]]), [])
    del example["reference"]
    assert status_of(CODE, example)[0] is RuleStatus.NOT_CHECKED
