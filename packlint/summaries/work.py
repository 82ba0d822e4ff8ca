"""Attention work of every pack with its place, to see how it falls on the ranks of a step.

    packs in stored order      0  1  2  3 | 4  5  6  7        2 ranks of 2 packs
    rank                       0  0  1  1 | 0  0  1  1        contiguous
    rank                       0  1  0  1 | 0  1  0  1        strided

All ranks of a step wait for the slowest: of what they could have done, `1 - mean / max` is idle.

Source: balance ratios ABR and DBR of Hierarchical Balance Packing (arXiv:2503.07680).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import Int64Array

__all__ = ["PackWork", "idle_fraction"]

_ROW = np.dtype([("shard", np.uint32), ("tokens", np.uint32), ("pack", np.uint64), ("work", np.uint64)])


@dataclass(slots=True)
class PackWork:
    """Collect work and place of packs; the order in which they come does not matter.

    Args:
        chunks: structured arrays `shard, tokens, pack, work`.
    """

    chunks: list[NDArray[Any]] = field(default_factory=list)

    def add(self, shard: int, packs: Int64Array, tokens: Int64Array, work: Int64Array) -> None:
        """Add the packs of one batch, in place.

        Args:
            shard: index of their shard.
            packs: `int64[pack]`, their numbers in the shard.
            tokens: `int64[pack]`, tokens of samples.
            work: `int64[pack]`, sum of the squares of the lengths of its samples.
        """
        if packs.size == 0:
            return
        rows = np.empty(packs.size, _ROW)
        rows["shard"], rows["pack"], rows["tokens"], rows["work"] = shard, packs, tokens, work
        self.chunks.append(rows)

    def merge(self, other: PackWork) -> PackWork:
        """Return the packs of both."""
        return PackWork([*self.chunks, *other.chunks])

    def in_order(self) -> tuple[Int64Array, Int64Array]:
        """Return `int64[pack]` of work and of tokens, by shard and then by number."""
        rows = np.concatenate(self.chunks) if self.chunks else np.empty(0, _ROW)
        rows = rows[np.lexsort((rows["pack"], rows["shard"]))]
        return rows["work"].astype(np.int64), rows["tokens"].astype(np.int64)


def idle_fraction(amounts: Int64Array, n_ranks: int, packs_per_rank: int, *, strided: bool) -> float:
    """Return the mean over steps of the share of time in which ranks wait; 0 without a whole step.

    Args:
        amounts: `int64[pack]`, in the order in which the trainer reads them.
        n_ranks: ranks that share a step.
        packs_per_rank: packs of each in a step.
        strided: rank r takes packs r, r + n_ranks … of a step, instead of a stretch.
    """
    per_step = n_ranks * packs_per_rank
    n_steps = amounts.size // per_step
    if n_steps <= 0:
        return 0.0
    shape = (n_steps, packs_per_rank, n_ranks) if strided else (n_steps, n_ranks, packs_per_rank)
    ranks = amounts[: n_steps * per_step].reshape(shape).sum(axis=1 if strided else 2)
    slowest = ranks.max(axis=1)
    busy = ranks.sum(axis=1) / np.maximum(slowest * n_ranks, 1)
    return float(np.mean(np.where(slowest > 0, 1 - busy, 0.0)))
