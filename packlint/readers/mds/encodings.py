"""How the values of one column of an MDS shard are stored.

    ndarray:int32        [ndim << 2 | width: 1] [shape: ndim * 2 ** width] [values]      any shape
    ndarray:int32:8,2    [values]                                                        one shape
    ndarray              [dtype: 1] then as the first
    int, uint8, int64 …  one number per sample
    bytes                raw values; what they are is recorded nowhere
    str, json, pkl, jpeg …   not read: never token ids that a trainer takes as they are

Source: `streaming/base/format/mds/encodings.py` (mosaicml-streaming 0.13.0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.readers.layouts import ColumnKind, Element
from packlint.readers.values import BadRowError

__all__ = ["Encoding", "parse_encoding"]

_CODES = {
    8: "uint8",
    9: "int8",
    16: "uint16",
    17: "int16",
    18: "float16",
    32: "uint32",
    33: "int32",
    34: "float32",
    64: "uint64",
    65: "int64",
    66: "float64",
}
_NUMBERS = frozenset(_CODES.values())
_MAX_AXES = 2


@dataclass(frozen=True, slots=True)
class Encoding:
    """Say how the values of a column are stored.

    Args:
        text: as the index has it.
        dtype: type of the numbers; none when each value says it, or nothing does.
        n_axes: axes of each value: 0 for single numbers; for arrays without a fixed shape, at least 1.
        has_head: a shape, and perhaps a type, stands before the numbers.
        is_readable: it holds numbers at all.
    """

    text: str
    dtype: str | None = None
    n_axes: int = 1
    has_head: bool = False
    is_readable: bool = True

    @property
    def kind(self) -> ColumnKind:
        """What a value holds, for `detect_layout`; `bytes` are not known to hold numbers."""
        if not self.is_readable or self.text == "bytes":
            return ColumnKind(Element.STRING if self.text == "str" else Element.OTHER, 0)
        is_float = self.dtype is not None and self.dtype.startswith("float")
        return ColumnKind(Element.FLOAT if is_float else Element.INT, self.n_axes)

    def decode(self, data: NDArray[np.uint8], start: int, stop: int) -> NDArray[Any]:
        """Return one value as `any[value]`, arrays of two axes flattened.

        Raises:
            BadRowError: SHD001, the value contradicts its size.
        """
        dtype, n_values = self.dtype, None
        if self.has_head:
            dtype, n_values, start = self._head(data, start, stop)
        if dtype is None:
            raise BadRowError("SHD001", f"nothing says what {self.text} holds")
        stored = np.dtype(dtype).newbyteorder("<")
        n_fit, rest = divmod(stop - start, stored.itemsize)
        if rest or (n_values is not None and n_values != n_fit):
            expected = "" if n_values is None else f" for {n_values} values"
            raise BadRowError("SHD001", f"{self.text} has {stop - start} bytes{expected}")
        return np.frombuffer(data, stored, n_fit, start) if n_fit else np.empty(0, stored)

    def _head(self, data: NDArray[np.uint8], start: int, stop: int) -> tuple[str | None, int, int]:
        """Return type and number of the values, and where they begin."""
        head = data[start : min(stop, start + 2 + 8 * _MAX_AXES)].tobytes()
        at, dtype = 0, self.dtype
        if dtype is None:
            dtype = _CODES.get(head[0]) if head else None
            at = 1
            if dtype is None:
                raise BadRowError("SHD001", f"{self.text} begins with an unknown type")
        if at >= len(head):
            raise BadRowError("SHD001", f"{self.text} is cut off")
        n_axes, width = head[at] >> 2, 1 << (head[at] & 3)
        at += 1
        if not 1 <= n_axes <= _MAX_AXES:
            raise BadRowError("SHD001", f"{self.text} has {n_axes} axes")
        if at + n_axes * width > len(head):
            raise BadRowError("SHD001", f"{self.text} is cut off")
        shape = [int.from_bytes(head[at + k * width : at + (k + 1) * width], "little") for k in range(n_axes)]
        return dtype, shape[0] * (shape[1] if n_axes == 2 else 1), start + at + n_axes * width


def parse_encoding(text: str, size: int | None) -> Encoding:
    """Return the encoding of a column.

    Args:
        text: as the index has it.
        size: bytes of each value, or none where they vary.

    Raises:
        UnreadableError: it contradicts itself.
    """
    if text in _NUMBERS:
        encoding = Encoding(text, text, 0)
    elif text == "int":
        encoding = Encoding(text, "int64", 0)
    elif text == "bytes":
        encoding = Encoding(text)
    elif text.split(":")[0] == "ndarray":
        encoding = _array(text)
    else:
        return Encoding(text, is_readable=False)
    if encoding.n_axes == 0 and size != np.dtype(encoding.dtype).itemsize:
        raise UnreadableError(f"the index says that values of type {text} have {size} bytes")
    return encoding


def _array(text: str) -> Encoding:
    _, dtype, shape = (*text.split(":"), "", "")[:3]
    if dtype and dtype not in _NUMBERS:
        raise UnreadableError(f"unknown encoding {text[:40]!r}")
    return Encoding(text, dtype or None, max(len(shape.split(",")), 1), has_head=not (dtype and shape))
