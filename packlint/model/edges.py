"""How segments begin and end: cut or whole, opened and closed by a special token or not.

tokens      1 11 12  2 | 1 21 22 | 13 14  2  ·          begin id 1, end id 2
opened      yes          yes       no                   begin id, or an end id that marks starts, comes first
closed      yes          no        yes                  end id comes last, separators of a template aside
"""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.model.batch import PackBatch, PaddingEvidence, Unit
from packlint.model.constant_runs import are_constant
from packlint.model.contract import CutPolicy
from packlint.model.spans import Spans
from packlint.model.spec import Origin

__all__ = [
    "at_pack_end",
    "at_pack_start",
    "begins_with_end",
    "closed",
    "doubled",
    "ends_are_sure",
    "fillers",
    "follows_another",
    "fragment_starts",
    "fragment_stops",
    "is_recorded",
    "open_boundaries",
    "opened",
    "truncated",
    "unfinished",
]


def at_pack_start(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, true where the segment begins with its pack."""
    return np.asarray(batch.segments.starts == batch.pack_offsets[batch.segments.packs], np.bool_)


def at_pack_end(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, true where the segment ends with its pack, no padding after it."""
    return np.asarray(batch.segments.stops == batch.pack_offsets[batch.segments.packs + 1], np.bool_)


def follows_another(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, true where another segment of the pack ends just before it.

    The sides of a pair follow none: each is a sequence of its own.
    """
    segments = batch.segments
    follows = np.zeros(len(segments), np.bool_)
    if batch.shard.unit is Unit.PAIR:
        return follows
    follows[1:] = segments.starts[1:] == segments.stops[:-1]
    return follows & ~at_pack_start(batch)


def fragment_starts(batch: PackBatch, *, if_unknown: bool) -> BoolArray:
    """Return `bool[segment]`, true where the sample's head may lie in another pack, as the trainer cuts.

    Packers that count positions on through a cut sample (torchtune) tell by the position at the pack's start.

    Args:
        batch: the packs.
        if_unknown: what to take for granted at a pack's start when no trainer is known.
    """
    contract = batch.shard.contract
    starts = at_pack_start(batch) & _may_cut(batch, if_unknown)
    if contract is None or contract.cut_policy is not CutPolicy.WHOLE:
        return starts
    if batch.position_ids is None:
        return np.zeros(batch.n_segments, np.bool_)
    return np.asarray(starts & (batch.position_ids[batch.segments.starts] != 0), np.bool_)


def fragment_stops(batch: PackBatch, *, if_unknown: bool) -> BoolArray:
    """Return `bool[segment]`, true where the sample's tail may lie in another pack, as the trainer cuts.

    Args:
        batch: the packs.
        if_unknown: what to take for granted at a pack's end when no trainer is known.
    """
    return at_pack_end(batch) & _may_cut(batch, if_unknown)


def is_recorded(batch: PackBatch) -> bool:
    """Tell whether a producer wrote the segments down, rather than positions or tokens showing them."""
    return batch.segment_source is not None and batch.segment_source.is_explicit


def ends_are_sure(batch: PackBatch) -> bool:
    """Tell whether both the segments and the end ids were told, not inferred."""
    eos = batch.spec.eos_ids
    return is_recorded(batch) and (eos is None or eos.origin is not Origin.DETECTED)


def truncated(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, true where the sample may have lost its end to a limit.

    It fills its pack, or is as long as the longest sample or pack allowed. Documents of a stream are whole.
    """
    if batch.shard.unit is Unit.DOCUMENT:
        return np.zeros(batch.n_segments, np.bool_)
    lengths = batch.segments.lengths
    known = (batch.spec.max_sample_len, batch.spec.max_seq_len)
    limits = [limit.value for limit in known if limit and limit.origin is not Origin.DETECTED]
    full = lengths >= min(limits) if limits else np.zeros(batch.n_segments, np.bool_)
    if batch.shard.unit is Unit.PACK:
        contract = batch.shard.contract
        spare = contract.extra_slots_per_pack + contract.extra_slots_per_segment if contract else 0
        full |= lengths + spare >= batch.pack_lengths[batch.segments.packs]
    return full


def closed(batch: PackBatch, max_separator_tokens: int) -> BoolArray:
    """Return `bool[segment]`, true where the sample ends in an end id.

    Args:
        batch: the packs.
        max_separator_tokens: tokens that may follow it (a template's newline). An end that only a label
            names, outside the pack, counts too.
    """
    segments = batch.segments
    ends = np.zeros(len(segments), np.bool_)
    for back in range(1, max_separator_tokens + 2):
        place = np.maximum(segments.stops - back, segments.starts)
        ends |= _is_any(batch.tokens[place], batch.spec.end_ids)
    outside = batch.outside_targets
    if len(outside):
        ends[outside.segments[_is_any(outside.label_ids, batch.spec.end_ids)]] = True
    return ends


def opened(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, true where the sample begins with the begin id, or an end id used as one."""
    bos = (batch.spec.bos_id.value,) if batch.spec.bos_id else ()
    return _is_any(batch.tokens[batch.segments.starts], bos + batch.spec.end_ids)


def unfinished(batch: PackBatch, *, at_pack_ends: bool) -> BoolArray:
    """Return `bool[segment]`, true where the sample may have lost its end to a cut.

    Args:
        batch: the packs.
        at_pack_ends: mistrust all segments that end with their pack, as where nothing tells padding.
    """
    cut = fragment_stops(batch, if_unknown=True) | truncated(batch)
    if batch.shard.unit is Unit.PACK and (at_pack_ends or batch.padding_evidence is PaddingEvidence.UNKNOWN):
        cut |= at_pack_end(batch)
    return cut


def begins_with_end(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, true where an end id begins the sample because no other id does (llm.c)."""
    bos = batch.spec.bos_id
    if bos is not None and bos.value not in batch.spec.end_ids:
        return np.zeros(batch.n_segments, np.bool_)
    return _is_any(batch.tokens[batch.segments.starts], batch.spec.end_ids)


def fillers(batch: PackBatch) -> BoolArray:
    """Return `bool[segment]`, true for segments of packs that are one repeated id: unmarked padding."""
    if batch.shard.unit is not Unit.PACK:
        return np.zeros(batch.n_segments, np.bool_)
    starts, stops = batch.segments.starts, batch.segments.stops
    return are_constant(batch.tokens, starts, stops) & (stops > starts)


def open_boundaries(batch: PackBatch, max_separator_tokens: int) -> BoolArray:
    """Return `bool[segment]`, true where no token parts the sample from the next one.

    In packs the next one is the neighbour. Where rows are samples or documents that the trainer joins, each
    has to bring its own token: an end id at its end, or a begin id at its start.
    """
    ends, begins = closed(batch, max_separator_tokens), opened(batch)
    if batch.shard.unit is not Unit.PACK:
        return ~(ends | begins | truncated(batch))
    parts = np.zeros(len(ends), np.bool_)
    parts[:-1] = follows_another(batch)[1:] & ~begins[1:] & ~ends[:-1]
    if parts.any():
        filler = fillers(batch)
        parts[:-1] &= ~(filler[1:] | filler[:-1])
    return parts


def doubled(batch: PackBatch, places: Int64Array, gap_ids: tuple[int, ...], *, by_pack: bool) -> Spans:
    """Return runs of one id that stands twice or more in a row.

    Args:
        batch: the packs.
        places: `int64[place]`, rising, where the ids stand.
        gap_ids: ids that may stand between (white space).
        by_pack: compare within packs, not within segments.
    """
    if places.size < 2:
        return Spans.empty()
    between = np.diff(places) - 1
    near = between == 0
    if gap_ids:
        gaps = batch.places_of(*gap_ids)
        n_gaps = np.searchsorted(gaps, places[1:]) - np.searchsorted(gaps, places[:-1])
        near = n_gaps == between
    if not near.any():
        return Spans.empty()
    owner = batch.packs_of(places) if by_pack else batch.segments_of(places)
    near &= (owner[1:] == owner[:-1]) & (owner[1:] >= 0)
    near &= batch.tokens[places[1:]] == batch.tokens[places[:-1]]
    runs = Spans.from_mask(near)
    return Spans(places[runs.starts], places[runs.stops] + 1)


def _may_cut(batch: PackBatch, if_unknown: bool) -> bool:
    contract = batch.shard.contract
    if batch.shard.unit is not Unit.PACK:
        return False
    if contract is None:
        return if_unknown
    return contract.cut_policy is not CutPolicy.WHOLE or contract.positions_continue


def _is_any(values: IntArray, ids: tuple[int, ...]) -> BoolArray:
    found = np.zeros(values.shape, np.bool_)
    for one in ids:
        found |= values == one
    return found
