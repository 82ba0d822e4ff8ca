"""Records that hold a `tf.train.Example` each → rows by role.

    records ──features──▶ where each list stands ──decode──▶ values of many rows at once ──▶ rows

A record that is damaged or lacks a feature is a fault of that row; the others are read all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.readers.collecting import RowBuffer, collected
from packlint.readers.layouts import ColumnKind, Element
from packlint.readers.layouts.synonyms import ROLE_NAMES
from packlint.readers.shard import RawRows, Role
from packlint.readers.tfrecord.framing import Records
from packlint.readers.tfrecord.wire import ListKind, Span, decode_varints, features, value_span
from packlint.readers.values import BadRowError, product, row_values

__all__ = ["example_rows", "feature_kinds", "first_examples"]

_INT_TAG, _FLOAT_TAG = 0x08, 0x0D
_FLOAT_FIELD = np.dtype([("tag", "u1"), ("value", "<f4")])


def example_rows(
    blocks: Iterable[Records], columns: Mapping[Role, tuple[str, ...]], block_tokens: int
) -> Iterator[RawRows]:
    """Yield the rows of records, about `block_tokens` tokens at a time.

    Args:
        blocks: the records.
        columns: the feature of each role, or the two whose product counts.
        block_tokens: tokens at a time.

    Raises:
        UnreadableError: the records cannot be read on; rows before that are yielded first.
    """
    rows = chain.from_iterable(_decoded(records, columns) for records in blocks)
    return collected(rows, RowBuffer(columns), block_tokens)


def first_examples(blocks: Iterable[Records], n_rows: int) -> list[dict[str, NDArray[Any]]]:
    """Return the features of the first few Examples; strings come as empty lists of bytes.

    Raises:
        UnreadableError: not one record is an Example.
    """
    found: list[dict[str, NDArray[Any]]] = []
    why = "there are no records"
    try:
        for records in blocks:
            for at in range(records.starts.size):
                try:
                    found.append(_example(records, at))
                except BadRowError as bad:
                    why = bad.message
                if len(found) >= n_rows:
                    return found
    except UnreadableError as damage:
        why = str(damage)
    if not found:
        raise UnreadableError(f"no tf.train.Example: {why.removeprefix('no tf.train.Example: ')}")
    return found


def feature_kinds(examples: Sequence[Mapping[str, NDArray[Any]]]) -> dict[str, ColumnKind]:
    """Return what each feature holds that at least half of the examples have.

    One odd record must not decide over the file. A feature of no known name that always has one value is no
    list.
    """
    n_seen = Counter(name for example in examples for name in example)
    longest: dict[str, int] = {}
    elements: dict[str, Element] = {}
    for example in examples:
        for name, values in example.items():
            if 2 * n_seen[name] < len(examples):
                continue
            longest[name] = max(longest.get(name, 0), values.size)
            if name not in elements or values.size:
                elements[name] = {"i": Element.INT, "f": Element.FLOAT}.get(values.dtype.kind, Element.STRING)
    has_lists = max(longest.values(), default=0) > 1
    single = {
        name for name, length in longest.items() if length == 1 and name not in ROLE_NAMES and has_lists
    }
    return {name: ColumnKind(elements[name], 0 if name in single else 1) for name in elements}


def _example(records: Records, at: int) -> dict[str, NDArray[Any]]:
    if records.damaged[at]:
        raise BadRowError("SHD001", "the checksum of the record is wrong")
    start = int(records.starts[at])
    spans = features(records.data, start, start + int(records.lengths[at]))
    found: dict[str, NDArray[Any]] = {}
    for name, span in spans.items():
        if span.kind is ListKind.BYTES:
            found[name] = np.empty(0, np.bytes_)
            continue
        [values] = _decode(records.data, [value_span(records.data, span)])
        if isinstance(values, BadRowError):
            raise values
        found[name] = values
    return found


def _decoded(
    records: Records, columns: Mapping[Role, tuple[str, ...]]
) -> Iterator[tuple[int, dict[Role, NDArray[Any]] | BadRowError]]:
    """Yield the number of each record, and its row or why there is none."""
    names = {name: role for role, of_role in columns.items() for name in of_role}
    bad: dict[int, BadRowError] = {}
    good: list[int] = []
    spans: dict[str, list[Span]] = {name: [] for name in names}
    for at in range(records.starts.size):
        try:
            found = _wanted(records, at, names)
        except BadRowError as error:
            bad[at] = error
            continue
        good.append(at)
        for name, span in found.items():
            spans[name].append(span)
    decoded = {name: _decode(records.data, of_name) for name, of_name in spans.items()}
    rows = dict(zip(good, range(len(good)), strict=True))
    for at in range(records.starts.size):
        number = records.first + at
        if at in bad:
            yield number, bad[at]
            continue
        try:
            values = {name: of_name[rows[at]] for name, of_name in decoded.items()}
            yield number, {role: _column(role, of_role, values) for role, of_role in columns.items()}
        except BadRowError as error:
            yield number, error


def _wanted(records: Records, at: int, names: Mapping[str, Role]) -> dict[str, Span]:
    if records.damaged[at]:
        raise BadRowError("SHD001", "the checksum of the record is wrong")
    start = int(records.starts[at])
    found = features(records.data, start, start + int(records.lengths[at]))
    wanted: dict[str, Span] = {}
    for name in names:
        if name not in found:
            raise BadRowError("SHD001", f"there is no {name}")
        if found[name].kind is ListKind.BYTES:
            raise BadRowError("SHD001", f"{name} holds strings, expected numbers")
        wanted[name] = value_span(records.data, found[name])
    return wanted


def _column(
    role: Role, names: tuple[str, ...], values: Mapping[str, NDArray[Any] | BadRowError]
) -> NDArray[Any]:
    parts: list[NDArray[Any]] = []
    for name in names:
        part = values[name]
        if isinstance(part, BadRowError):
            raise BadRowError(part.code, f"{name}: {part.message}")
        parts.append(row_values(role, name, part))
    return product(names, parts)


def _decode(data: bytes, spans: Sequence[Span]) -> list[NDArray[Any] | BadRowError]:
    """Return the values of each span; integers of all rows are decoded together."""
    found: list[NDArray[Any] | BadRowError] = [np.empty(0, np.int64)] * len(spans)
    for is_packed in (True, False):
        which = [
            i
            for i, span in enumerate(spans)
            if span.kind is ListKind.INTS and span.start < span.stop and span.is_packed is is_packed
        ]
        for i, values in zip(which, _integers(data, [spans[i] for i in which], is_packed), strict=True):
            found[i] = values
    for i, span in enumerate(spans):
        if span.kind is ListKind.FLOATS:
            found[i] = _floats(data, span)
    return found


def _integers(data: bytes, spans: Sequence[Span], is_packed: bool) -> Iterator[NDArray[Any] | BadRowError]:
    ends_well = [data[span.stop - 1] < 0x80 for span in spans]
    pieces = [data[s.start : s.stop] for s, ends in zip(spans, ends_well, strict=True) if ends]
    joined = np.frombuffer(b"".join(pieces), np.uint8)
    values, stops, too_long = decode_varints(joined)
    bounds = np.searchsorted(stops, np.cumsum([len(piece) for piece in pieces]), side="right").tolist()
    begin, of_piece = 0, iter(bounds)
    for ends in ends_well:
        if not ends:
            yield BadRowError("SHD001", "the last integer does not end")
            continue
        end = next(of_piece)
        row = values[begin:end]
        if too_long[begin:end].any():
            yield BadRowError("SHD001", "an integer has more than 10 bytes")
        elif is_packed:
            yield row
        elif row.size % 2 or (row[::2] != _INT_TAG).any():
            yield BadRowError("SHD001", "a list of values is damaged")
        else:
            yield row[1::2]
        begin = end


def _floats(data: bytes, span: Span) -> NDArray[Any] | BadRowError:
    raw = data[span.start : span.stop]
    if span.is_packed:
        return BadRowError("SHD001", "floats are cut off") if len(raw) % 4 else np.frombuffer(raw, "<f4")
    if len(raw) % _FLOAT_FIELD.itemsize:
        return BadRowError("SHD001", "floats are cut off")
    fields = np.frombuffer(raw, _FLOAT_FIELD)
    if (fields["tag"] != _FLOAT_TAG).any():
        return BadRowError("SHD001", "a list of values is damaged")
    return fields["value"]
