"""ORD002: lengths along shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.finding import Confidence
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.rule import Judgement
from packlint.testing import judge, judge_example
from packlint_rules.order.ord002_length_sorted_order import LengthSortedOrder
from tests.orders import batch_of, best_fit, concatenated, cut_batches, dealt, greedy


def in_order(found: PackBatch | Sequence[PackBatch], **options: Any) -> Judgement | None:
    judged = judge(LengthSortedOrder, [found] if isinstance(found, PackBatch) else found, **options)
    return judged[0] if judged else None


def rows(lengths: Sequence[int] | np.ndarray, **told: Any) -> PackBatch:
    return batch_of([[int(n)] for n in lengths], **told)


def test_examples() -> None:
    assert judge_example(LengthSortedOrder, LengthSortedOrder.good[0]) == []
    assert judge_example(LengthSortedOrder, LengthSortedOrder.bad[0])


def test_short_to_long() -> None:
    found = in_order(rows(range(100, 300)))

    assert found is not None
    assert found.message == (
        "neighbouring packs hold samples of like length: correlation 0.99, 36 % either way (short to long);"
        " shuffled: 0; allowed: 0.3"
    )
    assert found.measured["trend"] == pytest.approx(1, abs=0.02)
    assert float(found.measured["correlation_lag_64"]) > 0.1
    assert (found.n_hits, found.n_packs, found.confidence) == (1, 200, Confidence.LIKELY)
    assert [(place.shard, place.pack) for place in found.locations] == [("shard-0", -1)]


def test_the_shards_that_are_sorted_are_named() -> None:
    rng = np.random.default_rng(1)
    mixed = [rows(rng.permutation(np.arange(10, 210)), shard=i) for i in range(3)]
    found = in_order([*mixed, rows(range(210, 10, -1), shard=3)])

    assert found is not None
    assert "in 1 of 4 shards: correlation 0.98" in found.message
    assert (found.n_hits, found.n_packs, found.measured["n_shards"]) == (1, 200, 4)
    assert [(p.shard, p.note) for p in found.locations] == [("shard-3", "correlation 0.98, long to short")]


def test_certain_where_the_trainer_keeps_the_order_and_boundaries_are_recorded() -> None:
    kept = in_order(rows(range(100, 300), trainer="megatron-sft"))
    lengths = np.repeat(np.arange(100, 300), 2).reshape(-1, 2).tolist()
    scanned = batch_of(lengths, trainer="modded-nanogpt", source=BoundarySource.BOUNDARY_TOKENS)

    inferred = in_order(scanned)

    assert kept is not None
    assert kept.confidence is Confidence.CERTAIN
    assert inferred is not None
    assert inferred.confidence is Confidence.LIKELY


@pytest.mark.parametrize("trainer", ["trl", "unsloth", "megatron-bridge", "litgpt"])
def test_not_checked_where_the_trainer_shuffles(trainer: str) -> None:
    asked = LengthSortedOrder(LengthSortedOrder.Options(judges_stored_order=True))

    assert "shuffles packs when it reads" in (LengthSortedOrder().unchecked(rows([4], trainer=trainer)) or "")
    assert asked.unchecked(rows([4], trainer=trainer)) is None
    assert LengthSortedOrder().unchecked(rows([4], trainer="automodel-nanogpt")) is None


def test_lengths_that_hardly_differ_are_in_no_order() -> None:
    assert in_order(rows(np.linspace(1000, 1100, 200))) is None
    assert in_order(rows(np.linspace(1000, 1100, 200)), min_swing_fraction=0.01) is not None
    assert in_order(rows([512] * 200)) is None


def test_few_packs_say_nothing() -> None:
    assert in_order(rows(range(10, 73))) is None
    assert in_order(rows([])) is None
    assert in_order([]) is None


def test_packers_as_people_use_them() -> None:
    lengths = np.clip(np.random.default_rng(3).lognormal(5, 1, 5000), 8, 2000).astype(np.int64)
    domains = [""] * 5000

    by_buffer = in_order(dealt(best_fit, lengths, domains))

    assert in_order(dealt(greedy, lengths, domains)) is None
    assert in_order(dealt(concatenated, lengths * 20, domains, trainer="llm-foundry")) is None
    assert by_buffer is not None
    assert float(by_buffer.measured["correlation_lag_1"]) > 0.6
    assert "up and down" in by_buffer.message


@given(st.integers(0, 2**32), st.floats(0.6, 0.99))
@settings(max_examples=50)
def test_a_planted_correlation_is_measured(seed: int, correlation: float) -> None:
    rng = np.random.default_rng(seed)
    logs = [0.0]
    for step in rng.normal(size=3000):
        logs.append(correlation * logs[-1] + np.sqrt(1 - correlation**2) * step)
    lengths = np.exp(7 + np.array(logs)).astype(int) + 1
    expected = np.corrcoef(np.log(lengths[:-1]), np.log(lengths[1:]))[0, 1]

    found = in_order(rows(lengths))

    assert found is not None
    assert found.measured["correlation_lag_1"] == pytest.approx(expected, abs=0.02)


@given(st.integers(0, 2**32), st.integers(64, 500), st.floats(0.1, 3), st.integers(1, 5))
@settings(max_examples=50)
def test_silent_on_shuffled_packs(seed: int, n: int, spread: float, n_shards: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = np.exp(rng.normal(6, spread, (n_shards, n))).astype(int) + 1

    assert in_order([rows(part, shard=i) for i, part in enumerate(lengths)]) is None


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=20)
def test_how_shards_are_cut_into_batches_changes_nothing(seed: int, data: st.DataObject) -> None:
    packs = [[int(n)] for n in np.sort(np.random.default_rng(seed).integers(1, 99, 100))]
    parts = cut_batches(packs, None, data.draw(st.lists(st.integers(0, 100), max_size=4)))

    assert in_order(data.draw(st.permutations(parts))) == in_order(batch_of(packs)) is not None
