"""Of what type token ids are that were stored as bytes: said only when one answer is plausible.

    ids 7, 300 as int64      07 00 00 00 00 00 00 00 2c 01 00 00 00 00 00 00
    read as int32            7, 0, 300, 0            every second one is an upper half: not plausible
    as int32, read as int64  7 + 300 * 2 ** 32       too large: not plausible

int32 and uint32 read the same here, as ids lie far below 2 ** 31: int32 stands for both.

Source: `llmfoundry/data/text_data.py` (mosaicml/llm-foundry, 8c8dd48f7), which reads such columns as int64
unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["infer_dtype"]

_DTYPES = ("int64", "int32", "uint16")
_MAX_ID = 1 << 20
"""No tokenizer has as many ids."""
_MAX_UPPER_HALF = 16
"""Ids below 2 ** 20 have upper halves below this, when read as two numbers of 16 bits."""
_MIN_VALUES = 8
_ALL_ONES = 0xFFFF


def infer_dtype(values: Sequence[bytes]) -> str | None:
    """Return the one type as which all values are plausible lists of ids, or none.

    Args:
        values: the bytes of a few samples.
    """
    plausible = [dtype for dtype in _DTYPES if _is_plausible(values, dtype)]
    return plausible[0] if len(plausible) == 1 else None


def _is_plausible(values: Sequence[bytes], dtype: str) -> bool:
    size = np.dtype(dtype).itemsize
    if not values or any(len(value) % size for value in values):
        return False
    ids = np.concatenate([np.frombuffer(value, np.dtype(dtype).newbyteorder("<")) for value in values])
    if ids.size < _MIN_VALUES or ids.min() < 0 or ids.max() >= _MAX_ID or ids.min() == ids.max():
        return False
    if dtype == "uint16" and ids.max() == _ALL_ONES:
        return False  # rather a piece of a negative number
    if any(len(value) // size % 2 for value in values):
        return True  # halves of wider numbers come in pairs
    halves = np.concatenate([np.frombuffer(value, ids.dtype)[1::2] for value in values])
    return bool(halves.max() >= _MAX_UPPER_HALF)
