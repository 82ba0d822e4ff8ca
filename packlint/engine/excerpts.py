"""What a place looks like: its tokens one by one, and the layout of its pack.

Only a few places per rule and batch are ever drawn, so that this may loop over what is around one of them.
"""

from __future__ import annotations

import numpy as np

from packlint.finding import Excerpt, Layout
from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.model.boundaries import Boundaries
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source, effective_segments
from packlint.model.roles import Role
from packlint.model.spans import Spans

__all__ = ["MAX_SEGMENTS", "excerpt_of"]

MAX_SEGMENTS = 48
"""Segments of a layout: a pack of more is shown around the place."""

_MAX_DENSE_SLOTS = 1024
_MAX_GRID_CELLS = 32
_ROLE_NAMES = {int(role): "" if role is Role.UNKNOWN else role.name.lower() for role in Role}


def excerpt_of(batch: PackBatch, pack: int, place: int, low: int, high: int) -> Excerpt:
    """Return what the flat tokens `[low, high)` of a pack are, and the pack around `place` in outline."""
    places = np.arange(low, high)
    segments = batch.segments_of(places)
    inside = segments >= 0
    numbers = np.full(segments.size, -1)
    numbers[inside] = batch.segment_numbers[segments[inside]]
    return Excerpt(
        segments=tuple(numbers.tolist()),
        is_padding=tuple(batch.padding.contains(places).tolist()),
        is_target=tuple(batch.targets.contains(places).tolist()),
        roles=_roles(batch, places),
        labels=() if batch.label_ids is None else tuple(batch.label_ids[low:high].tolist()),
        positions=() if batch.position_ids is None else tuple(batch.position_ids[low:high].tolist()),
        layout=_layout(batch, pack, place),
    )


def _roles(batch: PackBatch, places: Int64Array) -> tuple[str, ...]:
    if batch.roles is None:
        return ()
    return tuple(_ROLE_NAMES[code] for code in batch.roles.at(places).tolist())


def _layout(batch: PackBatch, pack: int, place: int) -> Layout:
    """Return the layout, made once for all places of a pack that show the same segments."""
    first, last = (int(i) for i in batch.segment_first_in_pack[pack : pack + 2])
    begin, end = first, last
    if last - first > MAX_SEGMENTS:
        near = int(np.searchsorted(batch.segments.starts, place, side="right")) - 1
        begin = min(max(first, near - MAX_SEGMENTS // 2), last - MAX_SEGMENTS)
        end = begin + MAX_SEGMENTS
    key = f"layout {pack} {begin}"
    if key not in batch._cache:
        batch._cache[key] = _make_layout(batch, pack, begin, end)
    layout: Layout = batch._cache[key]
    return layout


def _make_layout(batch: PackBatch, pack: int, begin: int, end: int) -> Layout:
    base, stop = int(batch.pack_offsets[pack]), int(batch.pack_offsets[pack + 1])
    first, last = (int(i) for i in batch.segment_first_in_pack[pack : pack + 2])
    low = base if begin == first else int(batch.segments.starts[begin])
    high = stop if end == last else int(batch.segments.stops[end - 1])
    segments = zip(
        batch.segments.starts[begin:end] - base, batch.segments.stops[begin:end] - base, strict=True
    )
    source = deciding_source(batch) if batch.shard.contract is not None else None
    is_dense = source is BoundarySource.DENSE_MASK
    return Layout(
        n_tokens=stop - base,
        n_segments=last - first,
        first_segment=begin - first,
        start=low - base,
        stop=high - base,
        segments=tuple((int(a), int(b)) for a, b in segments),
        padding=_runs(batch.padding, base, low, high),
        blocks=() if is_dense or batch.shard.contract is None else _blocks(batch, base, low, high),
        grid=_grid(batch, pack, low, high) if is_dense else (),
    )


def _runs(spans: Spans, base: int, low: int, high: int) -> tuple[tuple[int, int], ...]:
    """Return the first runs inside `[low, high)`, counted from the pack's start."""
    from_, to = np.searchsorted(spans.stops, low, side="right"), np.searchsorted(spans.starts, high)
    to = min(to, from_ + MAX_SEGMENTS)
    starts, stops = np.maximum(spans.starts[from_:to], low), np.minimum(spans.stops[from_:to], high)
    return tuple(zip((starts - base).tolist(), (stops - base).tolist(), strict=True))


def _blocks(batch: PackBatch, base: int, low: int, high: int) -> tuple[tuple[int, int, int], ...]:
    """Return the trainer's blocks with a group each, numbered within the layout."""
    blocks: Boundaries = effective_segments(batch)
    from_, to = np.searchsorted(blocks.stops, low, side="right"), np.searchsorted(blocks.starts, high)
    to = min(to, from_ + MAX_SEGMENTS)
    starts, stops = np.maximum(blocks.starts[from_:to], low), np.minimum(blocks.stops[from_:to], high)
    groups = np.arange(from_, to) if blocks.groups is None else blocks.groups[from_:to]
    number = {group: i for i, group in enumerate(dict.fromkeys(groups.tolist()))}
    kept = zip((starts - base).tolist(), (stops - base).tolist(), groups.tolist(), strict=True)
    return tuple((a, b, number[group]) for a, b, group in kept if a < b)


def _grid(batch: PackBatch, pack: int, low: int, high: int) -> tuple[str, ...]:
    """Return the stored mask in a few cells: `#` reaches another segment, `o` its own only, `.` nothing."""
    base = int(batch.pack_offsets[pack])
    if batch.dense_mask is None or high - low > _MAX_DENSE_SLOTS:
        return ()
    mask = batch.dense_mask[pack][low - base : high - base, low - base : high - base]
    segments = batch.segments_of(np.arange(low, high))
    own = (segments[:, None] == segments[None, :]) & (segments >= 0)[:, None]
    n_cells = min(_MAX_GRID_CELLS, high - low)
    edges = np.arange(n_cells) * (high - low) // max(n_cells, 1)
    foreign, mine = _any_in_cells(mask & ~own, edges), _any_in_cells(mask & own, edges)
    cells = np.where(foreign, "#", np.where(mine, "o", "."))
    return tuple("".join(row) for row in cells.tolist())


def _any_in_cells(mask: BoolArray, edges: Int64Array) -> BoolArray:
    if mask.size == 0:
        return np.zeros((0, 0), np.bool_)
    rows = np.logical_or.reduceat(mask, edges, axis=0)
    return np.asarray(np.logical_or.reduceat(rows, edges, axis=1), np.bool_)
