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

from packlint.model.arrays import Int64Array, IntArray

__all__ = ["hash_runs"]

UInt64Array = NDArray[np.uint64]

_BLOCK = 1 << 16
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
    ends = np.stack([starts, stops])
    edges, place = np.unique(ends, return_inverse=True)
    before = _sums_before(tokens, edges)[place.reshape(ends.shape)]
    polynomial = (before[1] - before[0]) * _powers(_INVERSE, starts)
    return _mix(polynomial + (stops - starts).astype(np.uint64) * np.uint64(_S))


def _sums_before(tokens: IntArray, edges: Int64Array) -> UInt64Array:
    """Return `uint64[edge]`, the sum of `t[i] * r^i` from the first edge to each, edges rising and distinct."""
    if edges.size < 2:
        return np.zeros(edges.size, np.uint64)
    low, high = int(edges[0]), int(edges[-1])
    cuts = np.union1d(edges, np.arange(low, high, _BLOCK))
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


def _mix(words: UInt64Array) -> UInt64Array:
    """Return the words with every bit spread over all others: the finaliser of splitmix64, a bijection."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
