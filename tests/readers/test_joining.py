"""Joined blocks hold the rows of the small ones in order, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.readers.joining import joined
from packlint.readers.shard import Fault, Ragged, RawRows, Role

Rows = list[list[int]]
BLOCKS = st.lists(
    st.tuples(
        st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=4), st.sampled_from([np.int32, np.int64])
    ),
    max_size=7,
)


def ragged(rows: Rows, dtype: Any) -> Ragged:
    before = np.full(2, 77, dtype)  # values before the first offset belong to no row
    values = np.array([value for row in rows for value in row], dtype)
    return Ragged(np.concatenate([before, values]), 2 + np.cumsum([0, *map(len, rows)]))


def block(rows: Rows, first_row: int, dtype: Any = np.int32) -> RawRows:
    columns = {
        Role.INPUT_IDS: ragged(rows, dtype),
        Role.SEQ_LENS: ragged([[len(row)] for row in rows], np.int64),
    }
    fault = Fault(code="SHD005", message="null", row=first_row)
    return RawRows(row_numbers=np.arange(first_row, first_row + len(rows)), columns=columns, faults=(fault,))


def rows_of(raw: RawRows, role: Role) -> Rows:
    column = raw.columns[role]
    edges = zip(column.offsets[:-1].tolist(), column.offsets[1:].tolist(), strict=True)
    return [column.values[a:b].tolist() for a, b in edges]


@given(BLOCKS, st.integers(1, 30))
@settings(max_examples=200)
def test_the_same_rows_in_order(pieces: list[tuple[Rows, Any]], block_tokens: int) -> None:
    firsts = np.cumsum([0, *(len(rows) for rows, _ in pieces)]).tolist()
    blocks = [block(rows, first, dtype) for (rows, dtype), first in zip(pieces, firsts, strict=False)]

    found = list(joined(blocks, block_tokens))

    rows = [row for rows, _ in pieces for row in rows]
    assert [row for raw in found for row in rows_of(raw, Role.INPUT_IDS)] == rows
    assert [row for raw in found for row in rows_of(raw, Role.SEQ_LENS)] == [[len(row)] for row in rows]
    assert [n for raw in found for n in raw.row_numbers.tolist()] == list(range(len(rows)))
    assert [fault for raw in found for fault in raw.faults] == [f for raw in blocks for f in raw.faults]
    for raw in found:
        assert raw in blocks or raw.columns[Role.INPUT_IDS].values.size <= block_tokens
    stored = {
        number: dtype
        for (rows, dtype), first in zip(pieces, firsts, strict=False)
        for number in range(first, first + len(rows))
    }
    assert all(
        raw.columns[Role.INPUT_IDS].values.dtype == stored[n]
        for raw in found
        for n in raw.row_numbers.tolist()
    )


def test_small_blocks_become_one_and_large_ones_are_not_copied() -> None:
    small = [block([[1, 2]], 0), block([[3]], 1)]
    large = block([[4] * 8], 2)

    found = list(joined([*small, large, block([[5]], 3)], 10))

    assert [raw.row_numbers.tolist() for raw in found] == [[0, 1], [2], [3]]
    assert found[1] is large


def test_rows_before_damage_are_yielded() -> None:
    def damaged() -> Iterator[RawRows]:
        yield block([[1, 2]], 0)
        yield block([[3]], 1)
        raise UnreadableError("damaged")

    found: list[RawRows] = []
    with pytest.raises(UnreadableError, match="damaged"):
        found.extend(joined(damaged(), 100))

    assert [raw.row_numbers.tolist() for raw in found] == [[0, 1]]


def test_dense_masks_are_passed_on() -> None:
    mask = Ragged(np.ones((1, 2, 2), np.bool_), np.array([0, 1]))
    raw = block([[1, 2]], 0)
    raw = RawRows(row_numbers=raw.row_numbers, columns={**raw.columns, Role.DENSE_MASK: mask})

    assert list(joined([raw, raw], 100)) == [raw, raw]
