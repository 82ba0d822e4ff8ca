"""Short texts that stand between samples all the same: what a packer put there, though nobody declared it.

Where segments are recorded such ids show at their ends (`specials.py`). In streams without boundaries they
show only here, once the samples on both sides are known.
"""

from __future__ import annotations

import numpy as np

from packlint.matching.pieces import Leftovers, Pieces
from packlint.model.arrays import BoolArray
from packlint.summaries.samples import Samples

__all__ = ["find_separators"]

_MAX_TOKENS = 4
_MIN_PLACES = 8
_USUAL = 0.9
"""Share of the places between samples at which one text stands, from which the packer put it there."""


def find_separators(samples: Samples, pieces: Pieces, leftovers: Leftovers) -> BoolArray:
    """Return `bool[leftover]`, true for what a packer put between samples.

    Args:
        samples: the reference.
        pieces: what was led back to samples, sorted by segment and place.
        leftovers: what was not.
    """
    between = np.flatnonzero((leftovers.lengths <= _MAX_TOKENS) & _are_between(samples, pieces, leftovers))
    found = np.zeros(len(leftovers), np.bool_)
    if between.size < _MIN_PLACES:
        return found
    _, text, counts = np.unique(leftovers.first[between], return_inverse=True, return_counts=True)
    usual = int(np.argmax(counts))
    if counts[usual] >= _USUAL * between.size:
        found[between[text == usual]] = True
    return found


def _are_between(samples: Samples, pieces: Pieces, leftovers: Leftovers) -> BoolArray:
    """Return `bool[leftover]`, true where the piece before ends its sample, or the one after begins one."""
    if len(pieces) == 0 or len(leftovers) == 0:
        return np.zeros(len(leftovers), np.bool_)
    head = samples.heads[pieces.samples]
    ends = pieces.ends >= head + samples.n_tokens[pieces.samples]
    begins = pieces.offsets <= head
    width = int(max((pieces.starts + pieces.lengths).max(), (leftovers.starts + leftovers.lengths).max())) + 1
    base, at = pieces.segments * width, leftovers.segments * width + leftovers.starts
    before = np.searchsorted(base + pieces.starts, at) - 1
    after = np.minimum(before + 1, len(pieces) - 1)
    touches = (before >= 0) & ((base + pieces.stops)[np.maximum(before, 0)] == at)
    follows = (base + pieces.starts)[after] == at + leftovers.lengths
    return np.asarray((touches & ends[np.maximum(before, 0)]) | (follows & begins[after]), np.bool_)
