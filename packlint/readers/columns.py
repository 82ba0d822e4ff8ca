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
from packlint.readers.arrow_lists import is_list, values_and_offsets
from packlint.readers.arrow_numpy import as_numpy, is_null
from packlint.readers.layouts import ColumnKind, Element, factors
from packlint.readers.pairs import PairRows, columns_of_roles, emptied, join_pairs
from packlint.readers.shard import Fault, Layout, PairColumns, Ragged, RawRows, Role

__all__ = ["blocks", "column_kinds", "stored_columns", "stored_spec"]

# Stubs give every array class and type a parameter; here the element type is only known at run time.
_Array = Any
_Type = Any


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
    """Return the columns to read for each role: one, two loss masks whose product counts, or those of a pair.

    Args:
        layout: how the rows are laid out.
        roles: what is asked for.
        stored: names of all stored columns.
    """
    if layout.pairs is not None:
        return columns_of_roles(layout.pairs, roles)
    return {role: factors(column, stored) for role, column in layout.columns.items() if role in roles}


def stored_spec(schema: pa.Schema, layout: Layout) -> DatasetSpec:
    """Return what the schema says of the conventions: the storage type of the ids."""
    column = layout.columns[Role.INPUT_IDS]
    stored: _Type = schema.field(column).type
    while is_list(stored):
        stored = stored.value_type
    if not pat.is_integer(stored):
        return DatasetSpec()
    return DatasetSpec(token_dtype=Known(str(stored), Origin.FORMAT, f"type of column {column}"))


def blocks(
    batch: pa.RecordBatch,
    columns: Mapping[Role, tuple[str, ...]],
    first_row: int,
    block_tokens: int,
    pairs: PairColumns | None = None,
) -> Iterator[RawRows]:
    """Yield the rows of a record batch in order, whole rows of about `block_tokens` tokens at a time.

    Args:
        batch: rows as decoded.
        columns: names by role, as `stored_columns` gives them.
        first_row: number of the first row in the shard.
        block_tokens: tokens per block; a longer row is a block by itself.
        pairs: the same columns as sides of preference pairs, which are joined; or none.

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
    if pairs is not None:
        offsets = [column.ragged.offsets for column in raw[Role.INPUT_IDS]]
        for start, stop in _cut(np.sum(offsets, axis=0), block_tokens):
            yield _pair_block(raw, pairs, start, stop, first_row)
        return
    lengths = _leading(raw).ragged.offsets
    for start, stop in _cut(lengths, block_tokens):
        yield _block(raw, start, stop, first_row)


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """Hold one decoded column.

    Args:
        name: as stored.
        ragged: its rows; rows with a null hold anything.
        is_null: `bool[row]`, rows that are null; none where no row is.
        holders: `int64[holder]`, rising, rows that hold a null.
    """

    name: str
    ragged: Ragged
    is_null: BoolArray | None
    holders: Int64Array

    @property
    def null_rows(self) -> Int64Array:
        """`int64[null]`, rising, rows that are null or hold a null."""
        return (
            self.holders if self.is_null is None else np.union1d(np.flatnonzero(self.is_null), self.holders)
        )

    @property
    def broken_rows(self) -> Int64Array:
        """`int64[broken]`, rising, rows that hold a null and are none."""
        return self.holders if self.is_null is None else self.holders[~self.is_null[self.holders]]


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
    null_rows = {column.name: column.null_rows for columns in raw.values() for column in columns}
    keep, faults = _without_nulls(null_rows, start, stop, first_row)
    cut = {
        role: [_rows(column.ragged, start, stop, keep) for column in columns] for role, columns in raw.items()
    }
    return RawRows(
        row_numbers=np.flatnonzero(keep) + (first_row + start),
        columns={role: _product(parts, role) for role, parts in cut.items()},
        faults=faults,
    )


def _pair_block(
    raw: Mapping[Role, list[_Column]], pairs: PairColumns, start: int, stop: int, first_row: int
) -> RawRows:
    """Join the sides of pairs; a row that is null is a side that is missing, a null inside it is a fault."""
    columns = {column.name: column for of_role in raw.values() for column in of_role}
    broken = {name: column.broken_rows for name, column in columns.items()}
    keep, faults = _without_nulls(broken, start, stop, first_row)
    nulls = {n: c.is_null[start:stop][keep] for n, c in columns.items() if c.is_null is not None}
    cut = {name: _rows(column.ragged, start, stop, keep) for name, column in columns.items()}
    rows = PairRows(
        row_numbers=np.flatnonzero(keep) + (first_row + start),
        columns=cut | {name: emptied(cut[name], is_null) for name, is_null in nulls.items()},
        nulls=nulls,
        faults=faults,
    )
    return join_pairs(rows, pairs)


def _without_nulls(
    null_rows: Mapping[str, Int64Array], start: int, stop: int, first_row: int
) -> tuple[BoolArray, tuple[Fault, ...]]:
    """Return which rows of a block are null in none of the named columns, and a fault for each other one."""
    keep = np.ones(stop - start, np.bool_)
    faults: list[Fault] = []
    for name, rows in null_rows.items():
        low, high = np.searchsorted(rows, (start, stop))
        for row in rows[low:high].tolist():
            if keep[row - start]:
                faults.append(Fault(code="SHD005", row=first_row + row, message=f"null in column {name}"))
            keep[row - start] = False
    return keep, tuple(sorted(faults, key=lambda fault: fault.row))


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
    absent = is_null(array) if array.null_count else None
    holders = np.empty(0, np.int64)
    if values.null_count:
        holders = np.unique(np.searchsorted(offsets, np.flatnonzero(is_null(values)), side="right") - 1)
    if values.null_count or pat.is_null(values.type):
        values = _filled(values)
    return _Column(name, Ragged(as_numpy(values), offsets), absent, holders)


def _filled(values: _Array) -> _Array:
    if pat.is_null(values.type):
        return pa.array(np.zeros(len(values), np.int64))
    return values.fill_null(False if pat.is_boolean(values.type) else 0)


def _kind(stored: _Type) -> ColumnKind:
    ndim = 0
    while True:
        if isinstance(stored, pa.BaseExtensionType):
            stored = stored.storage_type
        elif is_list(stored):
            stored = stored.value_type
            ndim += 1
        else:
            break
    element = next((element for is_kind, element in _ELEMENTS if is_kind(stored)), Element.OTHER)
    return ColumnKind(element, ndim)


_ELEMENTS = (
    (pat.is_integer, Element.INT),
    (pat.is_boolean, Element.BOOL),
    (pat.is_floating, Element.FLOAT),
    (pat.is_string, Element.STRING),
    (pat.is_large_string, Element.STRING),
    (pat.is_struct, Element.STRUCT),
    (pat.is_null, Element.NULL),
)
