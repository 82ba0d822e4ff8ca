"""Planted faults: each is named with the right sample, and counted to the token."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.reconciliation import Reconciliation
from tests.matching.packers import EOS, Row, as_packs, draw_samples, first_fit, reconcile

LOW = 48
"""Tokens of the shortest sample: what is left of it on both sides of a fault is long enough to be found."""
MARGIN = 17


@dataclass
class Planted:
    """Hold packs with faults, and what must be said of them.

    Args:
        segments: packed segments; those of a list go to packs of their own.
        lost: samples that were left out.
        missing: tokens that are missing, by truncated sample, and whether its beginning and end are there.
        repeated: tokens packed again, by sample.
        altered: tokens changed and tokens missing, by sample.
        altered_at: tokens changed, by place.
        replaced: tokens in place of altered ones.
        split: cuts, by sample.
        invented: end tokens inside, by sample.
        foreign: lengths of segments of no sample.
        meetings: samples that follow another one in the same segment.
    """

    segments: list[Row | list[Row]] = field(default_factory=list)
    lost: list[int] = field(default_factory=list)
    missing: dict[int, tuple[int, bool, bool]] = field(default_factory=dict)
    repeated: dict[int, int] = field(default_factory=dict)
    altered: dict[int, tuple[int, int]] = field(default_factory=dict)
    altered_at: Counter[str] = field(default_factory=Counter)
    replaced: int = 0
    split: dict[int, int] = field(default_factory=dict)
    invented: dict[int, int] = field(default_factory=dict)
    foreign: list[int] = field(default_factory=list)
    meetings: int = 0
    unknown_ids: count[int] = field(default_factory=lambda: count(60_000))

    def fresh(self, n: int) -> Row:
        """Return ids that are in no sample."""
        return [next(self.unknown_ids) for _ in range(n)]

    def alter(self, i: int, segment: Row, n: int, *, n_missing: int, n_new: int, at: str = "inside") -> None:
        """Note an altered sample."""
        self.segments.append(segment)
        self.altered[i] = (n, n_missing)
        self.altered_at[at] += n
        self.replaced += n_new


Plant = Callable[[Planted, int, Row, random.Random], None]


def keep(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    planted.segments.append(sample)


def lose(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    planted.lost.append(i)


def repeat(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    planted.segments += [sample, sample]
    planted.repeated[i] = len(sample)


def cut_head(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    n = rng.randint(1, len(sample) - MARGIN)
    planted.segments.append(sample[n:])
    planted.missing[i] = (n, False, True)


def cut_tail(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    n = rng.randint(1, len(sample) - MARGIN)
    planted.segments.append(sample[:-n])
    planted.missing[i] = (n, True, False)


def change_first(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    planted.alter(i, planted.fresh(1) + sample[1:], 1, n_missing=1, n_new=1, at="first")


def change_last(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    planted.alter(i, sample[:-1] + planted.fresh(1), 1, n_missing=1, n_new=1, at="last")


def change_inside(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    n = rng.randint(1, 6)
    at = rng.randint(MARGIN, len(sample) - MARGIN - n)
    changed = sample[:at] + planted.fresh(n) + sample[at + n :]
    planted.alter(i, changed, n, n_missing=n, n_new=n)


def change_twice(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    changed = list(sample)
    changed[0], changed[len(sample) // 2] = planted.fresh(2)
    planted.alter(i, changed, 1, n_missing=2, n_new=2, at="first")
    planted.altered[i] = (2, 2)
    planted.altered_at["inside"] += 1


def insert(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    n, at = rng.randint(1, 6), rng.randint(MARGIN, len(sample) - MARGIN)
    planted.alter(i, sample[:at] + planted.fresh(n) + sample[at:], n, n_missing=0, n_new=n)


def delete(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    n = rng.randint(1, 6)
    at = rng.randint(MARGIN, len(sample) - MARGIN - n)
    planted.alter(i, sample[:at] + sample[at + n :], n, n_missing=n, n_new=0)


def split(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    at = rng.randint(MARGIN, len(sample) - MARGIN)
    planted.segments.append([sample[:at], sample[at:]])
    planted.split[i] = 1


def close_inside(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    at = rng.randint(MARGIN, len(sample) - MARGIN)
    planted.segments.append([*sample[:at], EOS, *sample[at:]])
    planted.invented[i] = 1


def add_foreign(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    n = rng.randint(1, 60)
    planted.segments += [sample, planted.fresh(n)]
    planted.foreign.append(n)


def merge_with_last(planted: Planted, i: int, sample: Row, rng: random.Random) -> None:
    last = planted.segments[-1] if planted.segments else []
    if i - 1 in planted.split or not last or last[-1] not in range(60_000) or i - 1 in planted.lost:
        planted.segments.append(sample)
        return
    assert isinstance(last[0], int)
    planted.segments[-1] = [*last, *sample]
    if i - 1 not in planted.missing or planted.missing[i - 1][2]:
        planted.meetings += 1


FAULTS: tuple[Plant, ...] = (
    lose,
    repeat,
    cut_head,
    cut_tail,
    change_first,
    change_last,
    change_inside,
    change_twice,
    insert,
    delete,
    split,
    close_inside,
    add_foreign,
)


def plant(rng: random.Random, faults: tuple[Plant, ...], samples: list[Row]) -> Planted:
    """Return the packs of samples, some of them with a fault; the first two are whole."""
    planted = Planted()
    for i, sample in enumerate(samples):
        chosen = keep if i < 2 or rng.random() < 0.4 else rng.choice(faults)
        chosen(planted, i, sample, rng)
    return planted


def books(planted: Planted, samples: list[Row], rng: random.Random) -> Reconciliation:
    """Return what is said of the packs, whose order does not count."""
    whole = [segment for segment in planted.segments if isinstance(segment[0], int)]
    rng.shuffle(whole)
    packs = first_fit(whole, 256)
    for segment in planted.segments:
        if not isinstance(segment[0], int):
            packs += [[part] for part in segment]
    return reconcile(as_packs(packs), samples)


def assert_said(planted: Planted, found: Reconciliation, samples: list[Row]) -> None:
    """Assert that what is said is what was planted."""

    def by_sample(which: np.ndarray, *columns: np.ndarray) -> dict[int, tuple[int, ...]]:
        return {int(i): tuple(int(column[i]) for column in columns) for i in np.flatnonzero(which)}

    assert np.flatnonzero(found.is_lost).tolist() == planted.lost
    truncated = by_sample(found.is_truncated, found.missing, found.begins, found.ends)
    assert truncated == planted.missing
    assert by_sample(found.repeated > 0, found.repeated) == {i: (n,) for i, n in planted.repeated.items()}
    assert by_sample(found.is_altered, found.altered, found.missing) == planted.altered
    assert Counter(found.altered_at) == planted.altered_at
    assert by_sample(found.is_split, found.n_cuts) == {i: (n,) for i, n in planted.split.items()}
    assert by_sample(found.invented_ends > 0, found.invented_ends) == {
        i: (n,) for i, n in planted.invented.items()
    }
    assert sorted(found.unknown_tokens.tolist()) == sorted(planted.foreign)
    balance = found.balance
    assert (balance.gap, balance.unknown, balance.replaced) == (0, sum(planted.foreign), planted.replaced)
    missing = sum(n for n, _, _ in planted.missing.values()) + sum(n for _, n in planted.altered.values())
    assert balance.lost == missing + sum(len(samples[i]) for i in planted.lost)
    assert balance.repeated == sum(planted.repeated.values())
    assert found.n_meetings == planted.meetings


def draw(rng: random.Random) -> list[Row]:
    return draw_samples(
        rng,
        n_samples=rng.randint(3, 24),
        vocabulary=rng.choice([1000, 50_000]),
        low=LOW,
        high=rng.choice([60, 200]),
        prefix=rng.choice([0, 0, 16]),
    )


seeds = st.integers(0, 2**32).map(random.Random)


@settings(max_examples=6)
@given(seeds)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_one_kind_of_fault_is_named_and_counted(fault: Plant, rng: random.Random) -> None:
    samples = draw(rng)
    planted = plant(rng, (fault,), samples)
    assert_said(planted, books(planted, samples, rng), samples)


@settings(max_examples=25)
@given(seeds)
def test_all_kinds_at_once(rng: random.Random) -> None:
    samples = draw(rng)
    planted = plant(rng, FAULTS, samples)
    found = books(planted, samples, rng)
    assert_said(planted, found, samples)
    packed = Counter(tuple(part) for part in planted.segments if isinstance(part[0], int))
    assert found.copies.tolist() == [packed[tuple(sample)] for sample in samples]


@settings(max_examples=15)
@given(seeds)
def test_merged_samples_are_all_there(rng: random.Random) -> None:
    samples = draw(rng)
    planted = plant(rng, (merge_with_last, cut_tail), samples)
    found = books(planted, samples, rng)
    assert_said(planted, found, samples)
    assert found.open_meetings.size == planted.meetings


@settings(max_examples=10)
@given(seeds)
def test_a_swap_of_two_samples_is_no_fault(rng: random.Random) -> None:
    samples = draw(rng)
    packs = first_fit(samples, 256)
    a, b = rng.choice(packs), rng.choice(packs)
    a[0], b[-1] = b[-1], a[0]
    found = reconcile(as_packs(packs), samples)
    assert_said(Planted(), found, samples)
