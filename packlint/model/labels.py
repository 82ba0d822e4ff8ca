"""Stored label ids against the tokens: which differ, and at which offset they match.

tokens          a  b  c  d  e
stored labels   b  c  d  e  -      offset +1: the label stored at *i* is the token at *i + 1*
label_ids       -  b  c  d  e      as the reader has moved them: no mismatch
"""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.model.contract import LabelAlignment

__all__ = [
    "IGNORE_INDEX",
    "MIN_LABELS",
    "MIN_MATCHED_FRACTION",
    "OFFSETS",
    "count_matches",
    "matches",
    "mismatches",
    "offset_of",
    "shifted_packs",
    "stored_alignment",
]

OFFSETS = (-1, 0, 1, 2)
"""Places, relative to where a label is stored, at which its token is looked for."""

MIN_LABELS = 3
"""Labels that a pack needs to be judged by itself."""
MIN_MATCHED_FRACTION = 0.5
"""Fraction of a pack's labels that match at the offset where they were stored for."""

IGNORE_INDEX = -100
"""Label that asks for nothing; the default of `torch.nn.CrossEntropyLoss(ignore_index=-100)`."""


def offset_of(alignment: LabelAlignment) -> int:
    """Return the offset of `OFFSETS` at which labels of this alignment match."""
    return 1 if alignment is LabelAlignment.PRESHIFTED else 0


def stored_alignment(batch: PackBatch) -> LabelAlignment:
    """Return the alignment by which the reader has moved the labels."""
    known = batch.spec.label_alignment
    return LabelAlignment.UNSHIFTED if known is None else known.value


def mismatches(batch: PackBatch) -> Int64Array:
    """Return the flat places of targets whose label id is another than their token's."""
    places = batch.label_mismatches
    return places if places.size == 0 else places[~_is_ignored(batch, places)]


def matches(batch: PackBatch, places: Int64Array) -> BoolArray:
    """Return `bool[offset, place]`, whether the label of a target equals the token at each of `OFFSETS`."""
    assert batch.label_ids is not None
    stored = places - offset_of(stored_alignment(batch))
    packs = batch.packs_of(places)
    begin, end = batch.pack_offsets[packs], batch.pack_offsets[packs + 1]
    there = stored + np.array(OFFSETS)[:, None]
    inside = (there >= begin) & (there < end)
    equal = batch.tokens[np.where(inside, there, 0)] == batch.label_ids[places]
    return np.asarray(inside & equal, np.bool_)


def count_matches(batch: PackBatch, packs: BoolArray) -> tuple[Int64Array, Int64Array]:
    """Return `int64[pack]` labels, and `int64[offset, pack]` those equal to the token at each offset.

    Args:
        batch: packs with label ids.
        packs: `bool[pack]`, which to count; all others count 0.
    """
    places = np.empty(0, np.int64)
    if batch.is_target is not None and packs.any():
        places = np.flatnonzero(batch.is_target & np.repeat(packs, batch.pack_lengths))
        places = places[~_is_ignored(batch, places)]
    pack = batch.packs_of(places)
    equal = [np.bincount(pack[row], minlength=batch.n_packs) for row in matches(batch, places)]
    return np.bincount(pack, minlength=batch.n_packs), np.array(equal)


def shifted_packs(
    batch: PackBatch,
    expected: LabelAlignment,
    min_labels: int = MIN_LABELS,
    min_matched_fraction: float = MIN_MATCHED_FRACTION,
) -> BoolArray:
    """Return `bool[pack]`, true where labels match the tokens at another offset than the expected one.

    Args:
        batch: packs with label ids.
        expected: the alignment that the trainer takes for granted.
        min_labels: labels that a pack must have to be judged.
        min_matched_fraction: fraction of a pack's labels that must match at an offset.
    """
    wrong = mismatches(batch)
    if expected is stored_alignment(batch):
        n_wrong = np.bincount(batch.packs_of(wrong), minlength=batch.n_packs)
        n_live = batch.targets.count_within(batch.pack_offsets[:-1], batch.pack_offsets[1:])
        packs = n_wrong > (1 - min_matched_fraction) * n_live
    else:
        packs = np.ones(batch.n_packs, np.bool_)
    if not packs.any():
        return packs
    n_labels, equal = count_matches(batch, packs)
    best, wanted = equal.max(axis=0), min_matched_fraction * n_labels
    right = equal[OFFSETS.index(offset_of(expected))]
    enough = n_labels >= max(min_labels, 1)
    return np.asarray(enough & (right < wanted) & (best >= wanted), np.bool_)


def _is_ignored(batch: PackBatch, places: Int64Array) -> BoolArray:
    assert batch.label_ids is not None
    ignore = batch.spec.ignore_index
    return np.asarray(batch.label_ids[places] == (IGNORE_INDEX if ignore is None else ignore.value), np.bool_)
