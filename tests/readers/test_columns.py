"""Arrow columns → raw rows: every list type, sliced, with nulls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.readers.columns import blocks, column_kinds, stored_columns, stored_spec
from packlint.readers.layouts import ColumnKind, Element, detect_layout
from packlint.readers.shard import RawRows, Role

Rows = list[list[int | None] | None]

_INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
_RAGGED = [pa.list_, pa.large_list, pa.list_view, pa.large_list_view]


def _decode(
    array: Any, role: Role = Role.INPUT_IDS, block_tokens: int = 5, first_row: int = 0
) -> list[RawRows]:
    batch = pa.record_batch({"column": array})
    return list(blocks(batch, {role: ("column",)}, first_row, block_tokens))


def _as_lists(raw: list[RawRows], role: Role = Role.INPUT_IDS) -> list[list[int]]:
    found = []
    for block in raw:
        column = block.columns[role]
        found += [
            column.values[a:b].tolist() for a, b in zip(column.offsets[:-1], column.offsets[1:], strict=True)
        ]
    return found


_values = st.integers(0, 127)
_maybe = st.none() | _values
_rows = st.lists(st.none() | st.lists(_maybe, max_size=6), max_size=12)
_full_rows = st.lists(st.lists(_values, max_size=6), max_size=12)


@given(
    rows=_rows,
    make=st.sampled_from(_RAGGED),
    kind=st.sampled_from(_INTEGERS),
    cut=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    block_tokens=st.integers(1, 20),
)
def test_ragged_lists_equal_plain_python(
    rows: Rows, make: Any, kind: Any, cut: tuple[int, int], block_tokens: int
) -> None:
    array = pa.array(rows, make(kind))[min(cut) : max(cut)]
    plain = rows[min(cut) : max(cut)]
    is_whole = [row is not None and None not in row for row in plain]

    raw = _decode(array, block_tokens=block_tokens, first_row=100)

    assert _as_lists(raw) == [row for row, whole in zip(plain, is_whole, strict=True) if whole]
    assert [n for block in raw for n in block.row_numbers.tolist()] == [
        100 + i for i, whole in enumerate(is_whole) if whole
    ]
    faults = [fault for block in raw for fault in block.faults]
    assert [fault.row for fault in faults] == [100 + i for i, whole in enumerate(is_whole) if not whole]
    assert {fault.code for fault in faults} <= {"SHD005"}


@given(
    size=st.integers(0, 5),
    data=st.data(),
    kind=st.sampled_from(_INTEGERS),
    cut=st.tuples(st.integers(0, 8), st.integers(0, 8)),
)
def test_fixed_size_lists_equal_plain_python(
    size: int, data: st.DataObject, kind: Any, cut: tuple[int, int]
) -> None:
    row = st.lists(_maybe, min_size=size, max_size=size)
    rows = data.draw(st.lists(st.none() | row, max_size=8))
    array = pa.array(rows, pa.list_(kind, size))[min(cut) : max(cut)]
    plain = rows[min(cut) : max(cut)]

    assert _as_lists(_decode(array)) == [r for r in plain if r is not None and None not in r]


@given(rows=_full_rows, block_tokens=st.integers(1, 20))
def test_blocks_are_whole_rows_and_no_longer_than_asked(rows: list[list[int]], block_tokens: int) -> None:
    raw = _decode(pa.array(rows, pa.list_(pa.int32())), block_tokens=block_tokens)

    assert _as_lists(raw) == rows
    for block in raw:
        column = block.columns[Role.INPUT_IDS]
        assert column.n_rows >= 1
        assert column.n_rows == 1 or column.values.size <= block_tokens
        assert column.offsets[0] == 0
        assert column.offsets[-1] == column.values.size
        assert column.offsets.dtype == np.int64


def test_values_are_not_copied() -> None:
    array: Any = pa.array([[1, 2, 3], [4, 5], [6]], pa.list_(pa.int32()))
    (block,) = _decode(array[1:], block_tokens=100)

    assert np.shares_memory(block.columns[Role.INPUT_IDS].values, array.values.to_numpy())


def test_every_column_loses_the_row_that_one_cannot_give() -> None:
    columns: dict[str, Any] = {
        "ids": pa.array([[1, 2], [3], [4, 5]], pa.list_(pa.int32())),
        "labels": pa.array([[1, 2], None, [4, None]], pa.list_(pa.int64())),
    }
    batch = pa.record_batch(columns)
    names = {Role.INPUT_IDS: ("ids",), Role.LABELS: ("labels",)}
    (block,) = blocks(batch, names, 10, 100)

    assert _as_lists([block]) == [[1, 2]]
    assert _as_lists([block], Role.LABELS) == [[1, 2]]
    assert [(f.row, f.message) for f in block.faults] == [
        (11, "null in column labels"),
        (12, "null in column labels"),
    ]


def test_a_row_with_nulls_in_two_columns_is_one_fault() -> None:
    column = pa.array([[None, 1]], pa.list_(pa.int32()))
    batch = pa.record_batch({"a": column, "b": column})
    (block,) = blocks(batch, {Role.INPUT_IDS: ("a",), Role.LABELS: ("b",)}, 0, 100)

    assert len(block.faults) == 1
    assert block.row_numbers.size == 0


def test_nan_weights_stay() -> None:
    (block,) = _decode(pa.array([[0.5, float("nan")]], pa.list_(pa.float32())), Role.LOSS_MASK)

    assert np.isnan(block.columns[Role.LOSS_MASK].values).tolist() == [False, True]
    assert block.faults == ()


def test_booleans_and_scalars() -> None:
    (block,) = _decode(pa.array([[True, False]]), Role.LOSS_MASK)
    assert block.columns[Role.LOSS_MASK].values.tolist() == [True, False]

    (block,) = _decode(pa.array([7, None, 9]), Role.SAMPLE_IDS)
    assert _as_lists([block], Role.SAMPLE_IDS) == [[7], [9]]
    assert [fault.row for fault in block.faults] == [1]


def test_lists_without_a_type_are_empty_rows() -> None:
    (block,) = _decode(pa.array([[], []]))

    assert _as_lists([block]) == [[], []]


def test_two_masks_are_multiplied() -> None:
    batch = pa.record_batch({"a": pa.array([[1, 1, 0]]), "b": pa.array([[0, 1, 1]])})
    (block,) = blocks(batch, {Role.LOSS_MASK: ("a", "b")}, 0, 100)

    assert block.columns[Role.LOSS_MASK].values.tolist() == [0, 1, 0]


def test_two_masks_of_different_lengths() -> None:
    batch = pa.record_batch({"a": pa.array([[1, 1, 0]]), "b": pa.array([[0, 1]])})
    with pytest.raises(UnreadableError, match="loss_mask differ in length"):
        list(blocks(batch, {Role.LOSS_MASK: ("a", "b")}, 0, 100))


@pytest.mark.parametrize(
    ("array", "said"),
    [
        (pa.array([["a"]]), "column column is list<item: string>"),
        (pa.array([[[1]]]), "column column is list<item: list<item: int64>>"),
        (pa.array([[1.5]]), "column column is list<item: double>"),
    ],
)
def test_wrong_types_name_column_and_type(array: Any, said: str) -> None:
    with pytest.raises(UnreadableError, match=said):
        _decode(array)


@pytest.mark.parametrize("corrupt", [[0, 9, 10, 100], [0, 2, 1, 3]], ids=["beyond the values", "falling"])
def test_corrupt_offsets(corrupt: list[int]) -> None:
    batch = pa.record_batch({"column": pa.array([[1], [2], [3]], pa.list_(pa.int32()))})
    raw = batch.serialize().to_pybytes()
    sound = np.array([0, 1, 2, 3], np.int32).tobytes()
    assert raw.count(sound) == 1
    damaged = raw.replace(sound, np.array(corrupt, np.int32).tobytes())
    rows = pa.ipc.read_record_batch(pa.py_buffer(damaged), batch.schema)

    with pytest.raises(UnreadableError, match="offsets"):
        list(blocks(rows, {Role.INPUT_IDS: ("column",)}, 0, 100))


def test_list_views_that_share_values_without_bound() -> None:
    make: Any = pa.ListViewArray.from_arrays  # the stubs take it for that of a plain list
    offsets, sizes = pa.array([0] * 1000, pa.int32()), pa.array([100] * 1000, pa.int32())
    array = make(offsets, sizes, pa.array(range(100), pa.int32()))

    with pytest.raises(UnreadableError, match="overlap"):
        _decode(array)


def test_no_rows() -> None:
    assert _decode(pa.array([], pa.list_(pa.int32()))) == []


def test_column_kinds() -> None:
    schema = pa.schema(
        {
            "a": pa.list_(pa.int8()),
            "b": pa.large_list(pa.list_(pa.bool_(), 3)),
            "c": pa.string(),
            "d": pa.struct([("x", pa.int8())]),
            "e": pa.null(),
            "f": pa.list_(pa.float16()),
            "g": pa.decimal128(3),
            "h": pa.fixed_shape_tensor(pa.int32(), [4]),
        }
    )

    assert column_kinds(schema) == {
        "a": ColumnKind(Element.INT, 1),
        "b": ColumnKind(Element.BOOL, 2),
        "c": ColumnKind(Element.STRING, 0),
        "d": ColumnKind(Element.STRUCT, 0),
        "e": ColumnKind(Element.NULL, 0),
        "f": ColumnKind(Element.FLOAT, 1),
        "g": ColumnKind(Element.OTHER, 0),
        "h": ColumnKind(Element.INT, 1),
    }


def test_repeated_column_names() -> None:
    schema = pa.schema([("a", pa.int8()), ("a", pa.int8())])
    with pytest.raises(UnreadableError, match="2 columns are named a"):
        column_kinds(schema)


def test_what_the_schema_says() -> None:
    columns: dict[str, Any] = {"input_ids": pa.list_(pa.uint16()), "labels": pa.list_(pa.int64())}
    schema = pa.schema(columns)
    layout = detect_layout(column_kinds(schema), renamed={})
    spec = stored_spec(schema, layout)

    assert spec.token_dtype is not None
    assert spec.token_dtype.value == "uint16"
    assert stored_columns(layout, frozenset({Role.LABELS}), schema.names) == {Role.LABELS: ("labels",)}
