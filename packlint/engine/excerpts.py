"""What a place looks like: its tokens one by one, and the layout of its pack.

Only a few places per rule and batch are ever drawn, so that this may loop over what is around one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from packlint.finding import Excerpt, Layout, Location
from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch
from packlint.model.boundaries import Boundaries
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source, effective_segments
from packlint.model.roles import Role

__all__ = ["MAX_SEGMENTS", "excerpts_of"]

MAX_SEGMENTS = 48
"""Segments of a layout: a pack of more is shown around the place."""

_MAX_DENSE_SLOTS = 1024
_MAX_GRID_CELLS = 32
_ROLE_NAMES = {int(role): "" if role is Role.UNKNOWN else role.name.lower() for role in Role}


def excerpts_of(batch: PackBatch, places: Sequence[Location]) -> list[Excerpt]:
    """Return what the tokens around some places of a batch are, and the packs in outline."""
    packs = np.searchsorted(batch.pack_numbers, [place.pack for place in places])
    bases = batch.pack_offsets[packs]
    lows = bases + [place.context_start for place in places]
    sizes = [len(place.context) for place in places]
    tokens = np.concatenate([np.arange(low, low + n) for low, n in zip(lows.tolist(), sizes, strict=True)])
    ends = np.cumsum(sizes).tolist()
    slices = [slice(stop - n, stop) for stop, n in zip(ends, sizes, strict=True)]
    values = _values(batch, tokens)
    return [
        Excerpt(
            **{name: tuple(of_all[chosen]) for name, of_all in values.items()},
            layout=_layout(batch, pack, base + place.start),
        )
        for place, pack, base, chosen in zip(places, packs.tolist(), bases.tolist(), slices, strict=True)
    ]


def _values(batch: PackBatch, tokens: Int64Array) -> dict[str, list[Any]]:
    """Return, by field of an excerpt, one value for each of some flat tokens; empty where nobody knows."""
    numbers = np.append(batch.segment_numbers, -1)[batch.segments_of(tokens)]
    roles = [] if batch.roles is None else batch.roles.at(tokens).tolist()
    return {
        "segments": numbers.tolist(),
        "is_padding": batch.padding.contains(tokens).tolist(),
        "is_target": batch.targets.contains(tokens).tolist(),
        "roles": [_ROLE_NAMES[code] for code in roles],
        "labels": [] if batch.label_ids is None else batch.label_ids[tokens].tolist(),
        "positions": [] if batch.position_ids is None else batch.position_ids[tokens].tolist(),
    }


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
    runs = batch.segments.starts[begin:end] - base, batch.segments.stops[begin:end] - base
    padding = _inside(batch.padding.starts, batch.padding.stops, base, low, high)
    source = deciding_source(batch) if batch.shard.contract is not None else None
    is_dense = source is BoundarySource.DENSE_MASK
    return Layout(
        n_tokens=stop - base,
        n_segments=last - first,
        first_segment=begin - first,
        start=low - base,
        stop=high - base,
        segments=tuple(zip(*(edges.tolist() for edges in runs), strict=True)),
        padding=tuple((start, stop) for start, stop, _ in padding),
        blocks=() if is_dense or batch.shard.contract is None else _blocks(batch, base, low, high),
        grid=_grid(batch, pack, low, high) if is_dense else (),
    )


def _inside(
    starts: Int64Array, stops: Int64Array, base: int, low: int, high: int
) -> list[tuple[int, int, int]]:
    """Return the first runs inside `[low, high)`, counted from the pack's start, each with its index."""
    first = int(stops.searchsorted(low, side="right"))
    last = min(int(starts.searchsorted(high)), first + MAX_SEGMENTS)
    runs = zip(starts[first:last].tolist(), stops[first:last].tolist(), range(first, last), strict=True)
    return [(max(start, low) - base, min(stop, high) - base, index) for start, stop, index in runs]


def _blocks(batch: PackBatch, base: int, low: int, high: int) -> tuple[tuple[int, int, int], ...]:
    """Return the trainer's blocks with a group each, numbered within the layout."""
    blocks: Boundaries = effective_segments(batch)
    found = _inside(blocks.starts, blocks.stops, base, low, high)
    groups = [index if blocks.groups is None else int(blocks.groups[index]) for _, _, index in found]
    number = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    return tuple((a, b, number[group]) for (a, b, _), group in zip(found, groups, strict=True) if a < b)


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
