"""Position-independent 64-bit hashes of token runs: equal runs hash alike wherever they lie.

The hash of a run is a polynomial in its ids, mixed with its length:

    h = mix(t[0] + t[1] r + t[2] r^2 + ... + length * s)        modulo 2^64, r and s odd

One pass over the tokens serves any number of runs. Ids are weighted by powers that begin again in every
block, so that the table of powers stays in cache; sums between edges are then moved to the run's start by
a power of r, which has an inverse because r is odd.

The hash is fast and not cryptographic: texts can be built that collide, so it must not guard against malice.
Chance collisions of `n` different runs: about `n^2 / 2^65`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import Int64Array, IntArray, sorted_distinct
from packlint.model.batch import PackBatch

__all__ = ["hash_packs", "hash_runs", "mix", "pack_hashes"]

UInt64Array = NDArray[np.uint64]

_BLOCK = 1 << 14
_LIMBS = 4
"""16-bit limbs per 64-bit word; also the most limbs of one id."""
_WORD = 1 << 64
_R = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, odd; also the increment of splitmix64."""
_INVERSE = pow(_R, -1, _WORD)
_S = 0xD1342543DE82EF95
"""An odd constant without structure (Steele and Vigna, arXiv:2001.05304)."""


def hash_runs(tokens: IntArray, starts: Int64Array, stops: Int64Array) -> UInt64Array:
    """Return the hash of each run of tokens.

    Args:
        tokens: `int[token]`, in any integer type; the hash depends on the values only.
        starts: `int64[run]`, first token of each run, in any order.
        stops: `int64[run]`, one past its last token; may equal the start.
    """
    lengths = (stops - starts).astype(np.uint64)
    return mix(_polynomials(tokens, starts, stops) + lengths * np.uint64(_S))


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
    total = lengths.astype(np.uint64) * np.uint64(_S)
    for rank, words in enumerate(_words(tokens, id_range)):
        total += mix(_polynomials(words, first, last)) * np.uint64(pow(_S, rank, _WORD))
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


def _words(tokens: IntArray, id_range: tuple[int, int] | None) -> list[UInt64Array]:
    """Return `uint64[word]` for each rank of limbs that is not 0 throughout; rank 0 always."""
    if tokens.dtype.itemsize <= 2 and tokens.dtype.kind == "u":
        return [np.ascontiguousarray(tokens.astype(np.uint16, copy=False)).view(np.uint64)]
    low, high = id_range or ((int(tokens.min()), int(tokens.max())) if tokens.size else (0, 0))
    n_ranks = _LIMBS if low < 0 else max(1, -(-high.bit_length() // 16))
    wide = tokens if tokens.dtype.itemsize * 8 >= 16 * n_ranks else tokens.astype(np.int64)
    return [
        (wide >> wide.dtype.type(16 * rank) if rank else wide).astype(np.uint16).view(np.uint64)
        for rank in range(n_ranks)
    ]


def _polynomials(tokens: IntArray | UInt64Array, starts: Int64Array, stops: Int64Array) -> UInt64Array:
    """Return `uint64[run]`, the sum of `t[i] r^i` over each run, counted from its start; 0 for zeros."""
    edges = sorted_distinct(starts, stops)
    before = _sums_before(tokens, edges)
    sums = before[np.searchsorted(edges, stops)] - before[np.searchsorted(edges, starts)]
    return sums * _powers(_INVERSE, starts)


def _sums_before(tokens: IntArray | UInt64Array, edges: Int64Array) -> UInt64Array:
    """Return `uint64[edge]`, the sum of `t[i] r^i` from the first edge to each (rising, distinct)."""
    if edges.size < 2:
        return np.zeros(edges.size, np.uint64)
    low, high = int(edges[0]), int(edges[-1])
    cuts = sorted_distinct(edges, np.arange(low, high, _BLOCK))
    sums = np.zeros(cuts.size, np.uint64)
    table = _table(_R)
    weighted = np.empty(_BLOCK, np.uint64)
    for start in range(low, high, _BLOCK):
        stop = min(start + _BLOCK, high)
        block = weighted[: stop - start]
        np.multiply(tokens[start:stop], table[: stop - start], out=block, dtype=np.uint64, casting="unsafe")
        first, last = np.searchsorted(cuts, (start, stop))
        shift = np.uint64(pow(_R, start, _WORD))
        sums[first + 1 : last + 1] = np.add.reduceat(block, cuts[first:last] - start) * shift
    return np.asarray(np.cumsum(sums)[np.searchsorted(cuts, edges)], np.uint64)


@cache
def _table(base: int) -> UInt64Array:
    """Return `uint64[block]`, the powers of the base from 0."""
    return _running_powers(base, _BLOCK)


def _running_powers(base: int, n: int) -> UInt64Array:
    factors = np.full(n, base, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)


def _powers(base: int, exponents: Int64Array) -> UInt64Array:
    """Return `base ** exponents` modulo 2^64, as the power of a block's start times one inside the block."""
    block, inside = np.divmod(exponents, _BLOCK)
    starts = _running_powers(pow(base, _BLOCK, _WORD), int(block.max(initial=0)) + 1)
    return starts[block] * _table(base)[inside]


def mix(words: UInt64Array) -> UInt64Array:
    """Return the words with every bit spread over all others: the finaliser of splitmix64, a bijection."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
