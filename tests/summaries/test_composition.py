"""Compositions against counts token by token; cuts, order and merges do not show; saved and read again."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import PackBatch
from packlint.model.metadata import Categories
from packlint.summaries.composition import Composition
from packlint.summaries.positions import EDGES
from packlint.summaries.shares import FIGURES, MAX_CATEGORIES, MAX_NAME, PACK_UNIT, CategoryShares
from packlint.summaries.token_counts import MAX_IDS, TokenCounts
from packlint.testing import make_batch, make_batches
from tests.packs import Packs, random_packs, sft_packs, text_packs

NAMES = ("code", "web", "wiki")


def domain_of(batch: PackBatch) -> Categories:
    """Return a category of each segment by its second token; some are unknown."""
    places = np.minimum(batch.segments.starts + 1, batch.segments.stops - 1)
    codes = (batch.tokens[places] % 4).astype(np.int32) - 1
    return Categories(NAMES, codes)


def observed(batches: list[PackBatch]) -> Composition:
    """Return the merge of the compositions of some batches."""
    total = Composition()
    for batch in batches:
        one = Composition()
        one.observe(replace(batch, metadata={"domain": domain_of(batch)}))
        total = total.merge(one)
    return total


def samples_of(packs: Packs) -> list[tuple[int, list[int], list[bool]]]:
    """Return pack, ids and targets of each sample, one by one."""
    found = []
    for pack, (ids, lengths) in enumerate(zip(packs["input_ids"], packs["seq_lens"], strict=True)):
        labels = packs["labels"][pack] if "labels" in packs else ids
        place = 0
        for n in lengths:
            stop = place + n
            found.append((pack, ids[place:stop], [label != -100 for label in labels[place:stop]]))
            place = stop
    return found


@given(sft_packs())
@settings(max_examples=40)
def test_counts_are_those_made_one_by_one(packs: Packs) -> None:
    found = observed([make_batch(packs)])

    samples = samples_of(packs)
    positions = Counter(
        int(np.searchsorted(EDGES, i, side="right")) - 1
        for _, _, targets in samples
        for i, is_target in enumerate(targets)
        if is_target
    )
    by_length: Counter[int] = Counter()
    for _, ids, targets in samples:
        by_length[len(ids)] += sum(targets)
    n_by_pack = [
        sum(sum(t) for pack, _, t in samples if pack == number) for number in range(len(packs["input_ids"]))
    ]
    assert dict(zip(*map(np.ndarray.tolist, found.lengths.arrays()), strict=True)) == Counter(
        len(ids) for _, ids, _ in samples
    )
    assert found.targets.dense.tolist() == np.bincount([sum(t) for _, _, t in samples]).tolist()
    assert found.targets_by_length == type(found.targets).of({k: n for k, n in by_length.items() if n})
    assert found.pack_targets.dense.tolist() == np.bincount(n_by_pack).tolist()
    assert found.target_positions.tolist() == [positions[i] for i in range(max(positions) + 1)]
    assert found.tokens.counts.tolist() == np.bincount([i for _, ids, _ in samples for i in ids]).tolist()
    assert (found.n_samples, found.n_tokens) == (len(samples), sum(len(ids) for _, ids, _ in samples))
    assert found.n_targets == sum(n_by_pack)


@given(sft_packs())
@settings(max_examples=40)
def test_categories_are_summed_one_by_one(packs: Packs) -> None:
    found = observed([make_batch(packs)]).categories["domain"]

    n_by_pack: Counter[int] = Counter()
    for pack, _, targets in samples_of(packs):
        n_by_pack[pack] += sum(targets)
    wanted: dict[str, list[int]] = {}
    for pack, ids, targets in samples_of(packs):
        code = ids[1] % 4 - 1
        if code >= 0:
            sums = wanted.setdefault(NAMES[code], [0] * len(FIGURES))
            n, t = len(ids), sum(targets)
            for i, amount in enumerate((1, n, t, n * n, t * t, t * PACK_UNIT // n_by_pack[pack])):
                sums[i] += amount
    assert found.by_name == {name: tuple(sums) for name, sums in wanted.items()}


@given(sft_packs() | text_packs(), st.sampled_from([1, 30, 100]), st.randoms())
@settings(max_examples=40)
def test_neither_cuts_nor_order_show(packs: Packs, block_tokens: int, random: Any) -> None:
    whole = observed([make_batch(packs)])
    batches = make_batches(packs, block_tokens)
    random.shuffle(batches)

    parts = observed(batches)
    assert parts == whole
    assert parts.to_dict() == whole.to_dict()
    assert parts.merge(Composition()) == Composition().merge(parts) == whole


@given(sft_packs(), sft_packs(), text_packs())
@settings(max_examples=20)
def test_merge_is_associative_and_leaves_its_parts_alone(a: Packs, b: Packs, c: Packs) -> None:
    x, y, z = (observed([make_batch(packs)]) for packs in (a, b, c))
    before = [one.to_dict() for one in (x, y, z)]

    assert x.merge(y).merge(z) == x.merge(y.merge(z)) == z.merge(y).merge(x)
    assert [one.to_dict() for one in (x, y, z)] == before


@given(sft_packs() | text_packs())
@settings(max_examples=20)
def test_saved_and_read_again_and_pickled(packs: Packs) -> None:
    found = observed([make_batch(packs)])

    assert Composition.from_dict(found.to_dict()) == found
    assert pickle.loads(pickle.dumps(found)) == found


def test_cores_leave_out_special_tokens_at_the_ends() -> None:
    batch = make_batch(
        {
            "input_ids": [[1, 11, 12, 2, 1, 21, 2]],
            "labels": [[-100, -100, 12, 2, -100, 21, 2]],
            "seq_lens": [[4, 3]],
        }
    )
    found = Composition()
    found.observe(batch, np.array([2, 1]), np.array([1, 5]))

    assert (found.n_tokens, found.n_targets) == (3, 4)
    assert found.target_positions.tolist() == [2]
    assert found.tokens.total == 7


def test_one_run_of_targets_over_all_samples_is_cut_at_each() -> None:
    rows = [[11] * 40]
    batch = make_batch({"input_ids": rows, "labels": rows, "seq_lens": [[17, 20, 3]]})
    found = Composition()
    found.observe(batch)

    assert found.target_positions.tolist() == [16 + 16 + 3, 1 + 4]


def test_targets_that_the_pack_does_not_hold_count_for_their_sample() -> None:
    shifted = {
        "input_ids": [[11, 12, 13, 21, 22]],
        "labels": [[12, 13, 2, 22, 2]],
        "seq_lens": [[3, 2]],
        "layout": {"alignment": "preshifted"},
    }
    found = observed([make_batch(shifted)])

    assert found.n_targets == 5
    assert found.targets.dense.tolist() == [0, 0, 1, 1]
    assert found.target_positions.tolist() == [3]


def test_without_labels_there_are_no_targets() -> None:
    found = observed([make_batch({"input_ids": [[11, 12, 13]], "seq_lens": [[2, 1]]})])

    assert found.n_targets is None
    assert not found.has_targets
    assert found.targets.total == 0


def test_segments_of_a_malformed_record_are_left_out() -> None:
    packs = {"input_ids": [[11, 12, 13], [14, 15]], "seq_lens": [[1, 2], [1, 9]]}
    found = observed([make_batch(packs)])

    assert (found.n_samples, found.n_tokens, found.tokens.total) == (2, 3, 5)


def test_packs_without_boundaries_hold_no_samples_to_speak_of() -> None:
    assert not observed([make_batch({"input_ids": [[11, 12, 13]]})]).has_samples
    rows = make_batch({"input_ids": [[11, 12, 13]], "layout": {"unit": "sample"}})
    assert observed([rows]).has_samples


def test_padding_is_no_token_in_either_half() -> None:
    rng = np.random.default_rng(0)
    packs = random_packs(rng, n_packs=300)
    found = observed(make_batches(packs, 1000))

    counts = [np.zeros(100, np.int64), np.zeros(100, np.int64)]
    for pack, ids, _ in samples_of(packs):
        np.add.at(counts[pack // 64 % 2], ids, 1)
    assert found.tokens.halves.tolist() == [half.tolist() for half in counts]


@pytest.mark.parametrize("foreign", [-1, -(2**40), MAX_IDS, 2**62])
def test_an_absurd_id_asks_for_no_memory(foreign: int) -> None:
    found = observed([make_batch({"input_ids": [[11, foreign, 13, foreign]], "seq_lens": [[4]]})])

    assert found.tokens.n_foreign == 2
    assert found.tokens.halves.shape[1] == 14
    assert Composition.from_dict(found.to_dict()) == found


def test_columns_of_names_or_texts_are_no_categories() -> None:
    def shares(names: list[str]) -> CategoryShares:
        column = Categories(tuple(names), np.arange(len(names), dtype=np.int32))
        return CategoryShares.of(column, np.ones(len(names), np.int64))

    many = [f"url-{i}" for i in range(MAX_CATEGORIES)]
    assert not shares(many).is_overfull
    assert shares(many).merge(shares(["one more"])).is_overfull
    assert shares(["x" * (MAX_NAME + 1)]).is_overfull
    assert shares(many).merge(shares(many)).by_name["url-3"] == (2, 2, 0, 2, 0, 0)
    over = shares(many).merge(shares(["one more"]))
    assert over.merge(shares(["a"])) == shares(["a"]).merge(over) == CategoryShares(is_overfull=True)


def test_being_the_source_is_handed_on_and_not_saved() -> None:
    source = Composition(is_source=True)

    assert source.merge(Composition()).is_source
    assert Composition().merge(source).is_source
    assert not Composition.from_dict(source.to_dict()).is_source
    assert source == Composition()


def test_exact_shares_take_the_place_of_observed_ones() -> None:
    found = observed([make_batch({"input_ids": [[11, 12, 13, 14]], "seq_lens": [[2, 2]]})])
    shares = CategoryShares({"web": (2, 4, 0, 8, 0, 0)})
    found.replace_categories("domain", shares)

    assert found.categories["domain"] == shares


def test_special_ids_are_kept_by_what_they_are_for() -> None:
    packs = {"input_ids": [[11, 2]], "seq_lens": [[2]], "config": {"spec": {"eos_ids": [2, 3], "bos_id": 1}}}
    found = observed([make_batch(packs)])
    found.name_specials("found", [7])
    found.name_specials("pad", [])

    assert found.special_ids == {"bos": {1}, "eos": {2, 3}, "found": {7}}


def test_lengths_beyond_the_array_are_exact() -> None:
    rng = np.random.default_rng(1)
    lengths = np.concatenate([rng.integers(0, 1 << 20, 500), rng.integers(0, 100, 500)])
    one, other = Composition(), Composition()
    one.add_samples(lengths)
    for part in np.array_split(rng.permutation(lengths), 7):
        piece = Composition()
        piece.add_samples(part)
        other = other.merge(piece)

    assert one == other
    assert (one.n_samples, one.n_tokens) == (1000, int(lengths.sum()))
    values, counts = np.unique(lengths, return_counts=True)
    assert [a.tolist() for a in one.lengths.arrays()] == [values.tolist(), counts.tolist()]


def test_no_tokens_at_all() -> None:
    found = observed([make_batch({"input_ids": [[]], "seq_lens": [[]]})])

    assert (found.n_samples, found.n_tokens, found.tokens.total) == (0, 0, 0)
    assert TokenCounts() == found.tokens
