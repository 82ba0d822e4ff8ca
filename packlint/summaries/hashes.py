"""Position-independent hashes of token runs: equal runs hash alike wherever they lie.

The hash of a run is a polynomial in its ids, mixed with its length; see `polynomials.py`. One pass over the
tokens serves any number of runs.

The hashes are fast and not cryptographic: texts can be built that collide, so they must not guard against
malice. Chance collisions of `n` different runs: about `n^2 / 2^65`, of both halves `n^2 / 2^129`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import Int64Array, IntArray
from packlint.model.batch import PackBatch
from packlint.summaries.polynomials import (
    BASES,
    UInt64Array,
    hashes_of_values,
    mix,
    values_of_runs,
)

__all__ = ["BatchHashes", "UInt64Array", "hash_batch", "hash_runs", "mix", "wide_hash_runs"]


def hash_runs(tokens: IntArray, starts: Int64Array, stops: Int64Array) -> UInt64Array:
    """Return the hash of each run of tokens.

    Args:
        tokens: `int[token]`, in any integer type; the hash depends on the values only.
        starts: `int64[run]`, first token of each run, in any order.
        stops: `int64[run]`, one past its last token; may equal the start.
    """
    [values] = values_of_runs(tokens, starts, stops, BASES[:1])
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
    first, second = values_of_runs(tokens, starts, stops, BASES)
    lengths = stops - starts
    return hashes_of_values(first, lengths), hashes_of_values(second, lengths)


@dataclass(frozen=True, slots=True, eq=False)
class BatchHashes:
    """Hold the hashes of what a batch is made of.

    Args:
        packs: `uint64[pack]`, of all slots of each pack.
        segments: `uint64[segment]`, of each true segment.
    """

    packs: UInt64Array
    segments: UInt64Array


def hash_batch(batch: PackBatch) -> BatchHashes:
    """Return the hashes of a batch, made in one pass and kept with it for all rules that ask."""
    key = "hashes"
    if key not in batch._cache:
        starts = np.concatenate([batch.pack_offsets[:-1], batch.segments.starts])
        stops = np.concatenate([batch.pack_offsets[1:], batch.segments.stops])
        packs, segments = np.split(hash_runs(batch.tokens, starts, stops), [batch.n_packs])
        batch._cache[key] = BatchHashes(packs, segments)
    hashes: BatchHashes = batch._cache[key]
    return hashes
