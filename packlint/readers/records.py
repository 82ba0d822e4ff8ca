"""Raw columns → boundaries by source, padding, and the true segments."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from packlint.model.arrays import Int64Array, IntArray, are_among, places_in
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
    columns: Mapping[Role, Ragged],
    offsets: Int64Array,
    reading: Reading,
    position_breaks: Int64Array | None,
) -> dict[BoundarySource, Boundaries]:
    """Return every independent record of boundaries in the rows.

    Args:
        columns: raw columns of the rows.
        offsets: `int64[pack + 1]`.
        reading: how the shard is read.
        position_breaks: `int64[break]`, where positions do not go on by one; none where they are no record.
    """
    layout = reading.layout
    found: dict[BoundarySource, Boundaries] = {}
    if lens := columns.get(Role.SEQ_LENS):
        # The sides of a pair are no record of a pack: the trainer reads each as a row of its own.
        is_pair = reading.context.unit is Unit.PAIR
        found[BoundarySource.ROWS if is_pair else BoundarySource.SEQ_LENS] = boundaries_from_lengths(
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
    if position_breaks is not None:
        restarts = position_breaks[columns[Role.POSITION_IDS].values[position_breaks] == 0]
        found[BoundarySource.POSITION_IDS] = boundaries_from_starts(restarts, offsets)
    if reading.context.unit is Unit.SAMPLE:
        found[BoundarySource.ROWS] = boundaries_from_starts(offsets[:0], offsets)
    if reading.begin_ids:
        begins = _places_of(columns[Role.INPUT_IDS].values, reading.begin_ids)
        found[BoundarySource.BOUNDARY_TOKENS] = boundaries_from_starts(begins, offsets)
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
    if mark is PaddingMark.NEVER_STORED:
        return Spans.empty(), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.MASK_ZERO and (mask := columns.get(Role.ATTENTION_MASK)):
        return Spans.from_mask(mask.values == 0), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.SEGMENT_ID and (ids := columns.get(Role.SEGMENT_IDS)):
        return Spans.from_mask(ids.values == reading.layout.nothing), PaddingEvidence.STRUCTURE
    lens = boundaries.get(BoundarySource.SEQ_LENS)
    if mark is PaddingMark.BEYOND_LENGTHS and lens is not None:
        whole = Spans.from_intervals(offsets[:1], offsets[-1:])
        return whole.minus(Spans.from_intervals(lens.starts, lens.stops)), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.LAST_LENGTH and lens is not None:
        return _last_lengths(columns, offsets, lens, reading), PaddingEvidence.STRUCTURE
    if mark is PaddingMark.POSITION_ZERO and Role.POSITION_IDS in columns:
        return _zero_tails(columns, offsets, reading), PaddingEvidence.STRUCTURE
    return _declared_padding(columns[Role.INPUT_IDS].values, offsets, reading)


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
    starts, stops = lens.starts[last], lens.stops[last]
    if positions := columns.get(Role.POSITION_IDS):
        counting = positions.values[starts] != 0
        starts, stops = starts[counting], stops[counting]
    filling = _filling_from(columns, starts, stops, reading) == starts
    return Spans(starts[filling], stops[filling])


def _zero_tails(columns: Mapping[Role, Ragged], offsets: Int64Array, reading: Reading) -> Spans:
    """Take tails of position 0 for padding where they look like filling; one token may be a sample."""
    zeros = Spans.from_mask(columns[Role.POSITION_IDS].values == 0).split_at(offsets)
    at_end = are_among(zeros.stops, offsets[1:])
    stops = zeros.stops[at_end]
    starts = _filling_from(columns, zeros.starts[at_end], stops, reading)
    kept = stops - starts > 1
    if pad := reading.context.spec.pad_id:
        tokens = columns[Role.INPUT_IDS].values
        kept |= (stops > starts) & (tokens[stops - 1] == pad.value)
    return Spans(starts[kept], stops[kept])


def _filling_from(
    columns: Mapping[Role, Ragged], starts: Int64Array, stops: Int64Array, reading: Reading
) -> Int64Array:
    """Return, for each run, where its tail of one repeated id without live labels begins."""
    tokens, labels = columns[Role.INPUT_IDS].values, columns.get(Role.LABELS)
    last = tokens[stops - 1]
    if labels is not None:  # most runs end in a live label: they need no closer look
        starts = np.where(labels.values[stops - 1] == reading.ignore_index, starts, stops)
    run = np.repeat(np.arange(starts.size), stops - starts)
    place, _ = places_in(starts, stops)
    odd = tokens[place] != last[run]
    if labels is not None:
        odd |= labels.values[place] != reading.ignore_index
    begin = starts.copy()
    np.maximum.at(begin, run[odd], place[odd] + 1)
    return begin


def _declared_padding(
    tokens: IntArray, offsets: Int64Array, reading: Reading
) -> tuple[Spans, PaddingEvidence]:
    pad = reading.context.spec.pad_id
    if pad is None or pad.value in reading.context.spec.end_ids:
        return Spans.empty(), PaddingEvidence.UNKNOWN
    ends = offsets[1:][np.diff(offsets) > 0]
    if not np.any(tokens[ends - 1] == pad.value):
        return Spans.empty(), PaddingEvidence.DECLARED_ID
    runs = Spans.from_mask(tokens == pad.value).split_at(offsets)
    at_end = are_among(runs.stops, ends)
    return Spans(runs.starts[at_end], runs.stops[at_end]), PaddingEvidence.DECLARED_ID


def _places_of(tokens: IntArray, ids: tuple[int, ...]) -> Int64Array:
    found = [np.flatnonzero(tokens == i) for i in ids]
    return np.sort(np.concatenate(found)) if found else np.empty(0, np.int64)


def _int64(column: Ragged) -> Int64Array:
    return column.values.astype(np.int64, copy=False)
