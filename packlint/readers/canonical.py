"""Raw rows → `PackBatch`: the last step of every reader."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from packlint.model.arrays import BoolArray
from packlint.model.batch import MaskKind, PackBatch
from packlint.model.passes import find_position_breaks
from packlint.readers.loss import read_loss
from packlint.readers.ragged import drop_ragged
from packlint.readers.reading import Reading
from packlint.readers.records import find_padding, read_boundaries, true_segments
from packlint.readers.shard import Fault, Ragged, RawRows, Role

__all__ = ["build"]


def build(raw: RawRows, reading: Reading) -> tuple[PackBatch | None, tuple[Fault, ...]]:
    """Return the rows in canonical form, and the rows left out with the reason.

    Rows whose token-parallel columns differ in length cannot be laid side by side: they become SHD002.
    """
    raw, ragged = drop_ragged(raw)
    if raw.row_numbers.size == 0:
        return None, raw.faults + ragged
    columns = raw.columns
    ids = columns[Role.INPUT_IDS]
    offsets = ids.offsets
    positions = columns.get(Role.POSITION_IDS)
    is_record = positions is not None and reading.positions_restart
    breaks = find_position_breaks(positions.values) if positions and is_record else None
    boundaries = read_boundaries(columns, offsets, reading, breaks)
    padding, evidence = find_padding(columns, offsets, boundaries, reading)
    segments, source = true_segments(boundaries, padding, offsets)
    loss = read_loss(columns, offsets, segments, reading)
    dense = _dense_mask(columns, reading)
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
        _cache={} if breaks is None else {"position_breaks": breaks},
    )
    return batch, raw.faults + ragged


def _dense_mask(columns: Mapping[Role, Ragged], reading: Reading) -> BoolArray | None:
    stored = columns.get(Role.DENSE_MASK)
    if stored is None:
        return None
    mask = np.asarray(stored.values, np.bool_)
    return ~mask if reading.layout.dense_mask_blocks else mask
