"""Arrow columns → numbers, by their dictionaries: each distinct value of a batch is looked at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from packlint.model.arrays import Int64Array
from packlint.readers.arrow_lists import is_list, values_and_offsets
from packlint.readers.arrow_numpy import as_arrow, filled, is_null
from packlint.readers.metadata.coding import Coded, Hashed, Numbering, refuse, text_of
from packlint.readers.metadata.values import METADATA_ROWS

__all__ = ["code_array", "field_of", "lacks_field", "pieces", "stored_path"]

# Stubs give every array class and type a parameter; here the element type is only known at run time.
_Array = Any
_Type = Any

_WORDS = (pat.is_string, pat.is_large_string, pat.is_string_view, pat.is_integer, pat.is_boolean, pat.is_null)


def lacks_field(schema: pa.Schema, name: str) -> str | None:
    """Say why there is no such column, none when there is; see `HasColumns.lacks`.

    Raises:
        UsageError: it holds what cannot be a category.
    """
    found = _type_of(schema, name)
    if found is None:
        return "no such column"
    inner = _element(_unpacked(found))
    if not any(is_kind(inner) for is_kind in _WORDS):
        raise refuse(name, _plural(inner))
    return None


def stored_path(schema: pa.Schema, name: str) -> tuple[str, str]:
    """Return the stored column that holds a name, and the dotted path of structs to be read of it."""
    top, path = _split(schema, name)
    kind: _Type = _unpacked(schema.field(top).type)
    kept = [top]
    for key in path:
        if not pat.is_struct(kind):
            break
        kept.append(key)
        kind = _unpacked(kind.field(key).type)
    return top, ".".join(kept)


def field_of(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> _Array:
    """Return a column of a batch, or a field of one: lists of structs become lists of the field."""
    top, path = _split(schema, name)
    return _descend(batch.column(top), path)


def pieces(
    batch: pa.RecordBatch, schema: pa.Schema, names: Sequence[str], most_rows: int = METADATA_ROWS
) -> Iterator[dict[str, _Array]]:
    """Yield named columns of a batch, some rows at a time."""
    for first in range(0, batch.num_rows, most_rows):
        piece = batch.slice(first, most_rows)
        yield {name: field_of(piece, schema, name) for name in names}


def code_array(column: str, array: _Array, numbering: Numbering) -> Coded:
    """Return the rows of an array as numbers."""
    array = _storage(array)
    if not is_list(array.type):
        values = _numbers(column, array, numbering)
        return Coded(values, np.ones(values.size, np.int64), False)
    entries, offsets = values_and_offsets(array)
    values = _numbers(column, _storage(entries), numbering)
    lengths = np.diff(offsets)
    if array.null_count:
        missing = is_null(array)
        values = values[~np.repeat(missing, lengths)]
        lengths = np.where(missing, 0, lengths)
    return Coded(values, lengths, True)


def _numbers(column: str, array: _Array, numbering: Numbering) -> Int64Array:
    if pat.is_null(array.type):
        return np.full(len(array), numbering.unknown, np.int64)
    if isinstance(numbering, Hashed) and pat.is_integer(array.type) and not pat.is_uint64(array.type):
        ids: Int64Array = filled(array.cast(pa.int64()), numbering.unknown)
        return ids
    encoded = array if pat.is_dictionary(array.type) else array.dictionary_encode()
    places = filled(encoded.indices.cast(pa.int64()), -1)
    used = np.unique(places[places >= 0])
    texts = (text_of(column, value) for value in encoded.dictionary.take(as_arrow(used)).to_pylist())
    numbers = [numbering.unknown if text is None else numbering.number(text) for text in texts]
    table = np.array([*numbers, numbering.unknown], np.int64)
    return table[np.where(places < 0, used.size, np.searchsorted(used, places))]


def _split(schema: pa.Schema, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the stored column, which may have dots in its own name, and the path below it."""
    keys = name.split(".")
    for n_keys in range(len(keys), 0, -1):
        top = ".".join(keys[:n_keys])
        if top in schema.names:
            return top, tuple(keys[n_keys:])
    return name, ()


def _type_of(schema: pa.Schema, name: str) -> _Type | None:
    top, path = _split(schema, name)
    if top not in schema.names:
        return None
    kind: _Type = _unpacked(schema.field(top).type)
    is_in_list = False
    for key in path:
        if is_list(kind) and not is_in_list:
            kind, is_in_list = _unpacked(kind.value_type), True
        if not pat.is_struct(kind) or kind.get_field_index(key) < 0:
            return None
        kind = _unpacked(kind.field(key).type)
    return pa.list_(kind) if is_in_list else kind


def _descend(array: _Array, path: tuple[str, ...]) -> _Array:
    array = _storage(array)
    if not path:
        return array
    if not is_list(array.type):
        return _descend(pc.struct_field(array, path[0]), path[1:])
    entries, offsets = values_and_offsets(array)
    missing = array.is_null() if array.null_count else None
    found = _descend(entries, path)
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), found, mask=missing)


def _unpacked(kind: _Type) -> _Type:
    """Return what an extension type or a dictionary stands for."""
    while True:
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        elif pat.is_dictionary(kind):
            kind = kind.value_type
        else:
            return kind


def _element(kind: _Type) -> _Type:
    return _unpacked(kind.value_type) if is_list(kind) else kind


def _plural(kind: _Type) -> str:
    if pat.is_struct(kind):
        return "objects"
    if is_list(kind):
        return "lists of lists"
    return "floats" if pat.is_floating(kind) else f"values of type {kind}"


def _storage(array: _Array) -> _Array:
    while isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    return array
