"""What each category of the reference has become: samples, tokens and targets in the packs, exactly.

A scan knows the sample of whole segments only; here pieces count too, and a sample that was cut counts once.
"""

from __future__ import annotations

import numpy as np

from packlint.matching.accounts import Traced
from packlint.matching.cover import sum_by
from packlint.model.arrays import Int64Array
from packlint.summaries.matches import PlacedSegments
from packlint.summaries.reconciliation import Reconciliation
from packlint.summaries.shares import PACK_UNIT, CategoryShares

__all__ = ["packed_shares"]


def packed_shares(found: Reconciliation, traced: Traced) -> dict[str, CategoryShares]:
    """Return the figures of every metadata column of the reference, by column."""
    samples = found.samples
    repeats = np.where(found.copies > 0, found.copies, found.covered > 0)
    present = np.repeat(np.arange(len(samples)), repeats)
    each = np.maximum(repeats, 1)
    n_tokens = _split(found.packed_tokens, each, present)
    loss: tuple[Int64Array, ...] = ()
    if found.has_packed_targets:
        shares = _pack_shares(found, traced)
        loss = _split(found.packed_targets, each, present), _split(shares, each, present)
    return {
        name: CategoryShares.of(column.take(present), n_tokens, *loss)
        for name, column in samples.metadata.items()
    }


def _split(totals: Int64Array, parts: Int64Array, present: Int64Array) -> Int64Array:
    """Divide each sample's total among its copies; what does not divide goes to the first."""
    shares = (totals // parts)[present]
    is_first = np.ones(present.size, np.bool_)
    is_first[1:] = present[1:] != present[:-1]
    shares[is_first] += (totals % parts)[present[is_first]]
    return shares


def _pack_shares(found: Reconciliation, traced: Traced) -> Int64Array:
    """Return `int64[sample]`, its part of the targets of each pack, in units of `1 / PACK_UNIT` of a pack."""
    segments, pieces, n = found.segments, traced.pieces, len(found.samples)
    n_in_pack = np.maximum(_targets_of_packs(segments), 1)
    is_copy = np.flatnonzero(traced.copies >= 0)
    whole = segments.targets[is_copy].astype(np.int64) * PACK_UNIT // n_in_pack[is_copy]
    parts = pieces.targets * PACK_UNIT // n_in_pack[pieces.segments]
    return sum_by(traced.copies[is_copy], whole, n) + sum_by(pieces.samples, parts, n)


def _targets_of_packs(segments: PlacedSegments) -> Int64Array:
    """Return `int64[segment]`, targets of the pack that it lies in; segments are sorted by pack."""
    if len(segments) == 0:
        return np.zeros(0, np.int64)
    is_new = np.ones(len(segments), np.bool_)
    is_new[1:] = (np.diff(segments.packs) != 0) | (np.diff(segments.shards) != 0)
    first = np.flatnonzero(is_new)
    totals = np.add.reduceat(segments.targets.astype(np.int64), first)
    of_segments: Int64Array = totals[np.cumsum(is_new) - 1]
    return of_segments
