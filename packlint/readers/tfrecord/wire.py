"""The protobuf wire format, as far as `tf.train.Example` needs it.

    Example   { features = 1 }                        Features { map<string, Feature> feature = 1 }
    Feature   { bytes_list = 1 | float_list = 2 | int64_list = 3 }
    Int64List { repeated int64 value = 1 }            packed: one field of varints; else one field per value
    FloatList { repeated float value = 1 }            packed: one field of float32; else one field per value

    field     tag = number << 3 | wire type, varint; then   0 varint   1 eight bytes   5 four bytes
                                                            2 length as varint, and as many bytes

Messages are walked in Python, a dozen steps per row; the integers of all rows are decoded together in numpy.

Source: https://protobuf.dev/programming-guides/encoding/; `tensorflow/core/example/{example,feature}.proto`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array
from packlint.readers.values import BadRowError

__all__ = ["ListKind", "Span", "decode_varints", "features", "value_span"]

_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_PACKED_TAG = 0x0A


class ListKind(IntEnum):
    """What a feature holds: the number of its field in `Feature`."""

    BYTES = 1
    FLOATS = 2
    INTS = 3


@dataclass(frozen=True, slots=True)
class Span:
    """Name the bytes of a feature's list message, or of the values in it.

    Args:
        kind: what the list holds.
        start: first byte.
        stop: one past the last byte.
        is_packed: the values stand end to end, without a tag before each.
    """

    kind: ListKind
    start: int
    stop: int
    is_packed: bool = True


def features(data: bytes, start: int, stop: int) -> dict[str, Span]:
    """Return the list message of each feature of an Example.

    Raises:
        BadRowError: SHD001, it is no Example.
    """
    found: dict[str, Span] = {}
    for number, wire, a, b in _fields(data, start, stop):
        if (number, wire) != (1, _BYTES):
            continue
        for inner_number, inner_wire, c, d in _fields(data, a, b):
            if (inner_number, inner_wire) == (1, _BYTES):
                name, span = _entry(data, c, d)
                if span is not None:
                    found[name] = span
    return found


def value_span(data: bytes, span: Span) -> Span:
    """Return where the values of a list message stand.

    Raises:
        BadRowError: SHD001, the message is damaged, or holds packed values and others side by side.
    """
    if span.start == span.stop:
        return span
    if data[span.start] != _PACKED_TAG:
        return Span(span.kind, span.start, span.stop, is_packed=False)
    size, at = _varint(data, span.start + 1, span.stop)
    if at + size != span.stop:
        raise BadRowError("SHD001", "a list of values is split or cut off")
    return Span(span.kind, at, span.stop)


def decode_varints(data: NDArray[np.uint8]) -> tuple[Int64Array, Int64Array, BoolArray]:
    """Return the varints in some bytes, the last of which ends one.

    Returns:
        values: `int64[value]`.
        stops: `int64[value]`, one past the last byte of each.
        too_long: `bool[value]`, it has more bytes than an integer can have.
    """
    stops = np.flatnonzero(data < 0x80) + 1
    starts = np.append(0, stops[:-1])[: stops.size]
    sizes = stops - starts
    values = (data[starts] & 0x7F).astype(np.uint64)
    for k in range(1, min(int(sizes.max(initial=0)), _MAX_VARINT_BYTES)):
        longer = np.flatnonzero(sizes > k)
        values[longer] |= (data[starts[longer] + k] & 0x7F).astype(np.uint64) << np.uint64(7 * k)
    return values.view(np.int64), stops, np.asarray(sizes > _MAX_VARINT_BYTES, np.bool_)


def _entry(data: bytes, start: int, stop: int) -> tuple[str, Span | None]:
    name, span = "", None
    for number, wire, a, b in _fields(data, start, stop):
        if (number, wire) == (1, _BYTES):
            name = data[a:b].decode("utf-8", "backslashreplace")
        elif (number, wire) == (2, _BYTES):
            for kind, inner_wire, c, d in _fields(data, a, b):
                if kind in (1, 2, 3) and inner_wire == _BYTES:
                    span = Span(ListKind(kind), c, d)
    return name, span


def _fields(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield number, wire type and place of each field of a message."""
    at = start
    while at < stop:
        tag, at = _varint(data, at, stop)
        number, wire = tag >> 3, tag & 7
        if wire == _BYTES:
            size, at = _varint(data, at, stop)
            end = at + size
        elif wire == _VARINT:
            _, end = _varint(data, at, stop)
        elif wire in (_EIGHT, _FOUR):
            end = at + (8 if wire == _EIGHT else 4)
        else:
            raise BadRowError("SHD001", f"no tf.train.Example: wire type {wire}")
        if end > stop:
            raise BadRowError("SHD001", "no tf.train.Example: a field reaches beyond its message")
        yield number, wire, at, end
        at = end


def _varint(data: bytes, at: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    while at < stop and shift < 7 * _MAX_VARINT_BYTES:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise BadRowError("SHD001", "no tf.train.Example: a varint does not end")
