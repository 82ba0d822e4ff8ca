"""Polynomials in ids, modulo 2^64: what hashes of runs and of windows are made of.

    value of a run = t[0] + t[1] b + t[2] b^2 + ...        b odd, so that it has an inverse
    half of a hash = mix(value + length * s)

Two runs of equal value and length are taken as equal. Ids are weighted by powers that begin again in every
block, so that the table of powers stays in cache; sums between edges are then moved to the run's start by a
power of the inverse.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import Int64Array, IntArray, sorted_distinct

__all__ = [
    "BASES",
    "LENGTH_FACTOR",
    "Prefixes",
    "UInt64Array",
    "hashes_of_values",
    "inverse_powers",
    "mix",
    "powers",
    "unmix",
    "values_of_hashes",
    "values_of_runs",
]

UInt64Array = NDArray[np.uint64]

_BLOCK = 1 << 16
_WORD = 1 << 64
BASES = (0x9E3779B97F4A7C15, 0xBEA225F9EB34556D)
"""Odd constants without structure: the increment of splitmix64 (2^64 divided by the golden ratio), and one of
Stafford's multipliers."""
LENGTH_FACTOR = 0xD1342543DE82EF95
"""An odd constant without structure (Steele and Vigna, arXiv:2001.05304)."""
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def values_of_runs(
    tokens: IntArray, starts: Int64Array, stops: Int64Array, bases: tuple[int, ...]
) -> list[UInt64Array]:
    """Return `uint64[run]` for each base, the values of runs of tokens, in one pass over them.

    Args:
        tokens: `int[token]`, in any integer type.
        starts: `int64[run]`, first token of each run, in any order.
        stops: `int64[run]`, one past its last token; may equal the start.
        bases: the bases.
    """
    edges = sorted_distinct(starts, stops)
    from_start, to_stop = np.searchsorted(edges, starts), np.searchsorted(edges, stops)
    sums = _sums_at(tokens, edges, bases)
    return [
        (before[to_stop] - before[from_start]) * inverse_powers(starts, base)
        for before, base in zip(sums, bases, strict=True)
    ]


def hashes_of_values(values: UInt64Array, lengths: Int64Array) -> UInt64Array:
    """Return a half of the hash of runs of known value, all in the base of that half."""
    return mix(values + lengths.astype(np.uint64) * np.uint64(LENGTH_FACTOR))


def values_of_hashes(hashes: UInt64Array, lengths: Int64Array) -> UInt64Array:
    """Return the values of runs from a half of their hashes: the inverse of `hashes_of_values`."""
    return unmix(hashes) - lengths.astype(np.uint64) * np.uint64(LENGTH_FACTOR)


class Prefixes:
    """Give the value of any run of an array in constant time.

    Args:
        tokens: `int[token]`.
    """

    def __init__(self, tokens: IntArray) -> None:
        self._sums = np.zeros(tokens.size + 1, np.uint64)
        table = _table(BASES[0])
        for start in range(0, tokens.size, _BLOCK):
            block = tokens[start : start + _BLOCK]
            terms = block.astype(np.uint64) * table[: block.size] * np.uint64(pow(BASES[0], start, _WORD))
            self._sums[start + 1 : start + 1 + block.size] = self._sums[start] + np.cumsum(terms)

    @property
    def n_tokens(self) -> int:
        """Tokens of the array."""
        return int(self._sums.size - 1)

    def values(self, starts: Int64Array, lengths: Int64Array) -> UInt64Array:
        """Return `uint64[run]`, the value of each run."""
        return self.moved(starts, lengths, inverse_powers(starts))

    def moved(self, places: Int64Array, reach: Int64Array, scale: UInt64Array) -> UInt64Array:
        """Return `uint64[run]`, values of runs of `reach` tokens from each place, backwards if negative.

        Args:
            places: `int64[run]`.
            reach: `int64[run]`.
            scale: `inverse_powers(places)`.
        """
        return np.asarray((self._sums[places + reach] - self._sums[places]) * scale, np.uint64)

    def windows(self, width: int) -> UInt64Array:
        """Return `uint64[place]`, the value of the window of `width` tokens from every place that has one."""
        n = self.n_tokens - width + 1
        if n <= 0:
            return np.zeros(0, np.uint64)
        values = self._sums[width:] - self._sums[:n]
        table = _table(pow(BASES[0], -1, _WORD))
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            values[start:stop] *= table[: stop - start] * np.uint64(pow(BASES[0], -start, _WORD))
        return values

    def hashed_windows(self, width: int) -> UInt64Array:
        """Return `uint64[place]`, the first half of `wide_hash_runs` of every window."""
        return mix(self.windows(width) + np.uint64(width * LENGTH_FACTOR % _WORD))


def inverse_powers(exponents: Int64Array, base: int = BASES[0]) -> UInt64Array:
    """Return `base ** -exponents` modulo 2^64."""
    return powers(exponents, pow(base, -1, _WORD))


def powers(exponents: Int64Array, base: int) -> UInt64Array:
    """Return `base ** exponents` modulo 2^64, as the power of a block's start times one inside the block."""
    block, inside = np.divmod(exponents, _BLOCK)
    n_blocks = int(block.max(initial=0)) + 1
    starts = _running(pow(base, _BLOCK, _WORD), n_blocks)
    return np.asarray(starts[block] * _table(base)[inside], np.uint64)


def mix(words: UInt64Array) -> UInt64Array:
    """Return the words with every bit spread over all others: the finaliser of splitmix64, a bijection."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(_MIX[0])
    words = (words ^ (words >> np.uint64(27))) * np.uint64(_MIX[1])
    return words ^ (words >> np.uint64(31))


def unmix(words: UInt64Array) -> UInt64Array:
    """Return what `mix` made these words of."""
    words = words ^ (words >> np.uint64(31)) ^ (words >> np.uint64(62))
    words = words * np.uint64(pow(_MIX[1], -1, _WORD))
    words = words ^ (words >> np.uint64(27)) ^ (words >> np.uint64(54))
    words = words * np.uint64(pow(_MIX[0], -1, _WORD))
    return np.asarray(words ^ (words >> np.uint64(30)) ^ (words >> np.uint64(60)), np.uint64)


def _sums_at(tokens: IntArray, edges: Int64Array, bases: tuple[int, ...]) -> list[UInt64Array]:
    """Return `uint64[edge]` for each base, the sum of `t[i] b^i` from the first edge to each.

    Args:
        tokens: `int[token]`.
        edges: `int64[edge]`, rising, distinct.
        bases: the bases; ids are converted once for all.
    """
    if edges.size < 2:
        return [np.zeros(edges.size, np.uint64) for _ in bases]
    low, high = int(edges[0]), int(edges[-1])
    starts = np.arange(low, high, _BLOCK)
    cuts = sorted_distinct(edges, starts)
    first = np.searchsorted(cuts, [*starts, high]).tolist()
    inside = (cuts - low) % _BLOCK
    sums = [np.empty(cuts.size, np.uint64) for _ in bases]
    ids = np.empty(min(_BLOCK, high - low), np.uint64)
    terms = [*(np.empty_like(ids) for _ in bases[1:]), ids]  # the last base may overwrite the ids
    for block, start in enumerate(starts.tolist()):
        n = min(_BLOCK, high - start)
        np.copyto(ids[:n], tokens[start : start + n], casting="unsafe")
        at = slice(first[block], first[block + 1])
        for base, term, total in zip(bases, terms, sums, strict=True):
            np.multiply(ids[:n], _table(base)[:n], out=term[:n])
            np.add.reduceat(term[:n], inside[at], out=total[at])
    block_of = np.repeat(starts, np.diff(first))
    place = np.searchsorted(cuts, edges)
    return [_before(total, powers(block_of, base))[place] for base, total in zip(bases, sums, strict=True)]


def _before(sums: UInt64Array, shifts: UInt64Array) -> UInt64Array:
    """Return `uint64[cut]`, the sum before each cut, of what lies between them, moved to its place."""
    before = np.zeros(sums.size, np.uint64)
    np.cumsum(sums[:-1] * shifts, out=before[1:])
    return before


@cache
def _table(base: int) -> UInt64Array:
    """Return `uint64[block]`, the powers of the base from 0."""
    return _running(base, _BLOCK)


def _running(base: int, n: int) -> UInt64Array:
    factors = np.full(n, base, np.uint64)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint64)
