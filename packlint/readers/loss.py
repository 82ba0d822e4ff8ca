"""Stored labels and loss masks → token-aligned weights, label ids, and targets outside the pack.

    tokens            a   b   c  |  d   e   ·
    unshifted         -   b   c  |  -   e   -       the value sits on the predicted token: kept
    pre-shifted       b   c   2  |  e   2   -       moved right by one; each `2` (the end token) names a
    moved             -   b   c  |  -   e   -       token that the pack does not hold: two outside targets

The label at a segment's last slot is a boundary target only if it names the next segment's first token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array, IntArray, WeightArray
from packlint.model.batch import OutsideTargets, Segments
from packlint.model.contract import BoundaryTargets, LabelAlignment
from packlint.readers.reading import Reading
from packlint.readers.shard import Ragged, Role

__all__ = ["Loss", "read_loss"]


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """Hold the token-aligned record of the loss.

    Args:
        weight: `bool[token]` or `float32[token]`, or none when the rows store no loss.
        label_ids: `int[token]`, or none.
        outside: targets whose token the pack does not hold.
    """

    weight: WeightArray | None = None
    label_ids: IntArray | None = None
    outside: OutsideTargets = field(default_factory=OutsideTargets)


def read_loss(
    columns: Mapping[Role, Ragged], offsets: Int64Array, segments: Segments, reading: Reading
) -> Loss:
    """Return what the rows say of the loss, moved to the predicted token."""
    weight = _stored_weight(columns, reading)
    if weight is None:
        return Loss()
    labels = columns[Role.LABELS].values if Role.LABELS in columns else None
    if reading.alignment is LabelAlignment.UNSHIFTED:
        return Loss(weight, labels)
    return _moved(weight, labels, columns[Role.INPUT_IDS].values, offsets, segments, reading)


def _stored_weight(columns: Mapping[Role, Ragged], reading: Reading) -> WeightArray | None:
    contract = reading.context.contract
    if mask := columns.get(Role.LABEL_SEGMENT_IDS):
        return np.asarray(mask.values != 0, np.bool_)
    if mask := columns.get(Role.LOSS_MASK):
        if Role.LABELS in columns or contract is None or contract.reads_mask_columns:
            return _as_weight(mask.values)
        return None
    if labels := columns.get(Role.LABELS):
        return np.asarray(labels.values != reading.ignore_index, np.bool_)
    return None


def _as_weight(values: NDArray[Any]) -> WeightArray:
    """Return bools for 0/1 masks, else float32 (integers other than 0 and 1 are weights, or a fault)."""
    if values.dtype == np.bool_:
        return values.view(np.bool_)
    if values.dtype.kind in "iu" and values.size and values.min() >= 0 and values.max() <= 1:
        return values.astype(np.bool_)
    return values.astype(np.float32)


def _moved(
    weight: WeightArray,
    labels: IntArray | None,
    tokens: IntArray,
    offsets: Int64Array,
    segments: Segments,
    reading: Reading,
) -> Loss:
    packs = offsets[:-1][np.diff(offsets) > 0]
    moved = np.zeros_like(weight)
    moved[1:] = weight[:-1]
    moved[packs] = 0
    moved_labels = None
    if labels is not None:
        labels = _wide_enough(labels, reading.ignore_index)
        moved_labels = np.full_like(labels, reading.ignore_index)
        moved_labels[1:] = labels[:-1]
        moved_labels[packs] = reading.ignore_index
    last = segments.stops - 1
    live = np.flatnonzero(weight[last])
    outside = live[~_is_boundary_target(live, labels, tokens, segments, reading)]
    after = segments.stops[outside]
    after = after[after < tokens.size]
    moved[after] = 0
    if moved_labels is not None:
        moved_labels[after] = reading.ignore_index
    if labels is None and _drops_last_slot(reading):
        outside = outside[:0]
    names = np.full(outside.size, -1) if labels is None else labels[last[outside]].astype(np.int64)
    return Loss(moved, moved_labels, OutsideTargets(outside, names))


def _wide_enough(labels: IntArray, ignore_index: int) -> IntArray:
    """Return labels whose type can hold the ignored label; unsigned ones cannot hold -100."""
    limits = np.iinfo(labels.dtype)
    return labels if limits.min <= ignore_index <= limits.max else labels.astype(np.int64)


def _is_boundary_target(
    which: Int64Array,
    labels: IntArray | None,
    tokens: IntArray,
    segments: Segments,
    reading: Reading,
) -> BoolArray:
    """Tell for each segment with a live last slot whether that slot asks for the next segment's start."""
    after = which + 1
    in_range = after < len(segments)
    neighbour = np.minimum(after, max(len(segments) - 1, 0))
    adjoins = in_range & (segments.starts[neighbour] == segments.stops[which])
    adjoins &= segments.packs[neighbour] == segments.packs[which]
    if labels is None:
        return np.asarray(adjoins & (not _drops_last_slot(reading)), np.bool_)
    place = np.minimum(segments.stops[which], tokens.size - 1)
    return np.asarray(adjoins & (labels[segments.stops[which] - 1] == tokens[place]), np.bool_)


def _drops_last_slot(reading: Reading) -> bool:
    """Whether the trainer never uses the last slot of a segment (NeMo, Bridge: inputs are `[:-1]`)."""
    contract = reading.context.contract
    return contract is not None and contract.boundary_targets is BoundaryTargets.IMPOSSIBLE
