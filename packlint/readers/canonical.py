"""Raw rows → `PackBatch`: the last step of every reader."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from packlint.model.arrays import BoolArray
from packlint.model.batch import MaskKind, PackBatch
from packlint.readers.loss import read_loss
from packlint.readers.reading import Reading
from packlint.readers.records import find_padding, read_boundaries, true_segments
from packlint.readers.shard import Fault, Ragged, RawRows, Role

__all__ = ["build"]


def build(raw: RawRows, reading: Reading) -> tuple[PackBatch | None, tuple[Fault, ...]]:
    """Return the rows in canonical form, and the rows left out with the reason.

    Rows whose token-parallel columns differ in length cannot be laid side by side: they become SHD002.
    """
    raw, ragged = _without_ragged(raw)
    if raw.row_numbers.size == 0:
        return None, raw.faults + ragged
    columns = raw.columns
    ids = columns[Role.INPUT_IDS]
    offsets = ids.offsets
    boundaries = read_boundaries(columns, offsets, reading)
    padding, evidence = find_padding(columns, offsets, boundaries, reading)
    segments, source = true_segments(boundaries, padding, offsets)
    loss = read_loss(columns, offsets, segments, reading)
    dense = _dense_mask(columns, reading)
    positions = columns.get(Role.POSITION_IDS)
    batch = PackBatch(
        shard=reading.context,
        pack_numbers=raw.row_numbers,
        tokens=ids.values,
        pack_offsets=offsets,
        segments=segments,
        segment_source=source,
        boundaries=boundaries,
        padding=padding,
        padding_evidence=evidence,
        loss_weight=loss.weight,
        label_ids=loss.label_ids,
        outside_targets=loss.outside,
        position_ids=None if positions is None else positions.values,
        mask_kind=MaskKind.DENSE if dense is not None else reading.mask_kind,
        dense_mask=dense,
    )
    return batch, raw.faults + ragged


def _dense_mask(columns: Mapping[Role, Ragged], reading: Reading) -> BoolArray | None:
    stored = columns.get(Role.DENSE_MASK)
    if stored is None:
        return None
    mask = np.asarray(stored.values, np.bool_)
    return ~mask if reading.layout.dense_mask_blocks else mask


def _without_ragged(raw: RawRows) -> tuple[RawRows, tuple[Fault, ...]]:
    ids = raw.columns[Role.INPUT_IDS]
    lengths = np.diff(ids.offsets)
    bad = np.zeros(lengths.size, np.bool_)
    faults: list[Fault] = []
    for role, column in raw.columns.items():
        if not role.is_token_parallel or column is ids:
            continue
        differs = np.diff(column.offsets) != lengths
        for row in np.flatnonzero(differs & ~bad):
            other = int(column.offsets[row + 1] - column.offsets[row])
            faults.append(
                Fault(
                    code="SHD002",
                    row=int(raw.row_numbers[row]),
                    message=f"{role.value} has {other} values for {lengths[row]} input_ids",
                )
            )
        bad |= differs
    if not bad.any():
        return raw, ()
    keep = ~bad
    columns = {role: _take(column, keep, role) for role, column in raw.columns.items()}
    return RawRows(row_numbers=raw.row_numbers[keep], columns=columns, faults=raw.faults), tuple(faults)


def _take(column: Ragged, keep: BoolArray, role: Role) -> Ragged:
    lengths = np.diff(column.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths[keep])])
    chosen = keep if role is Role.DENSE_MASK else np.repeat(keep, lengths)
    return Ragged(column.values[chosen], offsets)
