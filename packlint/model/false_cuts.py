"""Where a scan for the end token would cut a sample that the record keeps whole."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, are_among, empty_int64, sorted_distinct
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source
from packlint.model.recorded import flat_places, malformed_packs, real_cuts, real_places

__all__ = ["false_scan_cuts", "makes_scan"]

_SCAN = BoundarySource.BOUNDARY_TOKENS


def makes_scan(batch: PackBatch) -> bool:
    """Tell whether the trainer looks for end tokens although an explicit record is stored."""
    contract, true = batch.shard.contract, batch.segment_source
    if contract is None or not contract.scans_for_end_token or true is None or not true.is_explicit:
        return False
    reads_record = _SCAN in contract.isolates_by and deciding_source(batch) is not _SCAN
    return _SCAN in batch.boundaries and not reads_record


def false_scan_cuts(batch: PackBatch, max_separator_tokens: int) -> Int64Array:
    """Return the flat places at which the scan begins a document in the midst of a recorded sample.

    Separators between the last end token and the recorded boundary belong to the sample, and a second end
    token right behind the first begins no document.

    Args:
        batch: the packs.
        max_separator_tokens: how many such separators may stand there.
    """
    true = batch.segment_source
    if true is None or not makes_scan(batch):
        return empty_int64()
    cuts, recorded = real_cuts(batch, _SCAN), real_cuts(batch, true)
    if np.array_equal(cuts, recorded):
        return empty_int64()
    edges = sorted_distinct(recorded, real_places(batch, batch.pack_offsets))
    following = edges[np.searchsorted(edges, cuts)]
    cuts, following = cuts[following > cuts], following[following > cuts]
    places, lasts = flat_places(batch, cuts), flat_places(batch, following - 1)
    false = (following - cuts > max_separator_tokens) | _are_ends(batch, lasts)
    false &= ~_are_ends(batch, places)
    false &= ~malformed_packs(batch, [true])[batch.packs_of(places)]
    return places[false]


def _are_ends(batch: PackBatch, places: Int64Array) -> BoolArray:
    return are_among(batch.tokens[places].astype(np.int64), np.array(sorted(batch.spec.end_ids), np.int64))
