"""Shares of targets by place in the pack, against plain arithmetic sample by sample."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.role_counts import role_tokens
from packlint.model.roles import Role
from packlint.summaries.place_extremes import KEPT
from packlint.summaries.place_gaps import PlaceGap, PlaceShares, gap_locations, large_gaps
from packlint.testing import make_batch, make_batches
from tests.rules.targets.chats import Chats, plant, random_chats

ROWS = {Role.SYSTEM: 0, Role.USER: 1, Role.ASSISTANT: 2, Role.TOOL: 3}
LETTERS = {"s": Role.SYSTEM, "u": Role.USER, "a": Role.ASSISTANT, "t": Role.TOOL}
Share = tuple[int, int, int, int, int, int]
"""Thousandths, tokens, targets, pack, sample, turns."""


def noisy(seed: int, *, n_packs: int = 6) -> Chats:
    rng = np.random.default_rng(seed)
    return plant(random_chats(rng, n_packs=n_packs), rng, lambda t: t.kind == "text", share=0.2)[0]


def shares_of(chats: Chats) -> dict[Role, list[Share]]:
    """Return one share per role and sample in which it speaks."""
    by_sample: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for token in chats.tokens:
        by_sample[token.pack, token.sample].append(token)
    found: dict[Role, list[Share]] = defaultdict(list)
    for (pack, sample), tokens in by_sample.items():
        turns = sum(t.kind == "header" for t in tokens)
        for letter, role in LETTERS.items():
            live = [chats.packs["labels"][pack][t.place] != -100 for t in tokens if t.role == letter]
            if live:
                share = 1000 * sum(live) // len(live)
                found[role].append((share, len(live), sum(live), pack, sample, turns))
    return found


def add(chats: Chats, block_tokens: int = 200) -> PlaceShares:
    shares = PlaceShares()
    for batch in make_batches(chats.packs, block_tokens=block_tokens):
        assert batch.roles is not None
        shares.add(batch, batch.roles)
    return shares


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_sums_by_role_turns_and_place(seed: int) -> None:
    chats = noisy(seed)
    found = add(chats)

    sums = np.zeros((3, *found.sums.shape), np.int64)
    for role, samples in shares_of(chats).items():
        for share, _, _, _, sample, turns in samples:
            sums[:, ROWS[role], min(turns, 16), int(sample > 0)] += (1, share, share**2)
    assert found.n_samples.tolist() == sums[0].tolist()
    assert found.sums.tolist() == sums[1].tolist()
    assert found.squares.tolist() == sums[2].tolist()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([200, 10**6]))
def test_the_farthest_later_samples(seed: int, is_least: bool, block_tokens: int) -> None:
    chats = noisy(seed, n_packs=8)
    found = add(chats, block_tokens)

    for role, samples in shares_of(chats).items():
        sign = 1 if is_least else -1
        later = sorted((sign * s, -n, pack, at, k) for s, n, k, pack, at, _ in samples if at > 0)
        places = found.extremes.worst(ROWS[role], is_least=is_least, name="such", shards=("one",))
        assert [(p.pack, p.segment) for p in places] == [(pack, at) for _, _, pack, at, _ in later[:KEPT]]
        for place, (_, n, pack, at, k) in zip(places, later, strict=False):
            mine = [i for i, s in enumerate(chats.packs["segment_ids"][pack]) if s == at + 1]
            assert (place.start, place.stop) == (mine[0], mine[-1] + 1)
            assert place.amount == (-n - k if is_least else k)
            assert place.note == f"{k} of {-n} such tokens are targets"


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32), st.randoms())
def test_batches_and_their_order_do_not_matter(seed: int, random: Any) -> None:
    chats = noisy(seed)
    parts = []
    for batch in make_batches(chats.packs, block_tokens=random.randint(1, 300)):
        parts.append(PlaceShares())
        assert batch.roles is not None
        parts[-1].add(batch, batch.roles)
    random.shuffle(parts)
    merged = PlaceShares()
    for part in parts:
        merged = merged.merge(part)

    assert merged.extremes.rows.tolist() == add(chats).extremes.rows.tolist()
    assert merged.sums.tolist() == add(chats).sums.tolist()


def test_locations_take_the_gaps_in_turn_and_name_a_sample_once() -> None:
    chats = noisy(3, n_packs=12)
    shares = add(chats)
    gaps = [gap(Role.USER, first=0.0, later=1.0), gap(Role.ASSISTANT, first=1.0, later=0.0)]

    found = gap_locations(shares, gaps, ("one",))

    user = shares.extremes.worst(ROWS[Role.USER], is_least=False, name="user", shards=("one",))
    assistant = shares.extremes.worst(ROWS[Role.ASSISTANT], is_least=True, name="assistant", shards=("one",))
    notes = [place.note for place in found]
    for place in (*user[:2], *assistant[:2]):
        assert any(place.note in note for note in notes)
    assert len({(p.pack, p.segment) for p in found}) == len(found) == 5
    assert list(found) == sorted(found, key=lambda place: place.order)


def test_locations_of_a_sample_that_two_gaps_share_are_one() -> None:
    chats = random_chats(np.random.default_rng(0), n_packs=1, max_samples=5)
    chats, _ = plant(chats, np.random.default_rng(0), lambda t: t.sample == 1 and t.kind == "text", share=1.0)
    gaps = [gap(Role.USER, first=0.0, later=1.0), gap(Role.ASSISTANT, first=1.0, later=0.0)]

    found = {(place.pack, place.segment): place for place in gap_locations(add(chats), gaps, ("one",))}

    n_user = sum(t.role == "u" and t.sample == 1 for t in chats.tokens)
    n_answer = sum(t.role == "a" and t.sample == 1 for t in chats.tokens)
    assert found[0, 1].amount == n_user + n_answer
    assert found[0, 1].note == (
        f"{n_user} of {n_user} user tokens are targets; 0 of {n_answer} assistant tokens are targets"
    )


def gap(role: Role, *, first: float, later: float) -> PlaceGap:
    return PlaceGap(
        role=role, n_first=9, n_later=9, first_fraction=first, later_fraction=later, standard_errors=9.0
    )


def fill(first: dict[int, list[int]], later: dict[int, list[int]]) -> PlaceShares:
    """Return shares of the user, in thousandths, by number of turns."""
    shares = PlaceShares()
    for place, groups in enumerate((first, later)):
        for turns, values in groups.items():
            at = (ROWS[Role.USER], turns, place)
            shares.n_samples[at] += len(values)
            shares.sums[at] += sum(values)
            shares.squares[at] += sum(v * v for v in values)
    return shares


def test_a_gap_is_that_of_samples_of_as_many_turns() -> None:
    """Groups that stand in one place only are left out; the rest is weighted by how much it tells."""
    first, later = (
        {2: [0, 200, 100], 4: [900] * 6, 6: [1000] * 50},
        {2: [500] * 6, 4: [700, 800], 7: [0] * 50},
    )

    (found,) = large_gaps(fill(first, later), 1, 0.0, 0.0)

    weights = {2: 3 * 6 / 9, 4: 6 * 2 / 8}
    mean = {
        place: sum(w * statistics.mean(groups[t]) for t, w in weights.items()) / sum(weights.values()) / 1000
        for place, groups in (("first", first), ("later", later))
    }
    spread = {t: statistics.variance(first[t] + later[t]) / 1e6 for t in weights}
    error = (
        sum(w * w * spread[t] * (1 / len(first[t]) + 1 / len(later[t])) for t, w in weights.items()) ** 0.5
    )
    error /= sum(weights.values())
    assert found.role is Role.USER
    assert (found.n_first, found.n_later) == (9, 8)
    assert found.first_fraction == pytest.approx(mean["first"])
    assert found.later_fraction == pytest.approx(mean["later"])
    assert found.fraction == pytest.approx(mean["first"] - mean["later"])
    assert found.standard_errors == pytest.approx(abs(mean["first"] - mean["later"]) / error)


@pytest.mark.parametrize(
    ("n_first", "n_later", "is_found"), [(12, 12, True), (11, 50, False), (50, 11, False)]
)
def test_enough_samples_in_both_places(n_first: int, n_later: int, is_found: bool) -> None:
    shares = fill({2: [0] * n_first}, {2: [1000] * n_later})

    assert bool(large_gaps(shares, 12, 0.2, 0.0)) is is_found


@pytest.mark.parametrize(("later", "is_found"), [(200, True), (199, False)])
def test_a_gap_must_be_large(later: int, is_found: bool) -> None:
    assert bool(large_gaps(fill({2: [0] * 90}, {2: [later] * 90}), 12, 0.2, 5.0)) is is_found
    assert bool(large_gaps(fill({2: [later] * 90}, {2: [0] * 90}), 12, 0.2, 5.0)) is is_found


def test_a_gap_must_be_beyond_chance() -> None:
    shares = fill({2: [0, 1000] * 6}, {2: [1000] * 12})
    (found,) = large_gaps(shares, 12, 0.2, 0.0)

    assert 2.0 < found.standard_errors < 5.0
    assert large_gaps(shares, 12, 0.2, found.standard_errors) == [found]
    assert large_gaps(shares, 12, 0.2, found.standard_errors + 1e-9) == []


def test_equal_shares_are_no_gap() -> None:
    (found,) = large_gaps(fill({2: [500] * 20}, {2: [500] * 20}), 1, 0.0, 0.0)

    assert found.fraction == found.standard_errors == 0.0


def test_samples_of_many_turns_are_one_group() -> None:
    turns = "ua" * 12
    ids = [1, *(i for who in turns for i in ({"u": 4, "a": 5}[who], 30, 7))]
    chat = {"markers": {"user": [4], "assistant": [5], "end": [7]}}
    settings = {"chat": chat, "spec": {"bos_id": 1}}
    batch = make_batch({"input_ids": [ids], "labels": [ids], "seq_lens": [[len(ids)]], "config": settings})
    assert batch.roles is not None
    shares = PlaceShares()
    shares.add(batch, batch.roles)

    assert np.argwhere(shares.n_samples[ROWS[Role.USER]]).tolist() == [[16, 0]]


def parted(trainer: str, **columns: Any) -> PlaceShares:
    """Return the shares of two packs of two samples, the second pack beginning inside a turn."""
    whole, rest = [1, 4, 41, 7, 5, 51, 7], [42, 7, 5, 52, 7]
    packs = {
        "input_ids": [whole + whole, rest + whole],
        "labels": [whole + whole, rest + whole],
        "seq_lens": [[7, 7], [5, 7]],
        "config": {
            "profile": "sft",
            "trainer": trainer,
            "spec": {"bos_id": 1, "eos_ids": [7]},
            "chat": {"markers": {"user": [4], "assistant": [5], "end": [7]}},
        },
        **columns,
    }
    batch = make_batch(packs)
    assert batch.roles is not None
    shares = PlaceShares()
    shares.add(batch, batch.roles)
    return shares


def test_samples_that_begin_in_the_middle_are_left_out() -> None:
    assert parted("trl").n_samples[ROWS[Role.ASSISTANT]].sum(axis=0).tolist() == [1, 2]


def test_packs_with_a_broken_record_are_left_out() -> None:
    broken = parted("trl", seq_lens=[[7, 7], [5, 6]])

    assert broken.n_samples[ROWS[Role.ASSISTANT]].sum(axis=0).tolist() == [1, 1]


def test_where_packs_are_cut_anywhere_first_samples_are_left_out() -> None:
    assert parted("megatron").n_samples[ROWS[Role.ASSISTANT]].sum(axis=0).tolist() == [0, 2]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_tokens_of_each_role(seed: int) -> None:
    chats = random_chats(np.random.default_rng(seed), n_packs=3)
    batch = make_batch(chats.packs)

    counts = np.zeros((len(Role), batch.n_segments), np.int64)
    for token in chats.tokens:
        role = LETTERS.get(token.role, Role.TEMPLATE)
        counts[role, batch.segment_first_in_pack[token.pack] + token.sample] += 1
    assert role_tokens(batch)[1:].tolist() == counts[1:].tolist()


def test_no_roles_no_tokens() -> None:
    assert role_tokens(make_batch({"input_ids": [[30, 31]]})).tolist() == [[0]] * len(Role)
