"""SMP001: a sample of the reference is in no pack."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Severity
from packlint.report import RuleStatus
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

CODE = "SMP001"
LONG, SHORT, OTHER = list(range(10, 60)), list(range(100, 120)), list(range(200, 230))
seeds = st.integers(0, 2**32).map(random.Random)


def test_message_names_share_lengths_and_categories() -> None:
    example = as_example(as_packs([[OTHER]]), [LONG, OTHER, SHORT], by=["domain"])
    example["reference"]["domain"] = ["code", "wiki", "code"]
    found = found_by(CODE, example)
    assert found is not None
    assert found.severity is Severity.ERROR
    assert found.message == (
        "2 of 3 samples are in no pack (66.7 % of the samples, 70 % of the tokens):"
        " 20 to 50 tokens, median 35; domain: code 2"
    )
    assert (found.n_hits, found.n_tokens) == (2, 70)
    assert found.measured == {"lost_samples": 2, "lost_tokens": 70, "reference_samples": 3}
    assert [place.amount for place in found.locations] == [50, 20]


@pytest.mark.parametrize(("limit", "severity"), [(49, Severity.WARNING), (50, Severity.ERROR)])
def test_samples_longer_than_a_pack_must_be_dropped_by_who_keeps_samples_whole(
    limit: int, severity: Severity
) -> None:
    spec = {"max_seq_len": limit, "eos_ids": [2]}
    found = found_by(CODE, as_example(as_packs([[OTHER]]), [LONG, OTHER], spec=spec))
    assert found is not None
    assert found.severity is severity
    assert ("all longer than a pack of 49" in found.message) == (severity is Severity.WARNING)


def test_a_piece_is_enough_not_to_be_lost() -> None:
    assert found_by(CODE, as_example(as_packs([[LONG[:20]], [OTHER]]), [LONG, OTHER])) is None


def test_a_copy_is_owed_to_every_equal_sample() -> None:
    found = found_by(CODE, as_example(as_packs([[LONG, OTHER]]), [LONG, OTHER, LONG]))
    assert found is not None
    assert found.n_hits == 1


@settings(max_examples=10)
@given(seeds)
def test_exactly_the_samples_left_out_are_lost(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=rng.randint(2, 20), vocabulary=1000, low=4)
    gone = sorted(rng.sample(range(1, len(samples)), rng.randint(1, len(samples) - 1)))
    kept = [sample for i, sample in enumerate(samples) if i not in gone]
    found = found_by(CODE, as_example(as_packs(first_fit(kept, 256)), samples))
    assert found is not None
    assert found.n_hits == len(gone)
    assert found.n_tokens == sum(len(samples[i]) for i in gone)
    longest = sorted(gone, key=lambda i: (-len(samples[i]), i))[:5]
    assert [place.note for place in found.locations] == [
        f"row {i} of the reference: {len(samples[i])} tokens, in no pack" for i in longest
    ]


@settings(max_examples=10)
@given(seeds)
def test_correct_packs_have_lost_nothing(rng: random.Random) -> None:
    assert found_by(CODE, as_example(*correct_packs(rng))) is None


@settings(max_examples=5)
@given(seeds)
def test_fragments_are_not_lost(rng: random.Random) -> None:
    samples = draw_samples(rng, n_samples=10, vocabulary=1000)
    assert found_by(CODE, as_example(as_packs(best_fit_split(samples, 64, rng)), samples)) is None


def test_nothing_is_said_without_a_reference_or_against_a_foreign_one() -> None:
    packs = as_packs([[LONG, OTHER]])
    example = as_example(packs, [LONG])
    del example["reference"]
    assert status_of(CODE, example) == (
        RuleStatus.NOT_CHECKED,
        ("no reference: give the unpacked samples with --reference",),
    )
    status, [reason] = status_of(CODE, as_example(packs, [[i + 1000 for i in LONG]]))
    assert status is RuleStatus.NOT_CHECKED
    assert "TOK003" in reason
