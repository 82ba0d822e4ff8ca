"""Arrow columns → `Ragged`: no copy where Arrow's own layout allows it, correct under slicing.

record batch ──cut──▶ blocks of whole rows ──ragged──▶ one `Ragged` per role ──▶ `RawRows`
                                              rows with a null anywhere are left out, one SHD005 each
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat

from packlint.errors import UnreadableError
from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.arrow_numpy import as_arrow, as_numpy, is_null
from packlint.readers.layouts import ColumnKind, Element, factors
from packlint.readers.shard import Fault, Layout, Ragged, RawRows, Role

__all__ = ["blocks", "column_kinds", "stored_columns", "stored_spec", "values_and_offsets"]

# Stubs give every array class and type a parameter; here the element type is only known at run time.
_Array = Any
_Type = Any

_MAX_OVERLAP = 4
"""How often, on average, a value may be used: rows of a list view can share values without bound."""


def column_kinds(schema: pa.Schema) -> dict[str, ColumnKind]:
    """Return what each column of a schema holds, for `detect_layout`.

    Raises:
        UnreadableError: two columns have the same name.
    """
    name, count = max(Counter(schema.names).items(), key=lambda item: item[1], default=("", 0))
    if count > 1:
        raise UnreadableError(f"{count} columns are named {name}")
    return {field.name: _kind(field.type) for field in schema}


def stored_columns(
    layout: Layout, roles: frozenset[Role], stored: Sequence[str]
) -> dict[Role, tuple[str, ...]]:
    """Return the columns to read for each role: one, or two loss masks whose product counts.

    Args:
        layout: how the rows are laid out.
        roles: what is asked for.
        stored: names of all stored columns.
    """
    return {role: factors(column, stored) for role, column in layout.columns.items() if role in roles}


def stored_spec(schema: pa.Schema, layout: Layout) -> DatasetSpec:
    """Return what the schema says of the conventions: the storage type of the ids."""
    column = layout.columns[Role.INPUT_IDS]
    stored: _Type = schema.field(column).type
    while _has_values(stored):
        stored = stored.value_type
    if not pat.is_integer(stored):
        return DatasetSpec()
    return DatasetSpec(token_dtype=Known(str(stored), Origin.FORMAT, f"type of column {column}"))


def blocks(
    batch: pa.RecordBatch, columns: Mapping[Role, tuple[str, ...]], first_row: int, block_tokens: int
) -> Iterator[RawRows]:
    """Yield the rows of a record batch in order, whole rows of about `block_tokens` tokens at a time.

    Args:
        batch: rows as decoded.
        columns: names by role, as `stored_columns` gives them.
        first_row: number of the first row in the shard.
        block_tokens: tokens per block; a longer row is a block by itself.

    Raises:
        UnreadableError: a column holds what its role cannot be, or its offsets are corrupt.
    """
    if batch.num_rows == 0 or not columns:
        return
    try:
        batch.validate()
    except pa.ArrowInvalid as error:
        raise UnreadableError(f"rows from {first_row}: {str(error).splitlines()[0]}") from error
    raw = {
        role: [_ragged(batch.column(name), name, role) for name in names] for role, names in columns.items()
    }
    lengths = _leading(raw).ragged.offsets
    for start, stop in _cut(lengths, block_tokens):
        yield _block(raw, start, stop, first_row)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """Hold one decoded column.

    Args:
        name: as stored.
        ragged: its rows; rows with a null hold anything.
        null_rows: `int64[null]`, rising, rows that are null or hold a null.
    """

    name: str
    ragged: Ragged
    null_rows: Int64Array


def _leading(raw: Mapping[Role, list[_Column]]) -> _Column:
    """Return the column whose row lengths count as tokens."""
    parallel = [role for role in raw if role.is_token_parallel]
    first = Role.INPUT_IDS if Role.INPUT_IDS in raw else next(iter(parallel or raw))
    return raw[first][0]


def _cut(offsets: Int64Array, block_tokens: int) -> Iterator[tuple[int, int]]:
    n_rows = offsets.size - 1
    start = 0
    while start < n_rows:
        stop = int(np.searchsorted(offsets, offsets[start] + block_tokens, side="right")) - 1
        stop = min(max(stop, start + 1), n_rows)
        yield start, stop
        start = stop


def _block(raw: Mapping[Role, list[_Column]], start: int, stop: int, first_row: int) -> RawRows:
    keep = np.ones(stop - start, np.bool_)
    faults: list[Fault] = []
    for columns in raw.values():
        for column in columns:
            low, high = np.searchsorted(column.null_rows, (start, stop))
            for row in column.null_rows[low:high].tolist():
                if keep[row - start]:
                    faults.append(
                        Fault(code="SHD005", row=first_row + row, message=f"null in column {column.name}")
                    )
                keep[row - start] = False
    cut = {
        role: [_rows(column.ragged, start, stop, keep) for column in columns] for role, columns in raw.items()
    }
    return RawRows(
        row_numbers=np.flatnonzero(keep) + (first_row + start),
        columns={role: _product(parts, role) for role, parts in cut.items()},
        faults=tuple(sorted(faults, key=lambda fault: fault.row)),
    )


def _rows(column: Ragged, start: int, stop: int, keep: BoolArray) -> Ragged:
    offsets = column.offsets[start : stop + 1]
    values = column.values[offsets[0] : offsets[-1]]
    offsets = offsets - offsets[0]
    if keep.all():
        return Ragged(values, offsets)
    lengths = np.diff(offsets)
    kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[keep])])
    return Ragged(values[np.repeat(keep, lengths)], kept)


def _product(parts: list[Ragged], role: Role) -> Ragged:
    first, *others = parts
    values = first.values
    for other in others:
        if not np.array_equal(first.offsets, other.offsets):
            raise UnreadableError(f"the columns that make up {role.value} differ in length")
        values = values * other.values
    return Ragged(values, first.offsets)


def _ragged(array: _Array, name: str, role: Role) -> _Column:
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    kind = _kind(array.type)
    is_number = kind.element in (Element.INT, Element.BOOL, Element.NULL)
    is_weight = role is Role.LOSS_MASK and kind.element is Element.FLOAT
    if not (is_number or is_weight) or kind.ndim > 1:
        raise UnreadableError(f"column {name} is {array.type}, which cannot be read as {role.value}")
    values, offsets = values_and_offsets(array)
    null_rows = np.flatnonzero(is_null(array)) if array.null_count else np.empty(0, np.int64)
    if values.null_count:
        places = np.flatnonzero(is_null(values))
        holders = np.searchsorted(offsets, places, side="right") - 1
        null_rows = np.union1d(null_rows, holders)
        values = _filled(values)
    elif pat.is_null(values.type):
        values = _filled(values)
    return _Column(name, Ragged(as_numpy(values), offsets), null_rows)


def values_and_offsets(array: _Array) -> tuple[_Array, Int64Array]:
    """Return the values of all rows, end to end, and `int64[row + 1]` into them."""
    kind, n_rows = array.type, len(array)
    if pat.is_fixed_size_list(kind):
        size = kind.list_size
        # `.values` ignores the slice, and null rows take up their room in it.
        return array.values.slice(array.offset * size, n_rows * size), np.arange(n_rows + 1) * size
    if pat.is_list(kind) or pat.is_large_list(kind):
        offsets = as_numpy(array.offsets).astype(np.int64)
        if np.any(np.diff(offsets) < 0):
            raise UnreadableError("the offsets of a list column fall")
        return array.values.slice(offsets[0], offsets[-1] - offsets[0]), offsets - offsets[0]
    if pat.is_list_view(kind) or pat.is_large_list_view(kind):
        return _gathered_views(array)
    return array, np.arange(n_rows + 1)


def _gathered_views(array: _Array) -> tuple[_Array, Int64Array]:
    """Lay the rows of a list view, which may overlap or stand in any order, end to end."""
    starts = as_numpy(array.offsets).astype(np.int64)
    sizes = as_numpy(array.sizes).astype(np.int64)
    if array.null_count:
        sizes = np.where(is_null(array), 0, sizes)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if np.any(sizes < 0) or offsets[-1] > _MAX_OVERLAP * len(array.values):
        raise UnreadableError("the rows of a list view column overlap too much, or have corrupt sizes")
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
    return array.values.take(as_arrow(places)), offsets


def _filled(values: _Array) -> _Array:
    if pat.is_null(values.type):
        return pa.array(np.zeros(len(values), np.int64))
    return values.fill_null(False if pat.is_boolean(values.type) else 0)


def _has_values(stored: _Type) -> bool:
    return any(is_kind(stored) for is_kind in _LISTS)


def _kind(stored: _Type) -> ColumnKind:
    ndim = 0
    while True:
        if isinstance(stored, pa.BaseExtensionType):
            stored = stored.storage_type
        elif _has_values(stored):
            stored = stored.value_type
            ndim += 1
        else:
            break
    element = next((element for is_kind, element in _ELEMENTS if is_kind(stored)), Element.OTHER)
    return ColumnKind(element, ndim)


_LISTS = (
    pat.is_list,
    pat.is_large_list,
    pat.is_fixed_size_list,
    pat.is_list_view,
    pat.is_large_list_view,
)
_ELEMENTS = (
    (pat.is_integer, Element.INT),
    (pat.is_boolean, Element.BOOL),
    (pat.is_floating, Element.FLOAT),
    (pat.is_string, Element.STRING),
    (pat.is_large_string, Element.STRING),
    (pat.is_struct, Element.STRUCT),
    (pat.is_null, Element.NULL),
)
