"""Passes over all tokens, a chunk at a time: a whole temporary array would cost more than the work on it."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray, empty_int64

__all__ = ["find_label_mismatches", "find_position_breaks"]

_CHUNK = 1 << 16


def find_label_mismatches(label_ids: IntArray, tokens: IntArray, is_target: BoolArray) -> Int64Array:
    """Return the places of targets whose label id is another than their token's.

    Args:
        label_ids: `int[token]`, token-aligned.
        tokens: `int[token]`.
        is_target: `bool[token]`.
    """
    found = [empty_int64()]
    for start in range(0, tokens.size, _CHUNK):
        chunk = slice(start, start + _CHUNK)
        differs = label_ids[chunk] != tokens[chunk]
        differs &= is_target[chunk]
        found.append(np.flatnonzero(differs) + start)
    return np.concatenate(found)


def find_position_breaks(positions: IntArray) -> Int64Array:
    """Return the places where a position is not one more than the one before, the first place among them.

    Args:
        positions: `int[token]`.
    """
    if positions.size == 0:
        return empty_int64()
    if positions.dtype.itemsize < 4:
        positions = positions.astype(np.int32)  # a restart after position 255 of uint8 must not wrap to 1
    found = [np.zeros(1, np.int64)]
    step = np.empty(min(_CHUNK, positions.size), positions.dtype)  # one small buffer: no fresh pages to touch
    for start in range(1, positions.size, _CHUNK):
        stop = min(start + _CHUNK, positions.size)
        np.subtract(positions[start:stop], positions[start - 1 : stop - 1], out=step[: stop - start])
        found.append(np.flatnonzero(step[: stop - start] != 1) + start)
    return np.concatenate(found)
