"""Leaks in closed form against an explicit query-by-key mask, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.model.boundaries import Boundaries
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source, effective_segments, unknown_isolation
from packlint.model.leaks import Leaks, measure_leaks
from packlint.testing import make_batch

Rows = list[list[int]]
FIELDS = ("leaked", "hidden", "allowed", "exposed", "first_exposed", "exposed_targets")


@dataclass
class Oracle:
    """Count in the most literal way.

    Args:
        segment_ids: by pack and token, 0 on padding.
        may: `may[pack][query][key]`.
        targets: by pack and token.
    """

    segment_ids: Rows
    may: list[list[list[bool]]]
    targets: Rows

    def count(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {field: [] for field in FIELDS}
        base = 0
        for pack, ids in enumerate(self.segment_ids):
            for segment, tokens in enumerate(runs(ids)):
                for field, value in self._segment(pack, segment, tokens, base).items():
                    found[field].append(value)
            base += len(ids)
        return found

    def _segment(self, pack: int, segment: int, tokens: list[int], base: int) -> dict[str, int]:
        ids = self.segment_ids[pack]
        sample = samples(ids)
        keys = [(q, k) for q in tokens for k in range(q + 1) if ids[k] != 0]
        leaks = [(q, k) for q, k in keys if self.may[pack][q][k] and sample[q] != sample[k]]
        exposed = sorted({q for q, _ in leaks})
        return {
            "leaked": len(leaks),
            "hidden": sum(k in tokens and not self.may[pack][q][k] for q, k in keys),
            "allowed": sum(self.may[pack][q][k] for q, k in keys),
            "exposed": len(exposed),
            "first_exposed": base + exposed[0] if exposed else -1,
            "exposed_targets": sum(self.targets[pack][q] for q in exposed),
        }


def runs(ids: list[int]) -> list[list[int]]:
    """Return the tokens of each run of one id, padding left out."""
    found: Rows = []
    for place, value in enumerate(ids):
        if value and place and ids[place - 1] == value:
            found[-1].append(place)
        elif value:
            found.append([place])
    return found


def samples(ids: list[int]) -> list[int]:
    """Return the sample of each token: runs of one id with only padding between them are one sample."""
    sample, number, last = [], 0, 0
    for value in ids:
        if value and value != last:
            number, last = number + 1, value
        sample.append(number if value else 0)
    return sample


def same_number(numbers: Rows) -> list[list[list[bool]]]:
    return [[[q == k != 0 for k in row] for q in row] for row in numbers]


def batch_of(ids: Rows, targets: Rows, isolates_by: list[str], **columns: Any) -> PackBatch:
    return make_batch(
        {
            "input_ids": [[9] * len(row) for row in ids],
            "segment_ids": ids,
            "labels": [[9 if wanted else -100 for wanted in row] for row in targets],
            "layout": {"padding": "segment_id", "nothing": 0},
            "config": {
                "trainer_contract": {"isolates_by": isolates_by},
                "spec": {"label_alignment": "unshifted"},
            },
            **columns,
        }
    )


def counted(leaks: Leaks) -> dict[str, list[int]]:
    return {field: getattr(leaks, field).tolist() for field in FIELDS}


@st.composite
def numbered(draw: st.DrawFn, shape: list[int], n_numbers: int) -> Rows:
    """Draw numbers in runs, so that long and short segments both occur; 0 stands for nothing."""
    rows = []
    for length in shape:
        row: list[int] = []
        while len(row) < length:
            row += [draw(st.integers(0, n_numbers))] * draw(st.integers(1, 5))
        rows.append(row[:length])
    return rows


@st.composite
def three_maps(draw: st.DrawFn) -> tuple[Rows, Rows, Rows]:
    """Draw true segment ids, effective numbers and targets for packs of one length."""
    shape = [draw(st.integers(1, 14))] * draw(st.integers(1, 3))
    true, effective = draw(numbered(shape, 4)), draw(numbered(shape, 3))
    if draw(st.booleans()):
        effective = [row.copy() for row in true]
    return true, effective, draw(numbered(shape, 1))


@settings(max_examples=150, deadline=None)
@given(three_maps())
def test_numbered_masks(maps: tuple[Rows, Rows, Rows]) -> None:
    true, effective, targets = maps
    batch = batch_of(true, targets, ["attention_mask"], attention_mask=effective)

    assert deciding_source(batch) is BoundarySource.ATTENTION_MASK
    assert counted(measure_leaks(batch)) == Oracle(true, same_number(effective), targets).count()


@settings(max_examples=50, deadline=None)
@given(three_maps())
def test_the_true_record_itself(maps: tuple[Rows, Rows, Rows]) -> None:
    true, _, targets = maps
    batch = batch_of(true, targets, ["segment_ids"])

    assert counted(measure_leaks(batch)) == Oracle(true, same_number(true), targets).count()


@settings(max_examples=50, deadline=None)
@given(three_maps())
def test_one_causal_block_per_pack(maps: tuple[Rows, Rows, Rows]) -> None:
    true, _, targets = maps
    batch = batch_of(true, targets, [])
    everything = [[1] * len(row) for row in true]

    assert deciding_source(batch) is None
    assert counted(measure_leaks(batch)) == Oracle(true, same_number(everything), targets).count()


@settings(max_examples=50, deadline=None)
@given(three_maps(), st.data())
def test_restarted_positions(maps: tuple[Rows, Rows, Rows], data: st.DataObject) -> None:
    true, _, targets = maps
    restarts = [[data.draw(st.booleans()) or place == 0 for place in range(len(row))] for row in true]
    blocks = [np.cumsum(row).tolist() for row in restarts]
    positions = [
        [place - max(p for p in range(place + 1) if row[p]) for place in range(len(row))] for row in restarts
    ]
    batch = batch_of(true, targets, ["position_ids"], position_ids=positions)
    if BoundarySource.POSITION_IDS not in batch.boundaries:  # nothing but a constant tail restarts
        blocks = [[1] * len(row) for row in true]

    assert counted(measure_leaks(batch)) == Oracle(true, same_number(blocks), targets).count()


@settings(max_examples=50, deadline=None)
@given(three_maps(), st.randoms(use_true_random=False))
def test_dense_masks(maps: tuple[Rows, Rows, Rows], random: Any) -> None:
    true, _, targets = maps
    width = len(true[0])
    may = [[[random.random() < 0.6 for _ in range(width)] for _ in range(width)] for _ in true]
    batch = batch_of(true, targets, ["dense_mask"], dense_mask=may)

    assert deciding_source(batch) is BoundarySource.DENSE_MASK
    assert counted(measure_leaks(batch)) == Oracle(true, may, targets).count()


@settings(max_examples=50, deadline=None)
@given(three_maps())
def test_a_dense_mask_and_numbers_that_say_the_same(maps: tuple[Rows, Rows, Rows]) -> None:
    true, effective, targets = maps
    dense = batch_of(true, targets, ["dense_mask"], dense_mask=same_number(effective))
    blocks = batch_of(true, targets, ["attention_mask"], attention_mask=effective)

    assert counted(measure_leaks(dense)) == counted(measure_leaks(blocks))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.data())
def test_padding_inside_segments_neither_sees_nor_is_seen(lengths: list[int], data: st.DataObject) -> None:
    n_tokens = sum(lengths)
    segment = [number for number, length in enumerate(lengths) for _ in range(length)]
    real = [data.draw(st.booleans()) for _ in range(n_tokens)]
    block = [data.draw(st.integers(1, 2)) for _ in range(n_tokens)]
    source = data.draw(st.sampled_from(["segment_ids", "seq_lens"]))
    if source == "seq_lens":
        block = segment
    batch = make_batch(
        {
            "input_ids": [[9] * n_tokens],
            "seq_lens": [lengths],
            "segment_ids": [block],
            "attention_mask": [[int(value) for value in real]],
            "layout": {"padding": "mask_zero", "nothing": None},
            "config": {"trainer_contract": {"isolates_by": [source]}},
        }
    )
    pairs = [(q, k) for q in range(n_tokens) for k in range(q + 1) if real[q] and real[k]]
    seen = [(q, k) for q, k in pairs if block[q] == block[k]]
    kept = sorted({segment[q] for q in range(n_tokens) if real[q]})

    leaks = measure_leaks(batch)

    assert leaks.leaked.tolist() == [sum(segment[q] == s != segment[k] for q, k in seen) for s in kept]
    assert leaks.allowed.tolist() == [sum(segment[q] == s for q, _ in seen) for s in kept]
    assert leaks.hidden.tolist() == [
        sum(segment[q] == segment[k] == s for q, k in pairs if (q, k) not in seen) for s in kept
    ]


def test_the_drawing_in_the_docstring() -> None:
    batch = batch_of([[1, 1, 1, 2, 2, 3, 3, 3, 3]], [[1] * 9], [])
    leaks = measure_leaks(batch)

    assert leaks.leaked.tolist() == [0, 6, 20]
    assert leaks.first_exposed.tolist() == [-1, 3, 5]


def test_packs_of_a_malformed_record_count_for_nothing() -> None:
    batch = make_batch(
        {
            "input_ids": [[9] * 6, [9] * 6],
            "seq_lens": [[3, 3], [3, 3]],
            "cu_seqlens": [[0, 6], [0, 5]],
            "config": {"trainer_contract": {"isolates_by": ["cu_seqlens"]}},
        }
    )
    leaks = measure_leaks(batch)

    assert leaks.leaked.tolist() == [0, 9, 0, 0]
    assert leaks.allowed.tolist() == [6, 15, 0, 0]
    assert leaks.first_exposed.tolist() == [-1, 3, -1, -1]


def test_leaks_are_measured_once() -> None:
    batch = batch_of([[1, 2]], [[1, 1]], [])

    assert measure_leaks(batch) is measure_leaks(batch)


def empty(batch: PackBatch) -> PackBatch:
    nothing = np.zeros(0, np.int64)
    return replace(
        batch,
        pack_numbers=nothing,
        tokens=nothing,
        pack_offsets=np.zeros(1, np.int64),
        segments=type(batch.segments)(nothing, nothing, nothing),
        boundaries={source: Boundaries(starts=nothing, stops=nothing) for source in batch.boundaries},
        padding=type(batch.padding).empty(),
        loss_weight=None,
        _cache={},
    )


@pytest.mark.parametrize("isolates_by", [[], ["segment_ids"], ["attention_mask"]])
def test_no_packs(isolates_by: list[str]) -> None:
    batch = empty(batch_of([[1, 2]], [[1, 1]], isolates_by, attention_mask=[[1, 2]]))
    leaks = measure_leaks(batch)

    assert all(value == [] for value in counted(leaks).values())
    assert len(effective_segments(batch)) == 0


@pytest.mark.parametrize(
    ("mask", "expected"),
    [([1, 1, 1, 1], None), ([1, 1, 2, 2], BoundarySource.POSITION_IDS), (None, BoundarySource.POSITION_IDS)],
)
def test_a_mask_of_ones_overrides_positions(mask: list[int] | None, expected: BoundarySource | None) -> None:
    columns = {} if mask is None else {"attention_mask": [mask]}
    batch = make_batch(
        {
            "input_ids": [[9, 9, 9, 9]],
            "position_ids": [[0, 1, 0, 1]],
            **columns,
            "config": {"trainer": "transformers"},
        }
    )

    assert deciding_source(batch) is expected


@pytest.mark.parametrize(
    ("trainer", "spec", "reason"),
    [
        ("megatron-reset", {}, "none is known"),
        ("megatron-reset", {"eos_ids": [2]}, None),
        ("megatron-reset", {"eos_ids": []}, None),
        ("modded-nanogpt", {"eos_ids": [2]}, None),
        ("megatron", {}, None),
        ("trl", {}, None),
    ],
)
def test_unknown_isolation(trainer: str, spec: dict[str, Any], reason: str | None) -> None:
    batch = make_batch(
        {
            "input_ids": [[9, 2, 9, 2]],
            "document_starts": [[0, 2]],
            "config": {"trainer": trainer, "spec": spec},
        }
    )

    told = unknown_isolation(batch)

    assert told is None if reason is None else reason in str(told)


@pytest.mark.parametrize(
    ("profile", "spec", "reason"),
    [
        ("sft", {}, "they may close turns too"),
        ("sft", {"end_of_turn_ids": [3]}, None),
        ("sft", {"end_of_turn_ids": [2]}, "closes turns too"),
        ("pretrain", {}, None),
    ],
)
def test_samples_known_by_end_tokens_only(profile: str, spec: dict[str, Any], reason: str | None) -> None:
    config = {"profile": profile, "trainer": "transformers", "spec": {"eos_ids": [2], **spec}}
    told = unknown_isolation(make_batch({"input_ids": [[9, 2, 9, 2]], "config": config}))

    assert told is None if reason is None else reason in str(told)


def places(values: list[int]) -> Int64Array:
    return np.array(values, np.int64)


def test_a_batch_without_trainer_has_no_deciding_source() -> None:
    batch = make_batch({"input_ids": [[9, 9]], "seq_lens": [[1, 1]]})

    assert deciding_source(batch) is None
    assert unknown_isolation(batch) is None
    assert effective_segments(batch).starts.tolist() == places([0]).tolist()
