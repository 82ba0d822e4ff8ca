"""The reader of `.safetensors` files: a JSON header, then the arrays.

    length    header                                                                             data
    u64       {"tokens": {"dtype": "I32", "shape": [2, 8], "data_offsets": [0, 64]}, …}          bytes
    0         8                                                                                  8 + length

Offsets count from the end of the header. The format allows no gaps and no overlaps.

Source: https://github.com/huggingface/safetensors, README, "Format"; `safetensors/src/tensor.rs`.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.readers.dumps.members import Member
from packlint.readers.dumps.shard import dump_shards
from packlint.readers.shard import Settings, Shard
from packlint.readers.source import Source

__all__ = ["SafetensorsReader"]

_MAX_HEADER_BYTES = 100_000_000
"""What safetensors itself allows."""
_MAX_AXES = 8
_DTYPES = {
    "BOOL": "?",
    "U8": "<u1",
    "I8": "<i1",
    "U16": "<u2",
    "I16": "<i2",
    "F16": "<f2",
    "U32": "<u4",
    "I32": "<i4",
    "F32": "<f4",
    "U64": "<u8",
    "I64": "<i8",
    "F64": "<f8",
}
_HEAD = re.compile(rb'\{\s*"')


class SafetensorsReader:
    """Recognise and open `.safetensors` files."""

    format = "safetensors"
    title = "safetensors file with the arrays of a batch"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by a header length that fits the file and the JSON object after it."""
        if len(head) < 10 or not _HEAD.match(head, 8):
            return False
        return int.from_bytes(head[:8], "little") <= min(_MAX_HEADER_BYTES, source.size)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return one shard, or one per prefix of the arrays' names.

        Raises:
            UnreadableError: the header is damaged, or no array holds token ids.
        """
        header, begin = _header(source)
        members: list[Member] = []
        end = 0
        for key, entry in sorted(header.items(), key=_order):
            member, start, stop = _member(source, begin, key, entry)
            if start != end:
                raise UnreadableError(f"{key} begins at byte {start} of the data, expected {end}")
            end = stop
            if member is not None:
                members.append(member)
        if begin + end != source.size:
            raise UnreadableError(f"the arrays end at byte {begin + end}, the file at byte {source.size}")
        return dump_shards(members, name, settings, format_name=self.format, n_bytes=source.size)


def _header(source: Source) -> tuple[dict[str, Any], int]:
    head = source.read(0, 8)
    size = struct.unpack("<Q", head)[0] if len(head) == 8 else -1
    if not 2 <= size <= min(_MAX_HEADER_BYTES, source.size - 8):
        raise UnreadableError(f"the header claims {size} bytes, the file has {source.size}")
    try:
        header = json.loads(source.read(8, size))
    except (ValueError, RecursionError):
        raise UnreadableError("the header is no JSON") from None
    if not isinstance(header, dict):
        raise UnreadableError("the header is no JSON object")
    header.pop("__metadata__", None)
    for key, entry in header.items():
        if not _is_entry(entry):
            raise UnreadableError(f"the header says nothing of use about {key[:80]!r}")
    return header, 8 + size


def _is_entry(entry: object) -> bool:
    if not isinstance(entry, Mapping) or not isinstance(entry.get("dtype"), str):
        return False
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    if not isinstance(shape, list) or not isinstance(offsets, list):
        return False
    numbers = [*shape, *offsets]
    is_sized = len(shape) <= _MAX_AXES and len(offsets) == 2
    return is_sized and all(type(n) is int and 0 <= n < 1 << 48 for n in numbers)


def _order(item: tuple[str, Any]) -> tuple[int, int]:
    return tuple(item[1]["data_offsets"])


def _member(source: Source, begin: int, key: str, entry: Mapping[str, Any]) -> tuple[Member | None, int, int]:
    start, stop = entry["data_offsets"]
    code, shape = entry["dtype"], tuple(entry["shape"])
    n_values = math.prod(shape)
    if code not in _DTYPES:
        return None, start, stop  # floats of odd kinds are never tokens
    dtype = np.dtype(_DTYPES[code])
    if stop - start != n_values * dtype.itemsize:
        raise UnreadableError(f"{key} has {stop - start} bytes, its shape needs {n_values * dtype.itemsize}")
    return Member(key, dtype, shape, partial(_load, source, dtype, begin + start, shape)), start, stop


def _load(source: Source, dtype: np.dtype[Any], start: int, shape: tuple[int, ...]) -> NDArray[Any]:
    stored = source.array(dtype, start, math.prod(shape))
    return np.asarray(stored[0 : stored.size]).reshape(shape)
