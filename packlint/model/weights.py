"""Loss weights that are the numbers of their segments."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray
from packlint.model.batch import PackBatch

__all__ = ["numbered_packs"]


def numbered_packs(batch: PackBatch, min_segments: int) -> BoolArray:
    """Return `bool[pack]`, true where every target's weight is the number of its segment, from 0 or from 1.

    Args:
        batch: the packs.
        min_segments: segments with targets that a pack must have.
    """
    numbered = np.zeros(batch.n_packs, np.bool_)
    weights = batch.loss_weight
    if weights is None or weights.size == 0 or not np.any(weights > 1):
        return numbered
    trained = np.bincount(batch.segments.packs[batch.targets_per_segment > 0], minlength=batch.n_packs)
    places = np.flatnonzero(weights)
    pack, segment = batch.packs_of(places), batch.segments_of(places)
    number = batch.segment_numbers[segment] if batch.n_segments else segment
    for base in (0, 1):
        differs = (segment < 0) | (weights[places] != number + base)
        numbered |= np.bincount(pack[differs], minlength=batch.n_packs) == 0
    return np.asarray(numbered & (trained >= min_segments), np.bool_)
