"""How often each id occurs, in time that does not depend on the vocabulary.

Ids are counted in small blocks straight into one array: neither a copy of the tokens nor, for each block, an
array as long as the vocabulary is made. Ids that no vocabulary has are counted together, so that one absurd
id cannot ask for memory.

Stretches of 64 rows go to two halves in turn. How much the halves differ is how much the data differs from
itself: words come in bursts, which no formula for independent tokens knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.model.arrays import Int64Array, IntArray, places_in
from packlint.model.batch import PackBatch
from packlint.summaries.plain import MAX_COUNT, Plain

__all__ = ["MAX_IDS", "TokenCounts"]

MAX_IDS = 1 << 21
"""Ids from here on, and negative ones, are counted together; the largest vocabularies have 2**18."""

_BLOCK_TOKENS = 1 << 14
_ROW_BITS = 6


def _no_tokens() -> Int64Array:
    return np.zeros((2, 0), np.int64)


@dataclass(slots=True, eq=False)
class TokenCounts:
    """Count tokens by id.

    Args:
        halves: `int64[half, id]`, the last id not 0 in both.
        n_foreign: tokens whose id is negative or not below `MAX_IDS`.
    """

    halves: Int64Array = field(default_factory=_no_tokens)
    n_foreign: int = 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenCounts):
            return NotImplemented
        return self.n_foreign == other.n_foreign and np.array_equal(self.halves, other.halves)

    def add(self, batch: PackBatch) -> None:
        """Count the tokens of a batch that are not padding, in place."""
        low, high = batch.token_range
        if high < low:
            return
        halves = _widened(self.halves, max(min(high + 1, MAX_IDS), 0))
        is_plain = low >= 0 and high < MAX_IDS
        places, _ = places_in(batch.padding.starts, batch.padding.stops)
        for half, start, stop in _stretches(batch):
            counts = halves[half]
            for first in range(start, stop, _BLOCK_TOKENS):
                tokens = batch.tokens[first : min(first + _BLOCK_TOKENS, stop)]
                self.n_foreign += _count(counts, tokens, 1, is_plain)
            padding = places[np.searchsorted(places, start) : np.searchsorted(places, stop)]
            self.n_foreign += _count(counts, batch.tokens[padding], -1, is_plain)
        self.halves = _trimmed(halves)

    def merge(self, other: TokenCounts) -> TokenCounts:
        """Return the counts of both."""
        width = max(self.halves.shape[1], other.halves.shape[1])
        total = _widened(self.halves, width) + _widened(other.halves, width)
        return TokenCounts(total, self.n_foreign + other.n_foreign)

    @property
    def counts(self) -> Int64Array:
        """`int64[id]`, tokens of both halves."""
        return np.asarray(self.halves.sum(axis=0), np.int64)

    @property
    def total(self) -> int:
        """Tokens of all ids."""
        return int(self.halves.sum()) + self.n_foreign

    def fraction_above(self, limit: int) -> float:
        """Return the share of tokens whose id is above `limit`."""
        counts = self.counts
        return float(counts[limit + 1 :].sum() / max(counts.sum(), 1))

    def of(self, token_id: int) -> int:
        """Return how often an id occurs."""
        return int(self.halves[:, token_id].sum()) if 0 <= token_id < self.halves.shape[1] else 0

    def to_plain(self) -> dict[str, Any]:
        """Return plain data: for each half the steps between the ids that occur, and their counts."""
        halves = []
        for counts in self.halves:
            ids = np.flatnonzero(counts)
            halves.append({"steps": np.diff(ids, prepend=0).tolist(), "counts": counts[ids].tolist()})
        return {"halves": halves, "n_foreign": self.n_foreign}

    @classmethod
    def from_plain(cls, plain: Plain) -> TokenCounts:
        """Return what `to_plain` wrote.

        Raises:
            UsageError: it is none.
        """
        table = plain.table("halves", "n_foreign")
        entries = table["halves"].items()
        if len(entries) != 2:
            raise table["halves"].fault("two halves")
        found = [entry.steps_and_counts(MAX_IDS - 1) for entry in entries]
        halves = np.zeros((2, max((ids[-1] + 1 for ids, _ in found if ids), default=0)), np.int64)
        for half, (ids, counts) in zip(halves, found, strict=True):
            half[ids] = counts
        return cls(halves, table["n_foreign"].count(MAX_COUNT))


def _stretches(batch: PackBatch) -> Iterator[tuple[int, int, int]]:
    """Yield half, first and last place of the stretches of rows that lie in one half."""
    half = (batch.pack_numbers >> _ROW_BITS) & 1
    edges = np.flatnonzero(half[1:] != half[:-1]) + 1
    edges = np.concatenate([[0], edges, [batch.n_packs]])
    places = batch.pack_offsets[edges].tolist()
    yield from zip(half[edges[:-1]].tolist(), places[:-1], places[1:], strict=True)


def _count(counts: Int64Array, tokens: IntArray, sign: int, is_plain: bool) -> int:
    """Count tokens, in place, and return how many of them are foreign."""
    n_foreign = 0
    if not is_plain:
        is_known = (tokens >= 0) & (tokens < MAX_IDS)
        n_foreign = sign * int(np.count_nonzero(~is_known))
        tokens = tokens[is_known]
    np.add.at(counts, tokens.astype(np.intp), sign)
    return n_foreign


def _widened(halves: Int64Array, width: int) -> Int64Array:
    """Return a copy of at least `width` ids."""
    wide = np.zeros((2, max(width, halves.shape[1])), np.int64)
    wide[:, : halves.shape[1]] = halves
    return wide


def _trimmed(halves: Int64Array) -> Int64Array:
    used = np.flatnonzero(halves.any(axis=0))
    return halves[:, : used[-1] + 1 if used.size else 0]
