"""Correct packers: whatever they declare to lose is lost, and nothing else is reported."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.reconciliation import Reconciliation
from tests.matching.packers import (
    BOS,
    EOS,
    Packs,
    Row,
    as_packs,
    best_fit_split,
    draw_samples,
    first_fit,
    reconcile,
    wrapped,
)

seeds = st.integers(0, 2**32).map(random.Random)
FEW = settings(max_examples=12)


def draw(
    rng: random.Random,
    *,
    vocabularies: tuple[int, ...] = (2, 30, 50_000),
    low: int = 1,
    nested: float = 0.3,
) -> list[Row]:
    """Return samples with all that makes matching hard: repeats, prefixes, samples inside others."""
    return draw_samples(
        rng,
        n_samples=rng.randint(1, 24),
        vocabulary=rng.choice(vocabularies),
        low=low,
        high=rng.choice([20, 60, 200]),
        prefix=rng.choice([0, 0, 12]),
        repeats=rng.choice([0, 0.3]),
        nested=rng.choice([0, nested]),
    )


def assert_only(found: Reconciliation, *, lost: int = 0, truncated: int = 0, dropped: int = 0) -> None:
    """Assert that the books close and nothing but the given is reported."""
    books = found.balance
    assert (books.gap, books.unknown, books.replaced, books.repeated) == (0, 0, 0, 0)
    assert books.lost == lost
    assert int(found.is_lost.sum()) == dropped
    assert int(found.is_truncated.sum()) == truncated
    assert not found.is_altered.any()
    assert not found.invented_ends.any()


@FEW
@given(seeds)
def test_whole_samples_are_all_there_once(rng: random.Random) -> None:
    samples = draw(rng)
    found = reconcile(as_packs(first_fit(samples, 128)), [*samples, []])
    assert_only(found)
    assert found.copies.tolist() == [1] * len(samples), "an empty row is no sample"
    assert not found.is_split.any()


@FEW
@given(seeds, st.sampled_from([(True, False), (False, True), (True, True)]))
def test_special_tokens_that_were_added_do_not_count(rng: random.Random, ends: tuple[bool, bool]) -> None:
    samples = draw(rng)
    packed = [[BOS] * ends[0] + sample + [EOS] * ends[1] for sample in samples]
    rng.shuffle(packed)
    packs = first_fit(packed, 128)
    # Where nobody says so, the packs must show it.
    n_shown = sum(len(pack) for pack in packs if len(pack) > 1)
    is_declared = n_shown < 8 or rng.random() < 0.5
    found = reconcile(as_packs(packs), samples, specials=is_declared)
    assert_only(found)
    assert found.balance.specials_added == len(samples) * sum(ends)
    assert set(found.copies.tolist()) == {1}


@FEW
@given(seeds)
def test_special_tokens_that_were_stripped_do_not_count(rng: random.Random) -> None:
    samples = draw(rng)
    packs = first_fit(samples, 128)
    is_declared = sum(len(pack) for pack in packs if len(pack) > 1) < 8 or rng.random() < 0.5
    unpacked = [[BOS, *sample, EOS] for sample in samples]
    found = reconcile(as_packs(packs), unpacked, specials=is_declared)
    assert_only(found)
    assert found.balance.specials_added == -2 * len(samples)


@FEW
@given(seeds)
def test_truncated_tails_are_lost_and_nothing_else(rng: random.Random) -> None:
    samples = draw(rng, vocabularies=(1000, 50_000))
    size = rng.choice([32, 64])
    found = reconcile(as_packs(first_fit([sample[:size] for sample in samples], size)), samples)
    too_long = [sample for sample in samples if len(sample) > size]
    assert_only(found, lost=sum(len(sample) - size for sample in too_long), truncated=len(too_long))
    cut = found.is_truncated
    assert found.begins[cut].all()
    assert not found.ends[cut].any()


@FEW
@given(seeds)
def test_dropped_samples_are_lost_and_nothing_else(rng: random.Random) -> None:
    samples = [*draw(rng, vocabularies=(2, 30, 1000)), list(range(5, 25))]
    kept = [sample for sample in samples if len(sample) <= 40]
    found = reconcile(as_packs(first_fit(kept, 40)), samples)
    gone = [len(sample) > 40 for sample in samples]
    assert found.is_lost.tolist() == gone
    assert_only(found, lost=sum(map(len, samples)) - sum(map(len, kept)), dropped=sum(gone))


@FEW
@given(seeds, st.booleans(), st.booleans())
def test_samples_cut_where_packs_end_are_whole(rng: random.Random, has_ends: bool, is_recorded: bool) -> None:
    # Where nothing records boundaries, a sample that holds another one can be told apart by chance only.
    samples = draw(
        rng,
        vocabularies=(1000, 50_000),
        low=1 if has_ends or is_recorded else 16,
        nested=0.3 if is_recorded else 0,
    )
    stream = [sample + [EOS] * has_ends for sample in samples]
    size = rng.choice([48, 96, 256])
    packs = as_packs(wrapped(stream, size))
    packs = packs if is_recorded else Packs(rows=packs.rows)
    found = reconcile(packs, samples, specials=has_ends)
    assert_only(found)
    if has_ends or is_recorded:
        assert int(found.n_cuts.sum()) == _cuts(stream, size, int(has_ends))


@FEW
@given(seeds, st.integers(100, 3000))
def test_streams_larger_than_what_is_held_at_a_time(rng: random.Random, max_tokens: int) -> None:
    """Whole samples are found by how they end, without a second look at the reference."""
    samples = draw_samples(
        rng,
        n_samples=rng.randint(10, 60),
        vocabulary=50_000,
        low=20,
        prefix=rng.choice([0, 20]),
        repeats=rng.choice([0, 0.2]),
    )
    packs = Packs(rows=as_packs(wrapped(samples, 96)).rows)
    assert_only(reconcile(packs, samples, specials=False, max_tokens=max_tokens))
    gone = rng.randrange(len(samples))
    shorter = Packs(rows=as_packs(wrapped([*samples[:gone], *samples[gone + 1 :]], 96)).rows)
    found = reconcile(shorter, samples, specials=False, max_tokens=max_tokens)
    assert_only(found, lost=len(samples[gone]), dropped=1)


def _cuts(stream: list[Row], size: int, n_ends: int) -> int:
    """Return how often packs end inside samples, the end token not counted."""
    n_cuts, place = 0, 0
    for sample in stream:
        last = place + len(sample) - n_ends - 1
        n_cuts += last // size - place // size
        place += len(sample)
    return n_cuts


@FEW
@given(seeds)
def test_fragments_put_anywhere_make_whole_samples(rng: random.Random) -> None:
    samples = draw_samples(
        rng,
        n_samples=rng.randint(1, 30),
        vocabulary=rng.choice([1000, 50_000]),
        high=rng.choice([60, 200, 400]),
        prefix=rng.choice([0, 20]),
        repeats=rng.choice([0, 0.3]),
    )
    found = reconcile(as_packs(best_fit_split(samples, 48, rng)), samples)
    assert_only(found)


@FEW
@given(seeds)
def test_fragments_are_given_to_the_sample_that_they_complete(rng: random.Random) -> None:
    """A sample that holds another one, at a place where fragments do not begin, shares texts with it."""
    inner, other = draw_samples(rng, n_samples=2, vocabulary=1000, low=150)
    head = rng.randint(17, 46)
    samples = [inner, list(inner), other[:head] + inner, inner + other]
    assert_only(reconcile(as_packs(best_fit_split(samples, 48, rng)), samples))


@pytest.mark.parametrize("n_equal", [2, 17, 40])
def test_many_equal_samples_are_counted_though_their_parts_cannot_be_told_apart(n_equal: int) -> None:
    rng = random.Random(n_equal)
    [sample] = draw_samples(rng, n_samples=1, vocabulary=1000, low=200)
    samples = [list(sample) for _ in range(n_equal)]
    found = reconcile(as_packs(best_fit_split(samples, 64, rng)), samples)
    assert_only(found)


@FEW
@given(seeds)
def test_batches_threads_shards_and_chunks_do_not_matter(rng: random.Random) -> None:
    # Pieces of a few tokens are found by what lies around them, which depends on how much is held.
    samples = draw_samples(rng, n_samples=rng.randint(3, 24), vocabulary=50_000, low=16, repeats=0.2)
    lost, cut, kept = samples[:1], samples[1::2], samples[2::2]
    packs = as_packs([*wrapped(kept, 64), *first_fit([sample[:40] for sample in cut], 128)])
    n_packs = len(packs.rows)
    first = rng.randint(0, n_packs)
    one = reconcile(packs, samples)
    sharded = Packs(rows=packs.rows, seq_lens=packs.seq_lens, sizes=[first, n_packs - first])
    others = [
        reconcile(packs, samples, block_tokens=rng.randint(1, 200)),
        reconcile(sharded, samples, jobs=2, block_tokens=64),
        reconcile(packs, samples, max_tokens=rng.randint(1, 300)),
    ]
    assert one.balance.gap == 0
    assert one.balance.unknown == 0
    assert one.balance.lost == sum(map(len, lost)) + sum(max(len(sample) - 40, 0) for sample in cut)
    for other in others:
        assert other.balance == one.balance
        assert np.array_equal(other.copies, one.copies)


@FEW
@given(seeds)
def test_order_of_shards_does_not_matter(rng: random.Random) -> None:
    samples = draw(rng)
    packs = first_fit(samples, 64)
    one = reconcile(as_packs(packs), samples)
    rng.shuffle(packs)
    other = reconcile(as_packs(packs, [len(packs) // 2, len(packs) - len(packs) // 2]), samples)
    assert one.balance == other.balance
    assert np.array_equal(one.copies, other.copies)
