"""Blocks of a block-diagonal causal mask, counted without building the mask.

A kernel that works in square blocks computes every block in which some token of a sample sees another. A
sample that touches k blocks of its pack makes k (k + 1) / 2 of them; samples that meet inside a block share
the one on the diagonal:

    block      0 0 0 0 1 1 1 1 2 2
    sample     a a a b b b b b b c        touched: a 1, b 3, c 1      computed: 1 + 6 + 1 - 2 shared = 6

`BlockMask.sparsity` in `torch/nn/attention/flex_attention.py` (pytorch/pytorch) counts alike.
"""

from __future__ import annotations

import numpy as np

from packlint.model.batch import PackBatch
from packlint.model.recorded import sound_segments

__all__ = ["count_blocks"]


def count_blocks(batch: PackBatch, block_tokens: int, min_pack_blocks: int = 1) -> dict[str, int]:
    """Return exact sums over the packs of a batch, those with a malformed record left out.

    Args:
        batch: the packs.
        block_tokens: rows and columns of a block.
        min_pack_blocks: blocks per row of a pack from which it is counted.

    Returns:
        `blocks`: computed for the samples; `square_blocks`: of the whole masks; `pairs`: (query, key) pairs
        that samples need; `segments`; `packs` that hold one.
    """
    n_rows = -(-batch.pack_lengths // block_tokens)
    kept = sound_segments(batch) & (n_rows >= min_pack_blocks)[batch.segments.packs]
    starts, stops, packs = (getattr(batch.segments, name)[kept] for name in ("starts", "stops", "packs"))
    base = batch.pack_offsets[packs]
    first, last = (starts - base) // block_tokens, (stops - base - 1) // block_tokens
    touched, lengths = last - first + 1, stops - starts
    follows = packs[1:] == packs[:-1]
    n_shared = np.count_nonzero(follows & (first[1:] == last[:-1]))
    n_rows = n_rows[packs[np.append(True, ~follows)[: packs.size]]]
    return {
        "blocks": int((touched * (touched + 1) // 2).sum()) - int(n_shared),
        "square_blocks": int((n_rows * n_rows).sum()),
        "pairs": int((lengths * (lengths + 1) // 2).sum()),
        "segments": int(starts.size),
        "packs": int(n_rows.size),
    }
