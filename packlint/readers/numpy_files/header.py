r"""The header of a numpy array file.

    \x93NUMPY   major minor   length             text                                    values
    6 bytes     u8    u8      u16, from 2.0 u32  {'descr': '<i4', 'fortran_order': False, 'shape': (2, 3)}
    0           6             8                  10 or 12

Only plain numbers, booleans and objects are taken; nothing is allocated by what a header claims.

Source: `numpy/lib/_format_impl.py` (numpy 2.4), `numpy.lib.format`.
"""

from __future__ import annotations

import ast
import math
import re
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from packlint.errors import UnreadableError

__all__ = ["HEAD_BYTES", "MAGIC", "Header", "parse_header"]

MAGIC = b"\x93NUMPY"
HEAD_BYTES = 1 << 12
"""Bytes in which every header of a plain array ends; numpy itself pads them to 64 or 128."""
_DESCR = re.compile(r"[<>|=]?([iufb][1248]|O8?|\?)")
_MAX_AXES = 8


@dataclass(frozen=True, slots=True)
class Header:
    """Hold what a header says.

    Args:
        dtype: storage type of the values.
        shape: length of each axis.
        is_fortran: the first axis runs fastest.
        n_bytes: bytes of the header, before the values.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    n_bytes: int

    @property
    def n_values(self) -> int:
        """Values in the array."""
        return math.prod(self.shape)

    @property
    def is_pickled(self) -> bool:
        """Whether a pickle of objects follows, not values."""
        return self.dtype.hasobject


def parse_header(head: bytes) -> Header:
    """Return the header at the beginning of an array file.

    Args:
        head: its first `HEAD_BYTES` bytes, or the whole file.

    Raises:
        UnreadableError: it is damaged, or the values are of a kind that cannot be read.
    """
    if not head.startswith(MAGIC) or len(head) < 12:
        raise UnreadableError("no numpy array: the file ends in its header")
    major = head[6]
    if major not in (1, 2, 3):
        raise UnreadableError(f"version {major} of the numpy header, expected 1 to 3")
    size, begin = (struct.unpack_from("<H", head, 8)[0], 10) if major == 1 else _long_size(head)
    if begin + size > len(head):
        raise UnreadableError(f"the numpy header claims {size} bytes, more than are there")
    fields = _fields(head[begin : begin + size])
    return Header(
        _dtype(fields["descr"]), _shape(fields["shape"]), bool(fields["fortran_order"]), begin + size
    )


def _long_size(head: bytes) -> tuple[int, int]:
    return struct.unpack_from("<I", head, 8)[0], 12


def _fields(text: bytes) -> dict[str, Any]:
    try:
        fields = ast.literal_eval(text.decode("utf-8").strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise UnreadableError("the numpy header is damaged") from None
    if not isinstance(fields, dict) or not {"descr", "fortran_order", "shape"} <= fields.keys():
        raise UnreadableError("the numpy header lacks descr, fortran_order or shape")
    return fields


def _dtype(descr: object) -> np.dtype[Any]:
    if not isinstance(descr, str) or not _DESCR.fullmatch(descr):
        raise UnreadableError(f"the array holds {str(descr)[:40]!r}, expected integers")
    try:
        return np.dtype(descr)
    except TypeError:
        raise UnreadableError(f"the array holds {descr!r}, expected integers") from None


def _shape(shape: object) -> tuple[int, ...]:
    is_tuple = isinstance(shape, tuple) and len(shape) <= _MAX_AXES
    if not is_tuple or any(type(n) is not int or not 0 <= n < 1 << 48 for n in shape):  # type: ignore[attr-defined]
        raise UnreadableError(f"the shape of the array is {str(shape)[:40]}")
    return shape  # type: ignore[return-value]  # a tuple of integers by the test just made
