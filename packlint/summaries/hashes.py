"""Position-independent hashes of token runs: equal runs hash alike wherever they lie.

The hash of a run is a polynomial in its ids, mixed with its length; see `polynomials.py`. One pass over the
tokens serves any number of runs.

The hashes are fast and not cryptographic: texts can be built that collide, so they must not guard against
malice. Chance collisions of `n` different runs: about `n^2 / 2^65`, of both halves `n^2 / 2^129`.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from packlint.model.arrays import Int64Array, IntArray
from packlint.model.batch import PackBatch
from packlint.summaries.polynomials import (
    BASES,
    LENGTH_FACTOR,
    Slices,
    UInt64Array,
    hashes_of_values,
    mix,
    values_of_runs,
)

__all__ = ["UInt64Array", "hash_packs", "hash_runs", "mix", "pack_hashes", "wide_hash_runs"]

_LIMBS = 4
"""16-bit limbs per 64-bit word; also the most limbs of one id."""
_WORD = 1 << 64


def hash_runs(tokens: IntArray, starts: Int64Array, stops: Int64Array) -> UInt64Array:
    """Return the hash of each run of tokens.

    Args:
        tokens: `int[token]`, in any integer type; the hash depends on the values only.
        starts: `int64[run]`, first token of each run, in any order.
        stops: `int64[run]`, one past its last token; may equal the start.
    """
    [values] = values_of_runs(partial(_stored, tokens), starts, stops, BASES[:1])
    return hashes_of_values(values, stops - starts)


def wide_hash_runs(
    tokens: IntArray, starts: Int64Array, stops: Int64Array
) -> tuple[UInt64Array, UInt64Array]:
    """Return 128 bits for each run of tokens, in two halves, the first of which is `hash_runs`.

    Args:
        tokens: `int[token]`, in any integer type; the hash depends on the values only.
        starts: `int64[run]`, first token of each run, in any order.
        stops: `int64[run]`, one past its last token; may equal the start.
    """
    first, second = values_of_runs(partial(_stored, tokens), starts, stops, BASES)
    lengths = stops - starts
    return hashes_of_values(first, lengths), hashes_of_values(second, lengths)


def hash_packs(tokens: IntArray, offsets: Int64Array, id_range: tuple[int, int] | None = None) -> UInt64Array:
    """Return the hash of each pack, about four times as fast as `hash_runs` and not comparable with it.

    Ids are taken apart into 16-bit limbs, and four ids' limbs of one rank make a word, counted from the
    pack's start. Limbs that are 0 throughout add nothing, so the stored type does not matter.

        ids 1, 2, 65539, 4      rank 0: words 1 | 2 | 3 | 4      rank 1: words 0 | 0 | 1 | 0

    Args:
        tokens: `int[token]`, in any integer type.
        offsets: `int64[pack + 1]`, where packs begin and end.
        id_range: smallest and largest id, where known; saves a pass.
    """
    starts, stops = offsets[:-1], offsets[1:]
    lengths = stops - starts
    if np.any(offsets % _LIMBS):
        tokens, starts = _aligned(tokens, starts, lengths)
    else:
        tokens = tokens[: tokens.size // _LIMBS * _LIMBS]
    first = starts // _LIMBS
    last = first + -(-lengths // _LIMBS)
    total = lengths.astype(np.uint64) * np.uint64(LENGTH_FACTOR)
    for rank, words in enumerate(_words(tokens, id_range)):
        [values] = values_of_runs(words, first, last, BASES[:1])
        total += mix(values) * np.uint64(pow(LENGTH_FACTOR, rank, _WORD))
    return mix(total)


def pack_hashes(batch: PackBatch) -> UInt64Array:
    """Return `hash_packs` of a batch, computed once and kept with it for all rules that ask."""
    key = "pack_hashes"
    if key not in batch._cache:
        batch._cache[key] = hash_packs(batch.tokens, batch.pack_offsets, batch.token_range)
    hashes: UInt64Array = batch._cache[key]
    return hashes


def _aligned(tokens: IntArray, starts: Int64Array, lengths: Int64Array) -> tuple[IntArray, Int64Array]:
    """Lay packs out so that each begins at a multiple of four, zeros between."""
    room = -(-lengths // _LIMBS) * _LIMBS
    new_starts = np.cumsum(room) - room
    is_token = np.ones(int(room.sum()), np.bool_)
    for behind in range(1, _LIMBS):
        padded = room - lengths >= behind
        is_token[(new_starts + room)[padded] - behind] = False
    laid = np.zeros(is_token.size, tokens.dtype)
    begin = int(starts[0]) if starts.size else 0
    laid[is_token] = tokens[begin : begin + int(lengths.sum())]
    return laid, new_starts


def _words(tokens: IntArray, id_range: tuple[int, int] | None) -> list[Slices]:
    """Return what gives the words of each rank of limbs that is not 0 throughout; rank 0 always.

    Words are made a block at a time: all of them at once would cost more in fresh memory than in work.
    """
    if tokens.dtype.itemsize <= 2 and tokens.dtype.kind == "u":
        words = np.ascontiguousarray(tokens.astype(np.uint16, copy=False)).view(np.uint64)
        return [partial(_stored, words)]
    low, high = id_range or ((int(tokens.min()), int(tokens.max())) if tokens.size else (0, 0))
    n_ranks = _LIMBS if low < 0 else max(1, -(-high.bit_length() // 16))
    wide = tokens if tokens.dtype.itemsize * 8 >= 16 * n_ranks else tokens.astype(np.int64)
    return [partial(_limbs, wide, rank) for rank in range(n_ranks)]


def _stored(words: IntArray | UInt64Array, start: int, stop: int) -> IntArray | UInt64Array:
    return words[start:stop]


def _limbs(tokens: IntArray, rank: int, start: int, stop: int) -> UInt64Array:
    ids = tokens[_LIMBS * start : _LIMBS * stop]
    return (ids >> ids.dtype.type(16 * rank) if rank else ids).astype(np.uint16).view(np.uint64)
