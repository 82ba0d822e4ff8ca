"""Metadata of rows → of the segments of a batch; what cannot be told is unknown, never guessed.

row 0: 2 segments    "web"              both are web
row 1: 2 segments    ["web", "code"]    one each
row 2: 2 + padding   ["web", "code", x] one per recorded segment, the padding run among them: x is dropped
row 3: 3 segments    ["web", "code"]    nobody knows which: all unknown
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import UNKNOWN_ID, PackBatch
from packlint.model.boundaries import Boundaries, OffsetFault
from packlint.model.metadata import Categories
from packlint.readers.metadata.values import RowValues, SampleIds
from packlint.readers.shard import Part

__all__ = ["attach", "attach_sample_ids"]

_MISCOUNTED = (OffsetFault.EMPTY_SEGMENT, OffsetFault.NEGATIVE, OffsetFault.NOT_RISING)
"""Malformed records of which some entries are no segments, so that the others cannot be counted off."""


def attach(batch: PackBatch, values: Mapping[str, RowValues], part: Part) -> PackBatch:
    """Return the batch with what is known of each segment's sample.

    Args:
        batch: rows of the part, some of which may have been left out.
        values: what `read_metadata` gave for the part.
        part: where the rows are from.
    """
    if not values:
        return batch
    rows = batch.pack_numbers - part.first_row
    found = {name: _of_segments(batch, column, rows) for name, column in values.items()}
    return replace(batch, metadata={**batch.metadata, **found})


def attach_sample_ids(batch: PackBatch, ids: SampleIds, part: Part) -> Int64Array:
    """Return `int64[segment]`, the sample id of each segment, `UNKNOWN_ID` where nobody knows."""
    items = _items(batch, ids.offsets, ids.n_rows, batch.pack_numbers - part.first_row)
    if ids.values.size == 0:
        return np.full(items.size, UNKNOWN_ID, np.int64)
    return np.where(items < 0, UNKNOWN_ID, ids.values[np.maximum(items, 0)])


def _of_segments(batch: PackBatch, column: RowValues, rows: Int64Array) -> Categories:
    return column.categories.take(_items(batch, column.offsets, column.n_rows, rows))


def _items(batch: PackBatch, offsets: Int64Array | None, n_rows: int, rows: Int64Array) -> Int64Array:
    """Return `int64[segment]`, the item that is about each segment, -1 where none surely is."""
    packs = batch.segments.packs
    is_read = (rows >= 0) & (rows < n_rows)
    if offsets is None:
        return np.where(is_read, rows, -1)[packs]
    row = np.where(is_read, rows, 0)
    if n_rows == 0:
        return np.full(packs.shape, -1, np.int64)
    first, n_items = offsets[row], offsets[row + 1] - offsets[row]
    n_segments = np.diff(batch.segment_first_in_pack)
    fits = is_read & (n_items == n_segments) & ~_is_miscounted(batch)
    items = np.where(fits[packs], first[packs] + batch.segment_numbers, -1)
    record = batch.boundaries.get(batch.segment_source) if batch.segment_source else None
    if record is None or fits.all():
        return items
    first_recorded = np.searchsorted(record.starts, batch.pack_offsets)
    fits_record = is_read & (n_items == np.diff(first_recorded)) & ~fits & ~_is_miscounted(batch)
    at = np.searchsorted(record.starts, batch.segments.starts, side="right") - 1
    place = at - first_recorded[packs]
    return np.where(fits_record[packs] & (place >= 0), first[packs] + place, items)


def _is_miscounted(batch: PackBatch) -> BoolArray:
    """Tell for each pack whether the record of its segments has entries that are none."""
    wrong = np.zeros(batch.n_packs, np.bool_)
    record: Boundaries | None = batch.boundaries.get(batch.segment_source) if batch.segment_source else None
    if record is not None and record.fault_packs.size:
        odd = np.isin(record.fault_kinds, [kind.value for kind in _MISCOUNTED])
        wrong[record.fault_packs[odd]] = True
    return wrong
