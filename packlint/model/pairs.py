"""Chosen and rejected answers to one prompt, side by side in a pack."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch

__all__ = ["prompt_lengths", "shares_prompt"]


def prompt_lengths(batch: PackBatch) -> Int64Array:
    """Return `int64[segment]`, tokens before the first target of each segment; -1 where it has none."""
    segments, targets = batch.segments, batch.targets
    if len(targets) == 0:
        return np.full(len(segments), -1, np.int64)
    run = np.searchsorted(targets.stops, segments.starts, side="right")
    first = np.maximum(targets.starts[np.minimum(run, len(targets) - 1)], segments.starts)
    has_one = (run < len(targets)) & (first < segments.stops)
    return np.where(has_one, first - segments.starts, -1)


def shares_prompt(batch: PackBatch, prompts: Int64Array, min_tokens: int) -> BoolArray:
    """Return `bool[segment]`, whether the segment before it in its pack has the same masked prompt.

    Args:
        batch: the packs.
        prompts: `int64[segment]`, as `prompt_lengths` gives them.
        min_tokens: tokens of a prompt; below, nothing is masked.
    """
    alike = batch.segment_numbers > 0
    alike[1:] &= (prompts[1:] == prompts[:-1]) & (prompts[1:] >= min_tokens)
    at = np.flatnonzero(alike)
    alike[at] = _equal_prompts(batch, at - 1, at, prompts[at])
    return alike


def _equal_prompts(batch: PackBatch, one: Int64Array, other: Int64Array, lengths: Int64Array) -> BoolArray:
    """Tell for pairs of segments whether their first tokens are the same.

    Args:
        batch: the packs.
        one: `int64[pair]`, segments.
        other: `int64[pair]`, segments.
        lengths: `int64[pair]`, tokens to compare; at least one.
    """
    if one.size == 0:
        return np.zeros(0, np.bool_)
    offsets = np.cumsum(lengths) - lengths
    within = np.arange(int(lengths.sum())) - np.repeat(offsets, lengths)
    starts = batch.segments.starts
    differs = (
        batch.tokens[np.repeat(starts[one], lengths) + within]
        != batch.tokens[np.repeat(starts[other], lengths) + within]
    )
    return np.asarray(np.add.reduceat(differs, offsets) == 0, np.bool_)
