"""Raw columns → boundaries by source, padding, and the true segments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.model.batch import MaskKind, PaddingEvidence, Segments, Unit
from packlint.model.boundaries import (
    Boundaries,
    boundaries_from_ids,
    boundaries_from_lengths,
    boundaries_from_offsets,
    boundaries_from_starts,
)
from packlint.model.contract import BoundarySource
from packlint.model.spans import Spans
from packlint.readers.reading import Reading
from packlint.readers.shard import PaddingMark, Ragged, Role

__all__ = ["find_padding", "read_boundaries", "true_segments"]

_TRUST = (
    BoundarySource.REFERENCE,
    BoundarySource.SEQ_LENS,
    BoundarySource.CU_SEQLENS,
    BoundarySource.DOCUMENT_INDEX,
    BoundarySource.SEGMENT_IDS,
    BoundarySource.ATTENTION_MASK,
    BoundarySource.SAMPLE_IDS,
    BoundarySource.ROWS,
    BoundarySource.POSITION_IDS,
    BoundarySource.BOUNDARY_TOKENS,
)
"""Evidence for true segments, best first."""


def read_boundaries(
    columns: Mapping[Role, Ragged], offsets: Int64Array, reading: Reading
) -> dict[BoundarySource, Boundaries]:
    """Return every independent record of boundaries in the rows.

    Args:
        columns: raw columns of the rows.
        offsets: `int64[pack + 1]`.
        reading: how the shard is read.
    """
    layout = reading.layout
    found: dict[BoundarySource, Boundaries] = {}
    if lens := columns.get(Role.SEQ_LENS):
        found[BoundarySource.SEQ_LENS] = boundaries_from_lengths(
            _int64(lens), lens.offsets, offsets, cover_padding=layout.lengths_cover_padding
        )
    for role, has_end in ((Role.CU_SEQLENS, layout.offsets_have_end), (Role.SEGMENT_STARTS, False)):
        if cu := columns.get(role):
            found[BoundarySource.CU_SEQLENS] = boundaries_from_offsets(
                _int64(cu), cu.offsets, offsets, has_end=has_end
            )
    if starts := columns.get(Role.DOCUMENT_STARTS):
        found[BoundarySource.DOCUMENT_INDEX] = boundaries_from_offsets(
            _int64(starts), starts.offsets, offsets, has_end=False
        )
    if ids := columns.get(Role.SEGMENT_IDS):
        found[BoundarySource.SEGMENT_IDS] = boundaries_from_ids(ids.values, offsets, layout.nothing)
    if (mask := columns.get(Role.ATTENTION_MASK)) and reading.mask_kind is MaskKind.NUMBERED:
        found[BoundarySource.ATTENTION_MASK] = boundaries_from_ids(mask.values, offsets, 0)
    if (positions := columns.get(Role.POSITION_IDS)) and reading.positions_restart:
        found[BoundarySource.POSITION_IDS] = boundaries_from_starts(_restarts(positions.values), offsets)
    if reading.context.unit is Unit.SAMPLE:
        found[BoundarySource.ROWS] = boundaries_from_starts(offsets[:0], offsets)
    if reading.scans_for_end_token:
        ends = _places_of(columns[Role.INPUT_IDS].values, reading.eos_ids)
        found[BoundarySource.BOUNDARY_TOKENS] = boundaries_from_starts(
            ends[ends + 1 < offsets[-1]] + 1, offsets
        )
    return found


def find_padding(
    columns: Mapping[Role, Ragged],
    offsets: Int64Array,
    boundaries: Mapping[BoundarySource, Boundaries],
    reading: Reading,
) -> tuple[Spans, PaddingEvidence]:
    """Return the runs of padding and how they are known."""
    mark = reading.layout.padding
    tokens = columns[Role.INPUT_IDS].values
    if mark is PaddingMark.NEVER_STORED:
        return Spans.empty(), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.MASK_ZERO and (mask := columns.get(Role.ATTENTION_MASK)):
        return Spans.from_mask(mask.values == 0), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.SEGMENT_ID and (ids := columns.get(Role.SEGMENT_IDS)):
        return Spans.from_mask(ids.values == reading.layout.nothing), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.BEYOND_LENGTHS and (lens := boundaries.get(BoundarySource.SEQ_LENS)):
        whole = Spans.from_intervals(offsets[:1], offsets[-1:])
        return whole.minus(Spans.from_intervals(lens.starts, lens.stops)), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.LAST_LENGTH and (lens := boundaries.get(BoundarySource.SEQ_LENS)):
        return _last_lengths(columns, offsets, lens, reading), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.POSITION_ZERO and (positions := columns.get(Role.POSITION_IDS)):
        tails = _constant_tails(positions.values == 0, tokens, offsets)
        return _without_live_labels(_longer_or_pad(tails, tokens, reading), columns, reading), (
            PaddingEvidence.STRUCTURE
        )
    return _declared_padding(tokens, offsets, reading)


def true_segments(
    boundaries: Mapping[BoundarySource, Boundaries], padding: Spans, offsets: Int64Array
) -> tuple[Segments, BoundarySource | None]:
    """Return the true segments, padding cut off, and the evidence they were taken from."""
    source = next((s for s in _TRUST if s in boundaries), None)
    record = boundaries[source] if source else boundaries_from_starts(offsets[:0], offsets)
    starts, stops = _trim(record.starts, record.stops, padding)
    return Segments(starts, stops, np.searchsorted(offsets, starts, side="right") - 1), source


def _trim(starts: Int64Array, stops: Int64Array, padding: Spans) -> tuple[Int64Array, Int64Array]:
    """Cut padding off the ends of recorded segments; padding inside one stays, for BND010 to report."""
    if len(padding) == 0 or starts.size == 0:
        return starts, stops
    run = np.searchsorted(padding.starts, stops, side="left") - 1
    touches = (run >= 0) & (padding.stops[np.maximum(run, 0)] >= stops)
    stops = np.where(touches, np.maximum(padding.starts[np.maximum(run, 0)], starts), stops)
    run = np.searchsorted(padding.starts, starts, side="right") - 1
    touches = (run >= 0) & (padding.stops[np.maximum(run, 0)] > starts)
    starts = np.where(touches, np.minimum(padding.stops[np.maximum(run, 0)], stops), starts)
    kept = stops > starts
    return starts[kept], stops[kept]


def _last_lengths(
    columns: Mapping[Role, Ragged], offsets: Int64Array, lens: Boundaries, reading: Reading
) -> Spans:
    """Take the last recorded length of a pack for padding where all its tokens look like filling.

    Filling: one repeated id, no live label, and positions (if stored) that do not restart.
    """
    after = np.searchsorted(lens.starts, offsets[1:], side="left")
    last = after[(after > 0) & (np.diff(offsets) > 0)] - 1
    runs = Spans.from_intervals(lens.starts[last], lens.stops[last]).split_at(offsets)
    tokens = columns[Role.INPUT_IDS].values
    constant = _constant_tails(None, tokens, offsets)
    covered = constant.count_within(runs.starts, runs.stops) == runs.lengths
    if positions := columns.get(Role.POSITION_IDS):
        covered &= positions.values[runs.starts] != 0
    runs = Spans(runs.starts[covered], runs.stops[covered])
    kept = _without_live_labels(runs, columns, reading)
    whole = kept.count_within(runs.starts, runs.stops) == runs.lengths
    return Spans(runs.starts[whole], runs.stops[whole])


def _constant_tails(marked: BoolArray | None, tokens: IntArray, offsets: Int64Array) -> Spans:
    """Return the runs of one repeated id (and of marked tokens) that end each pack."""
    filled = np.flatnonzero(np.diff(offsets) > 0)
    begin, end = offsets[filled], offsets[filled + 1]
    changes = np.flatnonzero(tokens[1:] != tokens[:-1]) + 1
    starts = np.maximum(begin, _last_before(changes, end))
    if marked is not None:
        unmarked = np.flatnonzero(~marked) + 1
        starts = np.maximum(starts, _last_before(unmarked, end + 1))
    kept = starts < end
    return Spans(starts[kept], end[kept])


def _last_before(places: Int64Array, limits: Int64Array) -> Int64Array:
    """Return, for each limit, the largest place below it, or 0."""
    found = np.searchsorted(places, limits, side="left") - 1
    return np.where(found >= 0, places[np.maximum(found, 0)] if places.size else 0, 0)


def _longer_or_pad(tails: Spans, tokens: IntArray, reading: Reading) -> Spans:
    """Drop tails of one token unless it is the known pad id: it may be a sample of one token."""
    pad = reading.context.spec.pad_id
    kept = tails.lengths > 1
    if pad is not None:
        kept |= tokens[tails.starts] == pad.value
    return Spans(tails.starts[kept], tails.stops[kept])


def _without_live_labels(spans: Spans, columns: Mapping[Role, Ragged], reading: Reading) -> Spans:
    labels = columns.get(Role.LABELS)
    if labels is None or len(spans) == 0:
        return spans
    places = np.concatenate([np.arange(a, b) for a, b in zip(spans.starts, spans.stops, strict=True)])
    live = places[labels.values[places] != reading.ignore_index]
    return spans.minus(Spans.from_indices(live))


def _declared_padding(
    tokens: IntArray, offsets: Int64Array, reading: Reading
) -> tuple[Spans, PaddingEvidence]:
    pad = reading.context.spec.pad_id
    if pad is None or pad.value in reading.context.spec.end_ids:
        return Spans.empty(), PaddingEvidence.UNKNOWN
    filled = np.flatnonzero(np.diff(offsets) > 0)
    begin, end = offsets[filled], offsets[filled + 1]
    ends_in_pad = tokens[end - 1] == pad.value
    if not ends_in_pad.any():
        return Spans.empty(), PaddingEvidence.DECLARED_ID
    begin, end = begin[ends_in_pad], end[ends_in_pad]
    other = np.flatnonzero(tokens != pad.value) + 1
    return Spans(np.maximum(begin, _last_before(other, end + 1)), end), PaddingEvidence.DECLARED_ID


def _restarts(positions: IntArray) -> Int64Array:
    return np.flatnonzero(positions == 0)


def _places_of(tokens: IntArray, ids: tuple[int, ...]) -> Int64Array:
    found = [np.flatnonzero(tokens == i) for i in ids]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


def _int64(column: Ragged) -> Int64Array:
    return column.values.astype(np.int64, copy=False)
