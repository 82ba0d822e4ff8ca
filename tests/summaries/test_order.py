"""The order of packs: kept whatever the batches are, dealt to batches and shards, and put into a plot."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.summaries.order import order_tables, pack_mates, shard_orders
from packlint.summaries.order_effects import LENGTHS, batches, effects, shards
from packlint.summaries.pack_order import PackOrder, PackSequence
from tests.orders import batch_of, best_fit, concatenated, cut_batches, dealt, greedy

PACKS = st.lists(
    st.lists(st.tuples(st.integers(1, 40), st.sampled_from(["web", "code", None])), min_size=1, max_size=4),
    min_size=1,
    max_size=12,
)


def collected(found: list[PackBatch]) -> PackOrder:
    order = PackOrder()
    for batch in found:
        order = order.merge(PackOrder().add(batch))
    return order


def content(sequence: PackSequence) -> Any:
    columns = {
        name: [(int(e["row"]), column.names[e["code"]], int(e["count"])) for e in column.entries]
        for name, column in sequence.columns.items()
    }
    return sequence.shards.tolist(), sequence.rows.tolist(), sequence.has_lengths.tolist(), columns


def as_lists(packs: list[list[tuple[int, str | None]]]) -> tuple[list[list[int]], list[list[str | None]]]:
    return [[n for n, _ in pack] for pack in packs], [[value for _, value in pack] for pack in packs]


@given(PACKS, PACKS, st.data())
@settings(max_examples=80)
def test_packs_come_back_in_order_however_they_were_cut(first: Any, second: Any, data: st.DataObject) -> None:
    parts = []
    for shard, packs in enumerate((first, second)):
        cuts = data.draw(st.lists(st.integers(0, len(packs)), max_size=3))
        parts += cut_batches(*as_lists(packs), cuts, shard=shard)
    sequence = collected(data.draw(st.permutations(parts))).in_order()

    packs = [*first, *second]
    assert sequence.shards.tolist() == [0] * len(first) + [1] * len(second)
    assert sequence.rows["pack"].tolist() == [*range(len(first)), *range(len(second))]
    assert sequence.rows["segments"].tolist() == [len(pack) for pack in packs]
    assert sequence.rows["tokens"].tolist() == [sum(n for n, _ in pack) for pack in packs]
    logs = [np.mean([np.log2(n) for n, _ in pack]) for pack in packs]
    assert sequence.log_means == pytest.approx(logs, abs=1e-3)
    squares = [np.mean([np.log2(n) ** 2 for n, _ in pack]) for pack in packs]
    assert sequence.log_squares == pytest.approx(squares, abs=2e-2)
    entries = [
        (i, value, sum(v == value for _, v in pack))
        for i, pack in enumerate(packs)
        for value in ("code", "web")
        if any(v == value for _, v in pack)
    ]
    assert content(sequence)[3]["domain"] == entries


def test_parts_may_interleave() -> None:
    a, b = batch_of([[1], [3]], [["web"], ["code"]]), batch_of([[2], [4]], [["code"], ["web"]])
    a = replace(a, pack_numbers=np.array([0, 2]))
    b = replace(b, pack_numbers=np.array([1, 3]))
    sequence = collected([b, a]).in_order()

    assert sequence.rows["tokens"].tolist() == [1, 2, 3, 4]
    assert content(sequence)[3]["domain"] == [(0, "web", 1), (1, "code", 1), (2, "code", 1), (3, "web", 1)]


@given(PACKS, PACKS, PACKS)
@settings(max_examples=30)
def test_laws(a: Any, b: Any, c: Any) -> None:
    x, y, z = (collected([batch_of(*as_lists(p), shard=i)]) for i, p in enumerate((a, b, c)))
    before = copy.deepcopy([content(part.in_order()) for part in (x, y, z)])

    assert content(x.merge(y).in_order()) == content(y.merge(x).in_order())
    assert content(x.merge(y).merge(z).in_order()) == content(x.merge(y.merge(z)).in_order())
    assert content(x.merge(PackOrder()).in_order()) == content(PackOrder().merge(x).in_order()) == before[0]
    assert [content(part.in_order()) for part in (x, y, z)] == before


def test_many_categories_are_counted_like_few() -> None:
    names = [[f"s{(7 * i + k) % 5000:04}" for k in range(3)] for i in range(2000)]
    sequence = collected([batch_of([[5] * 3] * 2000, names)]).in_order()

    expected = [(i, value, 1) for i, pack in enumerate(names) for value in sorted(pack)]
    assert content(sequence)[3]["domain"] == expected


def test_a_batch_is_measured_once_for_all_rules() -> None:
    batch = batch_of([[3, 4]] * 4)
    one, other = PackOrder().add(batch), PackOrder().add(batch)

    assert one.chunks[0] is other.chunks[0]


@pytest.mark.parametrize(
    ("trainer", "source", "expected"),
    [
        ("grain", BoundarySource.SEQ_LENS, [3, 1, 2]),
        ("llm-foundry", BoundarySource.BOUNDARY_TOKENS, [2, 1]),
        (None, BoundarySource.BOUNDARY_TOKENS, [2, 1]),
        (None, None, [3, 1, 2]),
    ],
)
def test_the_rest_of_a_cut_sample_does_not_count(trainer: Any, source: Any, expected: list[int]) -> None:
    batch = batch_of([[4, 2, 6], [8], [1, 7]], trainer=trainer, source=source)

    assert collected([batch]).in_order().rows["segments"].tolist() == expected


@given(st.integers(0, 60), st.integers(1, 5), st.integers(1, 4), st.booleans())
def test_batches(n_packs: int, each: int, n_ranks: int, contiguous: bool) -> None:
    grouping = batches(n_packs, each, n_ranks, contiguous=contiguous)
    n_batches = n_packs // n_ranks // each
    expected = {}
    for batch in range(n_batches):
        for rank in range(n_ranks):
            for k in range(each):
                if contiguous:
                    pack = rank * (n_packs // n_ranks) + batch * each + k
                else:
                    pack = (batch * each + k) * n_ranks + rank
                expected[pack] = batch

    if each * n_ranks == 1:
        assert (grouping.packs.tolist(), grouping.n_groups) == (list(range(n_packs)), 0)
    else:
        assert dict(zip(grouping.packs.tolist(), grouping.groups.tolist(), strict=True)) == expected
        assert grouping.n_groups == n_batches


def domain_effect(shares: np.ndarray, grouping: Any) -> float | None:
    """Return V of packs of 4 samples, `shares` of which are of one domain."""
    packs = [["a"] * round(4 * x) + ["b"] * (4 - round(4 * x)) for x in shares]
    sequence = collected([batch_of([[5] * 4] * len(packs), packs)]).in_order()
    found = {effect.name: effect.size for effect in effects(sequence, grouping)}
    assert LENGTHS not in found, "all samples are of one length"
    return found.get("domain")


@given(st.integers(0, 2**32), st.sampled_from([2, 4, 16]))
@settings(max_examples=30)
def test_cramers_v_of_batches_is_the_textbook_one_less_its_expectation(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    shares = np.repeat(rng.integers(0, 5, 16), 8) / 4
    shares[rng.integers(0, 128, 20)] = 0.5
    grouping = batches(128, size)
    table = np.stack([np.bincount(grouping.groups, x) for x in (shares, 1 - shares)], axis=1)
    expected_counts = table.sum(0) * size / 128
    chi = float(((table - expected_counts) ** 2 / expected_counts).sum())
    whole = sum(float(((x - x.mean()) ** 2).sum() / x.mean()) for x in (shares, 1 - shares))
    n_groups = 128 // size
    squared = (chi - whole * (n_groups - 1) / 127) / (128 - n_groups) * 127 / 128

    found = domain_effect(shares, grouping)

    assert found is not None
    assert found == pytest.approx(np.sqrt(max(squared, 0)), abs=1e-6)


def test_sizes_do_not_depend_on_batch_size_or_number_of_packs() -> None:
    for n_packs in (256, 4096):
        shares = np.repeat([1.0, 0.0], n_packs // 2)
        for size in (1, 2, 8, 64):
            assert domain_effect(shares, batches(n_packs, size)) == pytest.approx(1, abs=0.01)
        mixed = np.repeat([0.75, 0.25], n_packs // 2)
        assert domain_effect(mixed, batches(n_packs, 8)) == pytest.approx(0.5, abs=0.01)


def test_contiguous_ranks_mix_what_is_sorted() -> None:
    shares = np.repeat([1.0, 0.0], 64)

    apart = domain_effect(shares, batches(128, 4, 2))
    together = domain_effect(shares, batches(128, 4, 2, contiguous=True))

    assert apart == pytest.approx(1)
    assert together == pytest.approx(0)


def test_small_shards_are_left_out() -> None:
    found = [batch_of([[2, 3]] * n, shard=i) for i, n in enumerate((3, 20, 40))]
    grouping = shards(collected(found).in_order(), 16)

    assert grouping.n_groups == 2
    assert np.bincount(grouping.groups).tolist() == [20, 40]


def samples(seed: int, n: int = 6000, unlike: bool = False) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    domain = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    middle = np.array([4.0, 5.0, 6.5] if unlike else [5.0, 5.0, 5.0])[domain]
    lengths = np.clip(np.exp(rng.normal(middle, 0.8)), 8, 2000).astype(np.int64)
    return lengths, [("web", "code", "book")[d] for d in domain]


@pytest.mark.parametrize("unlike", [False, True])
@pytest.mark.parametrize("size", [1, 8])
def test_packers_of_shuffled_samples_mix_batches(size: int, unlike: bool) -> None:
    lengths, domains = samples(0, unlike=unlike)
    long = np.where(lengths > 400, lengths * 30, lengths)  # samples of several packs
    for batch in (
        dealt(greedy, lengths, domains),
        dealt(concatenated, lengths, domains, trainer="llm-foundry"),
        dealt(concatenated, long, domains, trainer="llm-foundry"),
    ):
        sequence = collected([batch]).in_order()
        assert [e.size for e in effects(sequence, batches(len(sequence), size)) if e.is_more_than(0.2)] == []
        assert [one for one in shard_orders(sequence) if one.likeness.fraction > 0.2] == []


def test_rows_of_best_fit_are_ordered_in_each_buffer_until_they_are_shuffled() -> None:
    lengths, domains = samples(1, unlike=True)
    stored = collected([dealt(best_fit, lengths, domains)]).in_order()

    def shuffled(values: Any) -> Any:
        packs = best_fit(values)
        return [packs[i] for i in np.random.default_rng(5).permutation(len(packs))]

    mixed = collected([dealt(shuffled, lengths, domains)]).in_order()

    assert shard_orders(stored)[0].likeness.fraction > 0.6
    assert shard_orders(stored)[0].shape == "up and down"
    assert not shard_orders(mixed)[0].likeness.is_beyond_chance
    assert not any(effect.is_more_than(0.2) for effect in effects(mixed, batches(len(mixed), 8)))


@given(PACKS)
@settings(max_examples=60)
def test_mates_are_counted_pair_by_pair(packs: Any) -> None:
    column = collected([batch_of(*as_lists(packs))]).in_order().columns["domain"]
    known = [[value for _, value in pack if value is not None] for pack in packs]
    known = [pack for pack in known if len(pack) > 1]
    mates = pack_mates("domain", column)
    if mates is None:
        return
    shares = [
        sum(a == b for i, a in enumerate(p) for b in p[:i]) / (len(p) * (len(p) - 1) / 2) for p in known
    ]
    weights = [len(pack) - 1 for pack in known]
    everyone = [value for pack in known for value in pack]
    pairs = [a == b for i, a in enumerate(everyone) for b in everyone[:i]]

    assert mates.same_fraction == pytest.approx(np.average(shares, weights=weights))
    assert mates.shuffled_fraction == pytest.approx(np.mean(pairs))
    assert 0 <= mates.size <= 1 + 1e-9


def test_tables_are_bounded_and_say_what_there_is() -> None:
    lengths, domains = samples(2, 9000)
    order = np.argsort(lengths)
    batch = dealt(greedy, lengths[order], [domains[i] for i in order])
    tables = order_tables(collected([batch]), ["part-0"])

    assert len(tables["mean_length"]) == 120
    assert tables["mean_length"] == sorted(tables["mean_length"])
    assert tables["categories"] == ["web", "code", "book"]
    assert np.sum(tables["shares"], axis=0) == pytest.approx(np.ones(120), abs=1e-3)
    assert (tables["n_packs"], tables["n_shards"], tables["first_shard"]) == (batch.n_packs, 1, "part-0")
    assert tables["sample length alike in neighbours"] > 0.9
    assert tables["domain alike in neighbours"] < 0.2


def test_tables_of_nothing_and_of_little() -> None:
    assert order_tables(PackOrder(), []) == {}
    tables = order_tables(collected([batch_of([[2, 4]], [["web", None]])]), ["a"])
    assert tables["mean_length"] == [3.0]
    assert tables["shares"] == [[1.0]]


def test_weird_batches() -> None:
    weird: list[list[list[int]]] = [[], [[]], [[], [1], []], [[1]] * 70]
    for packs in weird:
        sequence = collected([batch_of(packs)]).in_order()
        assert shard_orders(sequence) == []
        assert effects(sequence, batches(len(sequence), 1)) == []
        assert effects(sequence, batches(len(sequence), 8)) == []
