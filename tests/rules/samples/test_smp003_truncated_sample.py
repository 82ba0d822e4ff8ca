"""SMP003: a part of a sample was packed, and the rest was not."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Severity
from packlint.report import RuleStatus
from tests.matching.packers import (
    Row,
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

CODE = "SMP003"
ONE, OTHER = list(range(10, 60)), list(range(100, 140))
seeds = st.integers(0, 2**32).map(random.Random)


@pytest.mark.parametrize(
    ("pieces", "what", "n_missing"),
    [
        ([ONE[:30]], "1 lost their end", 20),
        ([ONE[30:]], "1 lost their beginning", 30),
        ([ONE[10:40]], "1 lost both", 20),
        ([ONE[:20], ONE[30:]], "1 have a hole", 10),
    ],
)
def test_message_says_which_part_is_missing(pieces: list[Row], what: str, n_missing: int) -> None:
    packs = as_packs([[piece] for piece in pieces] + [[OTHER]])
    found = found_by(CODE, as_example(packs, [ONE, OTHER]))
    assert found is not None
    assert found.severity is Severity.WARNING
    assert found.message == (
        f"1 of 2 samples was packed in part: {n_missing} of their 50 tokens are missing"
        f" ({n_missing / 0.9:.3g} % of all); {what}"
    )
    assert found.measured == {"truncated_samples": 1, "missing_tokens": n_missing}
    [place] = found.locations
    assert place.note == f"sample 0 of reference: {n_missing} tokens missing"


def test_targets_that_are_gone_are_counted() -> None:
    example = as_example(as_packs([[ONE[:30], OTHER]]), [ONE, OTHER])
    example["labels"] = [[-100] * 10 + ONE[10:30] + OTHER]
    example["reference"]["labels"] = [[-100] * 10 + ONE[10:], OTHER]
    found = found_by(CODE, example)
    assert found is not None
    assert found.measured["missing_targets"] == 20
    assert "20 targets are gone" in found.message


@pytest.mark.parametrize(("limit", "needless"), [(49, 0), (50, 1)])
def test_cuts_that_were_not_needed_are_counted(limit: int, needless: int) -> None:
    example = as_example(as_packs([[ONE[:30]], [OTHER]]), [ONE, OTHER], spec={"max_seq_len": limit})
    found = found_by(CODE, example)
    assert found is not None
    assert found.measured["needless_cuts"] == needless
    assert f"{needless} would have fitted into a pack of {limit}" in found.message


@settings(max_examples=10)
@given(seeds)
def test_exactly_what_is_beyond_a_pack_is_missing(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(1, 15), vocabulary=1000)
    size = rng.choice([32, 64])
    found = found_by(CODE, as_example(as_packs(first_fit([s[:size] for s in samples], size)), samples))
    beyond = [len(sample) - size for sample in samples if len(sample) > size]
    said: Any = found.measured if found else {"truncated_samples": 0, "missing_tokens": 0}
    assert (said["truncated_samples"], said["missing_tokens"]) == (len(beyond), sum(beyond))
    assert (found.n_hits, found.n_tokens) == (len(beyond), sum(beyond)) if found else not beyond


@settings(max_examples=10)
@given(seeds)
def test_correct_packs_have_truncated_nothing(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng))) is None


@settings(max_examples=10)
@given(seeds, st.booleans())
def test_samples_that_go_on_elsewhere_are_not_truncated(rng: random.Random, is_wrapped: bool) -> None:
    samples = draw_samples(rng, n_samples=10, vocabulary=1000)
    packs = wrapped(samples, 64) if is_wrapped else best_fit_split(samples, 64, rng)
    assert found_by(CODE, as_example(as_packs(packs), samples)) is None


@pytest.mark.parametrize("segment", [[99, *ONE[1:]], [*ONE[:20], 99, *ONE[21:]]])
def test_altered_samples_are_not_truncated(segment: Row) -> None:
    assert found_by(CODE, as_example(as_packs([[segment, OTHER]]), [ONE, OTHER])) is None


def test_nothing_is_said_without_a_reference_or_against_a_foreign_one() -> None:
    packs = as_packs([[ONE[:30]]])
    example = as_example(packs, [])
    del example["reference"]
    assert status_of(CODE, example)[0] is RuleStatus.NOT_CHECKED
    assert status_of(CODE, as_example(packs, [OTHER]))[0] is RuleStatus.NOT_CHECKED
