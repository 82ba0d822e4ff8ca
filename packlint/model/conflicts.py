"""Where two records of boundaries contradict each other, each fault once."""

from __future__ import annotations

from packlint.model.arrays import Int64Array, are_among, empty_int64, sorted_distinct
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.model.recorded import cuts_only_in, flat_places, real_cuts

__all__ = ["compared_records", "conflicts_with"]


def compared_records(batch: PackBatch) -> list[BoundarySource]:
    """Return the records, beside an explicit one of the true segments, that should say the same."""
    true = batch.segment_source
    if true is None or not true.is_explicit or true is BoundarySource.ROWS:
        return []
    return [source for source in batch.boundaries if source not in (true, BoundarySource.ROWS)]


def conflicts_with(batch: PackBatch, other: BoundarySource, slack_tokens: int) -> Int64Array:
    """Return the flat places of boundaries that only one of two records has: the true one, and another.

    Of a scan for end tokens only missing boundaries count; those that it has beyond the record lie inside
    samples, which is a fault of its own.

    Args:
        batch: the packs.
        other: the record to compare with that of the true segments.
        slack_tokens: tokens by which a scan may come before the recorded boundary.
    """
    true = batch.segment_source
    if true is None:
        return empty_int64()
    if other is BoundarySource.BOUNDARY_TOKENS:
        return cuts_only_in(batch, true, other, slack_tokens=slack_tokens)
    by_positions = other is BoundarySource.POSITION_IDS
    lost = _lost_restarts(batch, true) if by_positions else cuts_only_in(batch, true, other)
    return sorted_distinct(lost, cuts_only_in(batch, other, true))


def _lost_restarts(batch: PackBatch, source: BoundarySource) -> Int64Array:
    """Return the flat places of recorded boundaries at which positions run on, in packs where they restart.

    Running positions are a fault of their own in packs where they never restart, and where the policy
    requires isolation also in packs where they restart at recorded boundaries only.
    """
    by_positions = BoundarySource.POSITION_IDS
    lost = cuts_only_in(batch, source, by_positions)
    if lost.size == 0:
        return lost
    isolated = batch.policy.requires_isolation
    stray = cuts_only_in(batch, by_positions, source)
    restarts = stray if isolated else flat_places(batch, real_cuts(batch, by_positions))
    restarted = are_among(batch.packs_of(lost), batch.packs_of(restarts))
    return lost[restarted & ~are_among(lost, batch.position_breaks)]
