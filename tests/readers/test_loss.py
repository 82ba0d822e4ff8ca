"""Stored labels and loss masks → token-aligned weights, label ids, and targets outside the pack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.batch import Segments, ShardContext, Unit
from packlint.model.contract import BoundaryTargets, LabelAlignment, TrainerContract
from packlint.model.spec import DatasetSpec, Known, Origin, Policy
from packlint.readers.loss import Loss, read_loss
from packlint.readers.reading import Reading
from packlint.readers.shard import Layout, Ragged, Role

_IGNORED = -100
_SHIFTED = LabelAlignment.PRESHIFTED


def _reading(
    alignment: LabelAlignment = LabelAlignment.UNSHIFTED,
    contract: TrainerContract | None = None,
    ignore_index: int | None = None,
) -> Reading:
    ignored = None if ignore_index is None else Known(ignore_index, Origin.CONFIG)
    spec = DatasetSpec(label_alignment=Known(alignment, Origin.CONFIG), ignore_index=ignored)
    context = ShardContext(
        name="shard", index=0, unit=Unit.PACK, spec=spec, contract=contract, policy=Policy()
    )
    return Reading(layout=Layout(producer="test", trainer=None, columns={}), context=context)


def _trainer(boundary_targets: BoundaryTargets, reads_mask_columns: bool = True) -> TrainerContract:
    return TrainerContract(
        name="t", title="t", boundary_targets=boundary_targets, reads_mask_columns=reads_mask_columns
    )


def _read(
    segments: Sequence[Sequence[tuple[int, int]]],
    reading: Reading,
    *,
    dtype: Any = np.int64,
    **columns: Sequence[Sequence[float]],
) -> Loss:
    """Read rows given as lists; segments are `(start, stop)` per row, counted from the row's start."""
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in columns["input_ids"]])]).astype(np.int64)
    flat = [(base + a, base + b, row) for row, base in enumerate(offsets[:-1]) for a, b in segments[row]]
    starts, stops, packs = (np.array([part[k] for part in flat], np.int64) for k in range(3))
    ragged = {
        Role(name): Ragged(
            np.concatenate([np.array(row, dtype if name != "loss_mask" else None) for row in rows]), offsets
        )
        for name, rows in columns.items()
    }
    return read_loss(ragged, offsets, Segments(starts, stops, packs), reading)


def _weights(loss: Loss) -> list[float]:
    assert loss.weight is not None
    return [float(weight) for weight in loss.weight]


def _outside(loss: Loss) -> list[tuple[int, int]]:
    return list(zip(loss.outside.segments.tolist(), loss.outside.label_ids.tolist(), strict=True))


def test_unshifted_labels_stay() -> None:
    labels = [[_IGNORED, 11, 2], [1, _IGNORED, 2]]

    loss = _read([[(0, 3)], [(0, 3)]], _reading(), input_ids=[[1, 11, 2], [1, 21, 2]], labels=labels)

    assert _weights(loss) == [0, 1, 1, 1, 0, 1]
    assert loss.label_ids is not None
    assert loss.label_ids.tolist() == labels[0] + labels[1]
    assert len(loss.outside) == 0


def test_rows_without_loss() -> None:
    loss = _read([[(0, 2)]], _reading(), input_ids=[[1, 2]])

    assert loss.weight is None
    assert loss.label_ids is None


def test_drawing_of_the_module() -> None:
    loss = _read(
        [[(0, 3), (3, 5)]],
        _reading(_SHIFTED),
        input_ids=[[10, 11, 12, 20, 21, 0]],
        labels=[[11, 12, 2, 21, 2, _IGNORED]],
    )

    assert _weights(loss) == [0, 1, 1, 0, 1, 0]
    assert loss.label_ids is not None
    assert loss.label_ids.tolist() == [_IGNORED, 11, 12, _IGNORED, 21, _IGNORED]
    assert _outside(loss) == [(0, 2), (1, 2)]


def test_label_that_names_the_next_start_is_a_boundary_target() -> None:
    """Case D1."""
    loss = _read(
        [[(0, 3), (3, 6)]],
        _reading(_SHIFTED),
        input_ids=[[1, 11, 2, 1, 21, 2]],
        labels=[[11, 2, 1, 21, 2, _IGNORED]],
    )

    assert _weights(loss) == [0, 1, 1, 1, 1, 1]
    assert len(loss.outside) == 0


def test_last_label_of_a_pack_never_reaches_the_next_pack() -> None:
    loss = _read(
        [[(0, 2)], [(0, 2)]], _reading(_SHIFTED), input_ids=[[1, 11], [5, 21]], labels=[[11, 5], [21, 2]]
    )

    assert _weights(loss) == [0, 1, 0, 1]
    assert _outside(loss) == [(0, 5), (1, 2)]


@pytest.mark.parametrize(
    ("boundary_targets", "weights", "outside"),
    [
        (BoundaryTargets.TRAINED, [0, 1, 1, 1], [(1, -1)]),
        (BoundaryTargets.MASKED, [0, 1, 1, 1], [(1, -1)]),
        (BoundaryTargets.IMPOSSIBLE, [0, 1, 0, 1], []),
    ],
)
def test_last_slot_of_a_mask_belongs_to_the_trainer(
    boundary_targets: BoundaryTargets, weights: list[float], outside: list[tuple[int, int]]
) -> None:
    """A mask names no id: NeMo and Bridge, which cut the last slot off, cannot train the next start."""
    loss = _read(
        [[(0, 2), (2, 4)]],
        _reading(_SHIFTED, _trainer(boundary_targets)),
        input_ids=[[1, 11, 1, 21]],
        loss_mask=[[1, 1, 1, 1]],
    )

    assert _weights(loss) == weights
    assert _outside(loss) == outside


def test_mask_column_that_the_trainer_does_not_read() -> None:
    deaf = _trainer(BoundaryTargets.MASKED, reads_mask_columns=False)
    rows: dict[str, Any] = {"input_ids": [[1, 11, 2]], "loss_mask": [[0, 1, 1]]}

    assert _read([[(0, 3)]], _reading(contract=deaf), **rows).weight is None
    both = _read([[(0, 3)]], _reading(contract=deaf), **rows, labels=[[1, 11, 2]])
    assert _weights(both) == [0, 1, 1]


@pytest.mark.parametrize(
    ("mask", "dtype"),
    [
        ([0, 1, 1], np.bool_),
        ([False, True, True], np.bool_),
        ([0, 2, 1], np.float32),
        ([0, -1, 1], np.float32),
        ([0.0, 0.5, 1.0], np.float32),
    ],
)
def test_masks_of_0_and_1_are_bools_and_all_others_weights(mask: list[float], dtype: Any) -> None:
    loss = _read([[(0, 3)]], _reading(), input_ids=[[1, 11, 2]], loss_mask=[mask])

    assert loss.weight is not None
    assert loss.weight.dtype == dtype
    assert _weights(loss) == mask


def test_segment_ids_of_targets_are_a_mask() -> None:
    """MaxText: loss wherever `targets_segmentation` is not 0."""
    loss = _read(
        [[(0, 2), (2, 3)]],
        _reading(),
        input_ids=[[1, 11, 2]],
        labels=[[1, 11, 2]],
        label_segment_ids=[[0, 1, 2]],
    )

    assert _weights(loss) == [0, 1, 1]


def test_declared_ignore_index() -> None:
    loss = _read([[(0, 3)]], _reading(ignore_index=0), input_ids=[[1, 11, 2]], labels=[[0, 11, _IGNORED]])

    assert _weights(loss) == [0, 1, 1]


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int16, np.int32, np.int64])
def test_every_integer_type_can_be_moved(dtype: Any) -> None:
    """Unsigned labels cannot hold -100: what nothing is moved to must not wrap to a label."""
    loss = _read(
        [[(0, 3)]],
        _reading(_SHIFTED),
        dtype=dtype,
        input_ids=[[1, 11, 12]],
        labels=[[11, 12, 2]],
        loss_mask=[[1, 1, 1]],
    )

    assert loss.label_ids is not None
    assert _weights(loss) == [0, 1, 1]
    assert loss.label_ids.tolist()[1:] == [11, 12]
    assert _outside(loss) == [(0, 2)]


@dataclass(slots=True)
class _Expected:
    """What a row must become, in plain Python."""

    weights: list[float]
    labels: list[int]
    outside: list[tuple[int, int]] = field(default_factory=list)


def _expect(
    tokens: list[int],
    segments: list[tuple[int, int]],
    weights: list[float],
    labels: list[int] | None,
    drops_last_slot: bool,
) -> _Expected:
    starts, last = {a for a, _ in segments}, {b - 1: k for k, (_, b) in enumerate(segments)}
    expected = _Expected([0.0] * len(tokens), [_IGNORED] * len(tokens))
    for slot, weight in enumerate(weights):
        after = slot + 1
        if slot in last and weight:
            adjoins = after in starts
            is_boundary = adjoins and (
                labels[slot] == tokens[after] if labels is not None else not drops_last_slot
            )
            if not is_boundary:
                if labels is not None or not drops_last_slot:
                    expected.outside.append((last[slot], -1 if labels is None else labels[slot]))
                continue
        if after < len(tokens):
            expected.weights[after] = weight
            expected.labels[after] = _IGNORED if labels is None else labels[slot]
    return expected


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(1, 5),
    has_labels=st.booleans(),
    has_mask=st.booleans(),
    boundary_targets=st.sampled_from(list(BoundaryTargets)),
)
def test_pre_shifted_rows_against_plain_python(
    seed: int, n_rows: int, has_labels: bool, has_mask: bool, boundary_targets: BoundaryTargets
) -> None:
    if not (has_labels or has_mask):
        has_mask = True
    rng = np.random.default_rng(seed)
    rows, segments, labels, masks = [], [], [], []
    for _ in range(n_rows):
        size = int(rng.integers(0, 12))
        cuts = sorted(rng.choice(size + 1, int(rng.integers(0, size + 2)), replace=False).tolist())
        pairs = list(pairwise(cuts))
        segments.append([pair for pair in pairs if rng.random() < 0.8])
        rows.append(rng.integers(0, 3, size).tolist())
        labels.append(rng.choice([_IGNORED, 0, 1, 2], size).tolist())
        masks.append(rng.choice([0.0, 1.0, 0.5], size).tolist())
    reading = _reading(_SHIFTED, _trainer(boundary_targets))
    columns: dict[str, Any] = {"input_ids": rows}
    columns |= {"labels": labels} if has_labels else {}
    columns |= {"loss_mask": masks} if has_mask else {}

    loss = _read(segments, reading, **columns)

    drops = boundary_targets is BoundaryTargets.IMPOSSIBLE
    n_before, weights, ids, outside = 0, [], [], []
    for row, cut, names, mask in zip(rows, segments, labels, masks, strict=True):
        stored = mask if has_mask else [float(name != _IGNORED) for name in names]
        expected = _expect(row, cut, stored, names if has_labels else None, drops)
        weights += expected.weights
        ids += expected.labels
        outside += [(n_before + k, name) for k, name in expected.outside]
        n_before += len(cut)
    assert _weights(loss) == weights
    assert _outside(loss) == outside
    assert (loss.label_ids is None) is not has_labels
    if loss.label_ids is not None:
        assert loss.label_ids.tolist() == ids
