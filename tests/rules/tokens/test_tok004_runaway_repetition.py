"""TOK004: a short cycle over a large part of a segment."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.engine.scan import scan_batch
from packlint.engine.tally import ShardResult
from packlint.model.batch import PackBatch
from packlint.testing import check, make_batch, make_batches
from packlint_rules.tokens.tok004_runaway_repetition import RunawayRepetition
from tests.packs import Packs, random_packs, sft_packs, text_packs, with_config

LOOP = [41, 42, 43, 44] * 20


def hits(packs: Packs | PackBatch, **options: Any) -> list[tuple[int, int]]:
    found = check(RunawayRepetition, packs, **options)
    return list(zip(found.starts.tolist(), found.stops.tolist(), strict=True))


def oracle(batch: PackBatch, min_run: int, fraction: float, max_cycle: int) -> set[int]:
    """Look at every window of every segment, token by token."""
    tokens, marked = batch.tokens.tolist(), set()
    padding = set(np.flatnonzero(batch.padding.to_mask(batch.n_tokens)).tolist())
    for low, high in zip(batch.segments.starts.tolist(), batch.segments.stops.tolist(), strict=True):
        mine: set[int] = set()
        for cycle in range(1, max_cycle + 1):
            size = max(min_run, cycle + 1)
            for start in range(low, high - size + 1):
                window = range(start, start + size)
                if not padding & set(window) and all(
                    tokens[t] == tokens[t + cycle] for t in range(start, start + size - cycle)
                ):
                    mine |= set(window)
        if len(mine) >= fraction * (high - low):
            marked |= mine
    return marked


@given(st.integers(0, 2**32), st.data())
@settings(max_examples=60)
def test_equals_brute_force(seed: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    packs = random_packs(rng, n_packs=3, max_sample_len=60)
    del packs["labels"]
    for row in packs["input_ids"]:
        for _ in range(data.draw(st.integers(0, 3))):
            start = data.draw(st.integers(0, len(row) - 1))
            cycle = data.draw(st.lists(st.integers(10, 14), min_size=1, max_size=5))
            size = data.draw(st.integers(1, 50))
            stop = min(start + size, len(row))
            row[start:stop] = (cycle * size)[: stop - start]
    batch = make_batch(packs)
    min_run = data.draw(st.sampled_from([4, 9, 16, 24]))
    fraction = data.draw(st.sampled_from([0.0, 0.3, 0.8]))
    max_cycle = data.draw(st.integers(1, 4))

    found = hits(batch, min_run_tokens=min_run, min_segment_fraction=fraction, max_cycle_tokens=max_cycle)

    marked = oracle(batch, min_run, fraction, max_cycle)
    assert {t for a, b in found for t in range(a, b)} == marked
    assert sum(b - a for a, b in found) == len(marked)


@given(st.integers(0, 11), st.integers(64, 120), st.integers(0, 40))
@settings(max_examples=60)
def test_default_probes_miss_no_run(shift: int, size: int, after: int) -> None:
    cycle = [41, 42, 43, 44][: 1 + shift % 4]
    row = [*range(100, 100 + shift), *(cycle * size)[:size], *range(200, 200 + after)]

    assert hits({"input_ids": [row], "seq_lens": [[len(row)]], "layout": {"padding": "never_stored"}}) == [
        (shift, shift + size)
    ]


@given(sft_packs() | text_packs(), st.sampled_from(["sft", "pretrain"]))
@settings(max_examples=40)
def test_silent_on_correct_packs(packs: Packs, profile: str) -> None:
    assert hits(with_config(packs, profile=profile)) == []


def test_63_tokens_are_no_run_and_64_are() -> None:
    assert hits({"input_ids": [[9, *LOOP[:63], 8]]}) == []
    assert hits({"input_ids": [[9, *LOOP[:64], 8]]}) == [(1, 65)]


def test_half_of_the_segment_is_enough_and_less_is_not() -> None:
    rest = list(range(100, 180))

    assert hits({"input_ids": [LOOP + rest]}) == [(0, 80)]
    assert hits({"input_ids": [LOOP + rest + [99]]}) == []


def test_runs_of_one_segment_add_up() -> None:
    row = LOOP + list(range(100, 200)) + [7] * 70 + [8]

    assert hits({"input_ids": [row], "layout": {"padding": "never_stored"}}, min_segment_fraction=0.5) == [
        (0, 80),
        (180, 250),
    ]


def test_a_cycle_of_five_is_not_seen() -> None:
    assert hits({"input_ids": [[1, 2, 3, 4, 5] * 30]}) == []


def test_a_run_across_two_segments_is_two_short_runs() -> None:
    row = [7] * 100 + [8]

    assert hits({"input_ids": [row], "seq_lens": [[50, 51]]}) == []


def test_never_over_known_padding() -> None:
    row = list(range(10, 40)) + [0] * 200

    assert hits({"input_ids": [row], "attention_mask": [[1] * 30 + [0] * 200]}) == []
    assert hits({"input_ids": [row], "config": {"spec": {"pad_id": 0}}}) == []


@pytest.mark.parametrize("row", [[5] * 200, [*range(10, 40), *[5] * 200], [*[5] * 200, *range(10, 40)]])
def test_one_id_at_the_edge_may_be_padding_where_none_is_known(row: list[int]) -> None:
    assert hits({"input_ids": [row]}) == []
    assert len(hits({"input_ids": [row], "layout": {"padding": "never_stored"}})) == 1


def test_left_padding_with_the_declared_id() -> None:
    row = [0] * 200 + list(range(10, 40))

    assert hits({"input_ids": [row], "config": {"spec": {"pad_id": 0}}}) == []
    assert hits({"input_ids": [row], "config": {"spec": {"pad_id": 3}}}) == [(0, 200)]


def test_a_cycle_of_two_at_the_edge_is_no_padding() -> None:
    assert hits({"input_ids": [[*range(10, 40), *[5, 6] * 100]]}) == [(30, 230)]


def test_placeholders_without_a_target_do_not_count() -> None:
    row = [1, *[7] * 100, 20, 21, 2]
    masked = [-100] * 101 + [20, 21, 2]

    assert hits({"input_ids": [row], "labels": [masked]}) == []
    assert hits({"input_ids": [row], "labels": [row]}) == [(1, 101)]
    assert hits({"input_ids": [row]}) == [(1, 101)]


@pytest.mark.parametrize("rows", [[[]], [[], [5]], [[5] * 12], [[5] * 13]])
def test_tiny_packs(rows: list[list[int]]) -> None:
    assert hits({"input_ids": rows}) == []


def test_batches_do_not_show() -> None:
    rows = [[*range(100, 100 + i), *LOOP, 3] for i in range(40)]
    packs = {"input_ids": rows, "seq_lens": [[len(row)] for row in rows]}
    results = []
    for block_tokens in (1 << 60, 500, 1):
        result = ShardResult()
        for batch in make_batches(packs, block_tokens):
            scan_batch(result, batch, [RunawayRepetition()])
        results.append(result.tallies["TOK004"])

    assert results[0].n_tokens == 40 * 80
    assert results[0] == results[1] == results[2]


def test_ids_of_a_cycle_that_go_on_before_a_constant_tail() -> None:
    row = [*range(10, 20), *[5] * 90, *[6] * 90]

    assert hits({"input_ids": [row]}) == []
    assert hits({"input_ids": [row]}, min_segment_fraction=0.4) == [(10, 100)]
