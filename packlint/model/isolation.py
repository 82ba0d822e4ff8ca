"""What the trainer would let see each other, from what it reads in the shard."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import Int64Array, sorted_distinct
from packlint.model.batch import MaskKind, PackBatch
from packlint.model.boundaries import Boundaries, boundaries_from_starts
from packlint.model.contract import BoundarySource
from packlint.model.recorded import malformed_packs, padding_within
from packlint.model.spans import Spans

__all__ = [
    "deciding_source",
    "effective_segments",
    "is_overridden",
    "padding_in_blocks",
    "unknown_isolation",
]


def deciding_source(batch: PackBatch) -> BoundarySource | None:
    """Return the source from which the trainer builds its mask; none = one causal block per pack."""
    contract = batch.shard.contract
    if contract is None:
        return None
    for source in contract.isolates_by:
        if source is BoundarySource.DENSE_MASK and batch.dense_mask is not None:
            return source
        if source not in batch.boundaries or (source is BoundarySource.POSITION_IDS and is_overridden(batch)):
            continue
        return source
    return None


def is_overridden(batch: PackBatch) -> bool:
    """Tell whether the trainer ignores stored positions, as a mask of zeros and ones stands beside them."""
    contract = batch.shard.contract
    return (
        contract is not None
        and contract.mask_overrides_positions
        and batch.mask_kind is MaskKind.BINARY
        and batch.position_ids is not None
    )


def unknown_isolation(batch: PackBatch) -> str | None:
    """Return why nobody can tell who sees whom: the trainer or we would go by a token that does not say."""
    contract, spec = batch.shard.contract, batch.spec
    if contract is None:
        return None
    source, scan = deciding_source(batch), BoundarySource.BOUNDARY_TOKENS
    if source is None and scan in contract.isolates_by:
        if not contract.scans_for_end_token:
            return f"{contract.name} isolates by tokens that packlint does not scan for"
        if spec.eos_ids is None:
            return f"{contract.name} isolates by end tokens, and none is known; give [spec] eos_ids"
    if batch.segment_source is not scan or source is scan:
        return None
    ends = spec.eos_ids.value if spec.eos_ids else ()
    if spec.end_of_turn_ids is None:
        known = "only end tokens tell where samples begin, and they may close turns too"
        return f"{known}; give [spec] end_of_turn_ids" if batch.policy.requires_isolation else None
    if not set(spec.end_of_turn_ids.value).isdisjoint(ends):
        return "the end token closes turns too, and nothing else tells where samples begin"
    return None


def effective_segments(batch: PackBatch) -> Boundaries:
    """Return the blocks of tokens that the trainer lets see each other."""
    source = deciding_source(batch)
    if source is None or source is BoundarySource.DENSE_MASK:
        return boundaries_from_starts(batch.pack_offsets[:0], batch.pack_offsets)
    return batch.boundaries[source]


def padding_in_blocks(batch: PackBatch) -> tuple[Spans, Int64Array, Int64Array, Int64Array]:
    """Return the runs of padding in those blocks of the trainer's that hold real tokens too.

    With each run come a number for its block, and the real tokens in that block before and after it.
    """
    blocks, real, source = effective_segments(batch), batch.real, deciding_source(batch)
    extents = (blocks.starts, blocks.stops)
    n_padding = batch.padding.count_within(*extents) if source is None else padding_within(batch, source)
    mixed = np.flatnonzero((n_padding > 0) & (n_padding < blocks.stops - blocks.starts))
    mixed = mixed[~malformed_packs(batch, [source])[batch.packs_of(blocks.starts[mixed])]]
    starts, stops = blocks.starts[mixed], blocks.stops[mixed]
    runs = batch.padding.split_at(sorted_distinct(starts, stops))
    kept = Spans(starts, stops).contains(runs.starts)
    runs = Spans(runs.starts[kept], runs.stops[kept])
    block = np.searchsorted(starts, runs.starts, side="right") - 1
    n_before = real.count_within(starts[block], runs.starts)
    return runs, block, n_before, real.count_within(runs.stops, stops[block])
