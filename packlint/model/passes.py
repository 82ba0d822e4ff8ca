"""Passes over all tokens, a chunk at a time: touching fresh memory costs more than the work on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray, empty_int64, true_places

__all__ = [
    "MAX_CHUNK_TOKENS",
    "find_changes",
    "find_label_mismatches",
    "find_position_breaks",
    "places_where",
]

MAX_CHUNK_TOKENS = 1 << 18
"""Tokens of a chunk: enough that the calls cost little beside the work, few enough to stay in cache."""


def places_where(n_tokens: int, test: Callable[[slice, BoolArray], object]) -> Int64Array:
    """Return the places, rising, where a test holds.

    Args:
        n_tokens: places to test.
        test: writes `bool[place]` for a slice of the places into the array it is given.
    """
    found = [empty_int64()]
    holds = np.empty(min(MAX_CHUNK_TOKENS, n_tokens), np.bool_)
    for start in range(0, n_tokens, MAX_CHUNK_TOKENS):
        chunk = slice(start, min(start + MAX_CHUNK_TOKENS, n_tokens))
        mask = holds[: chunk.stop - start]
        test(chunk, mask)
        if mask.any():
            found.append(true_places(mask) + start)
    return np.concatenate(found)


def find_changes(mask: BoolArray) -> Int64Array:
    """Return the places of `bool[token]` where the value is another than the one before."""
    bits = mask.view(np.uint8)  # comparing bools is slower than taking their bits apart
    before, after = bits[:-1], bits[1:]

    def changes(chunk: slice, out: BoolArray) -> None:
        np.bitwise_xor(before[chunk], after[chunk], out=out.view(np.uint8))

    return places_where(max(mask.size - 1, 0), changes) + 1


def find_label_mismatches(label_ids: IntArray, tokens: IntArray, is_target: BoolArray) -> Int64Array:
    """Return the places of targets whose label id is another than their token's.

    Args:
        label_ids: `int[token]`, token-aligned.
        tokens: `int[token]`.
        is_target: `bool[token]`.
    """
    widened = np.empty(min(MAX_CHUNK_TOKENS, tokens.size), label_ids.dtype)
    is_narrower = tokens.dtype != label_ids.dtype and np.can_cast(tokens.dtype, label_ids.dtype)

    def differs(chunk: slice, out: BoolArray) -> None:
        ids = tokens[chunk]
        if is_narrower:  # comparing two types is several times slower than one conversion
            np.copyto(widened[: ids.size], ids)
            ids = widened[: ids.size]
        np.not_equal(label_ids[chunk], ids, out=out)
        np.logical_and(out, is_target[chunk], out=out)

    return places_where(tokens.size, differs)


def find_position_breaks(positions: IntArray) -> Int64Array:
    """Return the places where a position is not one more than the one before, the first place among them.

    Args:
        positions: `int[token]`.
    """
    if positions.size == 0:
        return empty_int64()
    if positions.dtype.itemsize < 4:
        positions = positions.astype(np.int32)  # a restart after position 255 of uint8 must not wrap to 1
    before, after = positions[:-1], positions[1:]
    steps = np.empty(min(MAX_CHUNK_TOKENS, before.size), positions.dtype)

    def breaks(chunk: slice, out: BoolArray) -> None:
        np.subtract(after[chunk], before[chunk], out=steps[: out.size])
        np.not_equal(steps[: out.size], 1, out=out)

    return np.concatenate([np.zeros(1, np.int64), places_where(before.size, breaks) + 1])
