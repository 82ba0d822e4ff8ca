"""Records of boundaries against plain Python, pack by pack."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.model.boundaries import (
    Boundaries,
    OffsetFault,
    boundaries_from_ids,
    boundaries_from_lengths,
    boundaries_from_offsets,
    boundaries_from_starts,
)
from packlint.testing import make_batch

B5 = next(
    case
    for case in map(json.loads, (Path(__file__).parents[1] / "cases.jsonl").read_text().splitlines())
    if case["id"] == "B5"
)
SAID = {
    "last != length": OffsetFault.LAST_NOT_LENGTH,
    "zero-length segment": OffsetFault.EMPTY_SEGMENT,
    "not rising": OffsetFault.NOT_RISING,
    "first != 0": OffsetFault.FIRST_NOT_ZERO,
}
Lists = list[list[int]]
Segment = tuple[int, int]

packs_of_entries = st.lists(
    st.tuples(st.integers(0, 9), st.lists(st.integers(-2, 10), max_size=5)), min_size=1, max_size=4
)


def ragged(
    rows: Sequence[Sequence[int]],
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    flat = np.array([value for row in rows for value in row], np.int64)
    return flat, np.cumsum([0, *(len(row) for row in rows)])


def by_pack(record: Boundaries, pack_offsets: Sequence[int]) -> list[list[Segment]]:
    """Return the segments of each pack, counted from its start; none may cross a pack."""
    segments = list(zip(record.starts.tolist(), record.stops.tolist(), strict=True))
    assert segments == sorted(segments)
    packs = list(itertools.pairwise(pack_offsets))
    found = [[(a - base, b - base) for a, b in segments if base <= a < end] for base, end in packs]
    assert sum(map(len, found)) == len(segments)
    for (base, end), inside in zip(packs, found, strict=True):
        assert all(0 <= a < b <= end - base for a, b in inside)
        assert all(left[1] <= right[0] for left, right in itertools.pairwise(inside))
    return found


def faults_by_pack(record: Boundaries, n_packs: int) -> list[set[OffsetFault]]:
    found: list[set[OffsetFault]] = [set() for _ in range(n_packs)]
    for pack, kind in zip(record.fault_packs.tolist(), record.fault_kinds.tolist(), strict=True):
        assert OffsetFault(kind) not in found[pack]
        found[pack].add(OffsetFault(kind))
    return found


def tiled(starts: set[int], length: int) -> list[Segment]:
    edges = [*sorted({0, *starts}), length] if length else []
    return list(itertools.pairwise(edges))


def offset_faults(offsets: list[int], length: int, has_end: bool) -> set[OffsetFault]:
    faults = set()
    if (offsets and offsets[0] != 0) or (not offsets and length > 0):
        faults.add(OffsetFault.FIRST_NOT_ZERO)
    if any(offset < 0 for offset in offsets):
        faults.add(OffsetFault.NEGATIVE)
    for before, after in itertools.pairwise(offsets):
        if after < before:
            faults.add(OffsetFault.NOT_RISING)
        if after == before and not (has_end and after == length):
            faults.add(OffsetFault.EMPTY_SEGMENT)
    if has_end and offsets and offsets[-1] != length:
        faults.add(OffsetFault.LAST_NOT_LENGTH)
    if not has_end and length and any(offset >= length for offset in offsets):
        faults.add(OffsetFault.LAST_NOT_LENGTH)
    return faults


@settings(deadline=None)
@given(packs_of_entries, st.booleans())
def test_offsets(packs: list[tuple[int, list[int]]], has_end: bool) -> None:
    lengths = [length for length, _ in packs]
    pack_offsets = np.cumsum([0, *lengths])
    offsets, row_offsets = ragged([row for _, row in packs])

    record = boundaries_from_offsets(offsets, row_offsets, pack_offsets, has_end=has_end)

    assert by_pack(record, pack_offsets.tolist()) == [
        tiled({offset for offset in row if 0 <= offset < length}, length) for length, row in packs
    ]
    assert faults_by_pack(record, len(packs)) == [
        offset_faults(row, length, has_end) for length, row in packs
    ]


def length_segments(lengths: list[int], room: int, cover: bool) -> list[Segment]:
    segments, place = [], 0
    for length in lengths:
        stop = min(place + max(length, 0), room)
        if stop > place:
            segments.append((place, stop))
        place = stop
    if cover and sum(lengths) != room and place < room:
        segments.append((place, room))
    return segments


def length_faults(lengths: list[int], room: int, cover: bool) -> set[OffsetFault]:
    faults = set()
    if any(length < 0 for length in lengths):
        faults.add(OffsetFault.NEGATIVE)
    elif sum(lengths) > room or (cover and sum(lengths) != room):
        faults.add(OffsetFault.SUM_NOT_LENGTH)
    if 0 in lengths:
        faults.add(OffsetFault.EMPTY_SEGMENT)
    return faults


@settings(deadline=None)
@given(packs_of_entries, st.booleans())
def test_lengths(packs: list[tuple[int, list[int]]], cover: bool) -> None:
    rooms = [room for room, _ in packs]
    pack_offsets = np.cumsum([0, *rooms])
    lengths, row_offsets = ragged([row for _, row in packs])

    record = boundaries_from_lengths(lengths, row_offsets, pack_offsets, cover_padding=cover)

    assert by_pack(record, pack_offsets.tolist()) == [
        length_segments(row, room, cover) for room, row in packs
    ]
    assert faults_by_pack(record, len(packs)) == [length_faults(row, room, cover) for room, row in packs]


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=4), st.sampled_from([None, 0]))
def test_ids(rows: Lists, nothing: int | None) -> None:
    ids, pack_offsets = ragged(rows)
    record = boundaries_from_ids(ids, pack_offsets, nothing)
    expected, groups = [], []
    for pack, row in enumerate(rows):
        runs: list[Segment] = []
        for place, value in enumerate(row):
            if place and row[place - 1] == value:
                runs[-1] = (runs[-1][0], place + 1)
            else:
                runs.append((place, place + 1))
        kept = [run for run in runs if row[run[0]] != nothing]
        expected.append(kept)
        groups += [(pack, row[start]) for start, _ in kept]

    assert by_pack(record, pack_offsets.tolist()) == expected
    if record.groups is None:
        assert len(set(groups)) == len(groups)
    else:
        assert len(set(groups)) < len(groups)
        same = record.groups[:, None] == record.groups[None, :]
        assert same.tolist() == [[a == b for b in groups] for a in groups]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.data())
def test_starts(lengths: list[int], data: st.DataObject) -> None:
    pack_offsets = np.cumsum([0, *lengths])
    n_tokens = int(pack_offsets[-1])
    starts = data.draw(st.lists(st.integers(0, max(n_tokens - 1, 0)), max_size=5)) if n_tokens else []

    record = boundaries_from_starts(np.array(starts, np.int64), pack_offsets)

    assert by_pack(record, pack_offsets.tolist()) == [
        tiled({start - base for start in starts if base <= start < base + length}, length)
        for base, length in zip(pack_offsets[:-1].tolist(), lengths, strict=True)
    ]


@pytest.mark.parametrize(("offsets", "said"), list(zip(B5["cu"], B5["find"], strict=True)))
def test_case_b5(offsets: list[int], said: str) -> None:
    values, row_offsets = ragged([offsets])
    record = boundaries_from_offsets(values, row_offsets, np.array([0, B5["length"]]), has_end=True)

    assert faults_by_pack(record, 1) == [{SAID[said]}]


def test_repeated_end_is_padding_of_the_offsets() -> None:
    values, row_offsets = ragged([[0, 3, 8, 8, 8]])
    record = boundaries_from_offsets(values, row_offsets, np.array([0, 8]), has_end=True)

    assert record.fault_packs.size == 0
    assert by_pack(record, [0, 8]) == [[(0, 3), (3, 8)]]


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ({"cu_seqlens": [[0, 4], [0, 2, 4]]}, []),
        ({"cu_seqlens": [[0, 2], [0, 2, 4]]}, [OffsetFault.LAST_NOT_LENGTH]),
        ({"seq_lens": [[1, 3], [5]]}, [OffsetFault.SUM_NOT_LENGTH]),
    ],
)
def test_through_the_reader(columns: dict[str, Lists], fault: list[OffsetFault]) -> None:
    batch = make_batch({"input_ids": [[5, 6, 7, 8]] * 2, **columns})
    (record,) = batch.boundaries.values()

    assert record.fault_kinds.tolist() == fault


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint16"])
def test_positions_of_narrow_types_restart_where_the_type_wraps(kind: str) -> None:
    info = np.iinfo(kind)
    batch = make_batch({"input_ids": [[5] * 4], "position_ids": [[0, 1, 2, 3]]})
    wrapping = np.array([info.max - 1, info.max, info.min, info.min + 1], kind)
    object.__setattr__(batch, "position_ids", wrapping)

    assert batch.position_breaks.tolist() == [0, 2]
