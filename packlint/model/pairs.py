"""Chosen and rejected answers to one prompt, side by side: in a pack, or in the columns of a row."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, places_in
from packlint.model.batch import PackBatch, Unit
from packlint.model.edges import follows_another
from packlint.model.recorded import sound_segments

__all__ = ["bare_pairs", "lone_samples", "prompt_lengths", "shares_prompt"]


def lone_samples(batch: PackBatch, min_prompt_tokens: int) -> Int64Array:
    """Return the segments without partner: the last one of an odd row of neighbours with equal prompts.

    Of two sides in columns each is the other's partner, whatever its labels, if it is there and the prompts
    are equal; a side without targets passes for one.

    Args:
        batch: the packs, or the rows of pairs.
        min_prompt_tokens: tokens before the first target, below which the prompt of a packed sample is not
            masked; one of a pair in columns is, however short.
    """
    is_pair, contract = batch.shard.unit is Unit.PAIR, batch.shard.contract
    prompts = prompt_lengths(batch)
    unknown = (prompts < 0) | ~sound_segments(batch)
    least = min(min_prompt_tokens, 1) if is_pair else min_prompt_tokens
    slack = contract.prompt_slack_tokens if contract else 0
    follows = batch.segment_numbers > 0 if is_pair else follows_another(batch)
    if not batch.shard.shares_prompts:
        follows &= unknown | np.append(True, unknown[:-1])
        follows |= shares_prompt(batch, prompts, least, slack)
    heads = np.flatnonzero(~follows)
    sizes = np.diff(np.append(heads, batch.n_segments))
    alone = (heads + sizes - 1)[sizes % 2 == 1]
    is_sure = ~unknown[alone]
    if is_pair:
        is_sure |= np.diff(batch.segment_first_in_pack)[batch.segments.packs[alone]] == 1
    return np.asarray(alone[is_sure], np.int64)


def bare_pairs(batch: PackBatch) -> Int64Array:
    """Return the rows of pairs of which both sides are missing."""
    if batch.shard.unit is not Unit.PAIR:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.diff(batch.segment_first_in_pack) == 0)


def prompt_lengths(batch: PackBatch) -> Int64Array:
    """Return `int64[segment]`, tokens before its first target; -1 where it has none, or no loss is stored."""
    segments, targets = batch.segments, batch.targets
    if len(targets) == 0 or batch.loss_weight is None:
        return np.full(len(segments), -1, np.int64)
    run = np.searchsorted(targets.stops, segments.starts, side="right")
    first = np.maximum(targets.starts[np.minimum(run, len(targets) - 1)], segments.starts)
    has_one = (run < len(targets)) & (first < segments.stops)
    return np.where(has_one, first - segments.starts, -1)


def shares_prompt(batch: PackBatch, prompts: Int64Array, min_tokens: int, slack_tokens: int = 0) -> BoolArray:
    """Return `bool[segment]`, whether the segment before it in its pack has the same masked prompt.

    Args:
        batch: the packs.
        prompts: `int64[segment]`, as `prompt_lengths` gives them.
        min_tokens: tokens of a prompt; below, nothing is masked.
        slack_tokens: tokens at their ends in which two prompts of one pair may differ.
    """
    alike = batch.segment_numbers > 0
    alike[1:] &= np.abs(prompts[1:] - prompts[:-1]) <= slack_tokens
    shorter = prompts.copy()
    shorter[1:] = np.minimum(prompts[1:], prompts[:-1])
    alike &= shorter >= min_tokens
    at = np.flatnonzero(alike)
    alike[at] = _equal_prompts(batch, at - 1, at, np.maximum(shorter[at] - slack_tokens, 0))
    return alike


def _equal_prompts(batch: PackBatch, one: Int64Array, other: Int64Array, lengths: Int64Array) -> BoolArray:
    """Tell for pairs of segments whether their first tokens are the same.

    Args:
        batch: the packs.
        one: `int64[pair]`, segments.
        other: `int64[pair]`, segments.
        lengths: `int64[pair]`, tokens to compare.
    """
    equal = np.ones(one.size, np.bool_)
    compared = np.flatnonzero(lengths)
    if compared.size == 0:
        return equal
    one, other, lengths = one[compared], other[compared], lengths[compared]
    starts = batch.segments.starts
    mine, offsets = places_in(starts[one], starts[one] + lengths)
    theirs, _ = places_in(starts[other], starts[other] + lengths)
    differs = batch.tokens[mine] != batch.tokens[theirs]
    equal[compared] = np.add.reduceat(differs, offsets) == 0
    return equal
