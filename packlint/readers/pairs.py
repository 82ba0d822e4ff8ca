"""Preference pairs in columns of their own → rows of two segments: the chosen sample, then the rejected one.

    prompt  chosen  rejected         stored
    p q     a       b c
    ids        p q a | p q b c       each side goes on from the prompt, where that stands apart
    seq_lens   3       4             a side that is null or empty is missing: no segment, no length
    loss_mask  0 0 1   0 0 1 1       or labels, or a loss mask, of both sides end to end
    attention  1 1 1   1 1 1 1       padding inside a side goes to the end of the row: 0

Positions in a row count through both sides. Behind this nothing knows of the columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array
from packlint.readers.collecting import RowCollector
from packlint.readers.ragged import take_rows
from packlint.readers.shard import Fault, PairColumns, Ragged, RawRows, Role
from packlint.readers.values import BadRowError, row_values

__all__ = ["PairBuffer", "PairRows", "columns_of_roles", "emptied", "join_pairs", "row_of_pair"]

_Columns: TypeAlias = Mapping[Role, Ragged]


_LOSS = frozenset({Role.LABELS, Role.LOSS_MASK})


def columns_of_roles(pairs: PairColumns, roles: frozenset[Role]) -> dict[Role, tuple[str, ...]]:
    """Return the stored columns to read, by what they hold: ids and masks, whatever is asked for."""
    wanted = (Role.INPUT_IDS, Role.ATTENTION_MASK, *sorted(roles & _LOSS))
    parts = (*pairs.sides, pairs.prompt)
    found = {role: tuple(part[role] for part in parts if role in part) for role in wanted}
    return {role: names for role, names in found.items() if names}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairRows:
    """Hold rows of a table of pairs as stored.

    Args:
        row_numbers: `int64[row]`, number of each row in the shard.
        columns: stored columns by name, all with the same number of rows; null rows are empty.
        nulls: `bool[row]` by name, rows that are null; columns without any may be left out.
        faults: rows left out, and why.
    """

    row_numbers: Int64Array
    columns: Mapping[str, Ragged]
    nulls: Mapping[str, BoolArray]
    faults: tuple[Fault, ...] = ()


def join_pairs(rows: PairRows, pairs: PairColumns) -> RawRows:
    """Return rows in which both sides stand end to end; a row whose columns do not match becomes a fault."""
    rows = _sound(rows, pairs)
    row = _Row.of(rows, pairs)
    columns = {Role.INPUT_IDS: row.laid_out(Role.INPUT_IDS), Role.SEQ_LENS: row.seq_lens}
    if Role.ATTENTION_MASK in pairs.sides[0]:
        columns[Role.ATTENTION_MASK] = row.flags([piece.is_real for piece in row.pieces])
    if pairs.prompt:
        columns[Role.LOSS_MASK] = row.flags([piece.is_real and piece.is_answer for piece in row.pieces])
    stored = [role for role, name in pairs.sides[0].items() if role in _LOSS and name in rows.columns]
    columns |= {role: row.laid_out(role) for role in stored}
    return RawRows(row_numbers=rows.row_numbers, columns=columns, faults=rows.faults)


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Hold what stands at one place of all rows: a prompt or an answer of a side, or their padding."""

    columns: _Columns
    is_answer: bool
    is_real: bool

    @property
    def lengths(self) -> Int64Array:
        """`int64[row]`, tokens of the piece in each row."""
        return np.diff(self.columns[Role.INPUT_IDS].offsets)


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """Say in which order the pieces stand, and how long each is.

    Args:
        pieces: those that hold any tokens, in order.
        which: `uint8[token]`, the piece that each token of the joined rows is of.
        offsets: `int64[row + 1]`, where the joined rows begin and end.
        seq_lens: tokens of each side that is there, padding not counted.
    """

    pieces: Sequence[_Piece]
    which: NDArray[np.uint8]
    offsets: Int64Array
    seq_lens: Ragged

    @classmethod
    def of(cls, rows: PairRows, pairs: PairColumns) -> _Row:
        """Lay out sides, and after them their padding; a side without answer leaves its prompt out too."""
        n_rows = rows.row_numbers.size
        sides = [_without_padding(_named(rows, names)) for names in pairs.sides]
        fronts = _without_padding(_named(rows, pairs.prompt)) if pairs.prompt else None
        real: list[_Piece] = []
        padding: list[_Piece] = []
        lengths = np.zeros((n_rows, len(sides)), np.int64)
        for number, side in enumerate(sides):
            is_there = np.diff(side[0][Role.INPUT_IDS].offsets) > 0
            for parts, is_answer in ((fronts, False), (side, True)):
                if parts is None:
                    continue
                for columns, into in zip(parts, (real, padding), strict=True):
                    kept = {role: emptied(column, ~is_there) for role, column in columns.items()}
                    if kept:
                        into.append(_Piece(kept, is_answer, into is real))
            lengths[:, number] = sum(piece.lengths for piece in real) - lengths.sum(axis=1)
        pieces = [p for p in (*real, *padding) if p.columns[Role.INPUT_IDS].values.size]
        return cls(pieces, *_order(pieces, n_rows), _without_zeros(lengths))

    def laid_out(self, role: Role) -> Ragged:
        """Return the values of a role in the order of the joined rows."""
        parts = [piece.columns[role].values for piece in self.pieces]
        if len(parts) == 1:
            return Ragged(parts[0], self.offsets)
        values = np.empty(self.which.size, _common_type(parts))
        for number, part in enumerate(parts):
            values[self.which == number] = part
        return Ragged(values, self.offsets)

    def flags(self, of_pieces: Sequence[bool]) -> Ragged:
        """Return one flag per token: that of its piece."""
        return Ragged(np.array(of_pieces, np.bool_)[self.which], self.offsets)


def _named(rows: PairRows, names: Mapping[Role, str]) -> dict[Role, Ragged]:
    return {role: rows.columns[name] for role, name in names.items() if name in rows.columns}


def _order(pieces: Sequence[_Piece], n_rows: int) -> tuple[NDArray[np.uint8], Int64Array]:
    """Return which piece each token is of, and where the joined rows begin and end."""
    lengths = np.zeros((n_rows, len(pieces)), np.int64)
    for number, piece in enumerate(pieces):
        lengths[:, number] = piece.lengths
    which = np.repeat(np.tile(np.arange(len(pieces), dtype=np.uint8), n_rows), lengths.ravel())
    return which, np.append(0, np.cumsum(lengths.sum(axis=1)))


def _without_zeros(lengths: Int64Array) -> Ragged:
    """Return `int64[row, side]` as ragged rows, those of missing sides left out."""
    is_there = lengths > 0
    return Ragged(lengths[is_there], np.append(0, np.cumsum(is_there.sum(axis=1))))


def _without_padding(columns: dict[Role, Ragged]) -> tuple[_Columns, _Columns]:
    """Return what the attention mask leaves of columns, and the rest; empty where there is none."""
    mask = columns.pop(Role.ATTENTION_MASK, None)
    if mask is None or mask.values.all():
        return columns, {}
    is_real = mask.values != 0
    return (
        {role: _where(column, is_real) for role, column in columns.items()},
        {role: _where(column, ~is_real) for role, column in columns.items()},
    )


def _where(column: Ragged, is_kept: BoolArray) -> Ragged:
    return Ragged(column.values[is_kept], np.append(0, np.cumsum(is_kept))[column.offsets])


def emptied(column: Ragged, is_gone: BoolArray) -> Ragged:
    """Return a column with rows of no values where `bool[row]` says so."""
    if not is_gone.any():
        return column
    lengths = np.diff(column.offsets)
    kept = column.values[np.repeat(~is_gone, lengths)]
    return Ragged(kept, np.append(0, np.cumsum(np.where(is_gone, 0, lengths))))


def _common_type(parts: Sequence[NDArray[Any]]) -> np.dtype[Any]:
    """Return a type that holds all; numpy would make floats of signed and unsigned 64-bit integers."""
    if not parts:
        return np.dtype(np.int64)
    common = np.result_type(*parts)
    are_whole = all(part.dtype.kind in "biu" for part in parts)
    return np.dtype(np.int64) if are_whole and common.kind == "f" else common


def _sound(rows: PairRows, pairs: PairColumns) -> PairRows:
    """Leave out the rows in which a column is null or of another length than the ids beside it."""
    found: dict[int, Fault] = {}
    for names in (*pairs.sides, pairs.prompt):
        for at, code, message in _misfits(rows, names):
            found.setdefault(at, Fault(code=code, row=int(rows.row_numbers[at]), message=message))
    for at, name in _without_prompt(rows, pairs):
        fault = Fault(code="SHD005", row=int(rows.row_numbers[at]), message=f"null in column {name}")
        found.setdefault(at, fault)
    if not found:
        return rows
    keep = np.ones(rows.row_numbers.size, np.bool_)
    keep[list(found)] = False
    return PairRows(
        row_numbers=rows.row_numbers[keep],
        columns={name: take_rows(column, keep) for name, column in rows.columns.items()},
        nulls={},
        faults=tuple(sorted((*rows.faults, *found.values()), key=lambda fault: fault.row)),
    )


def _misfits(rows: PairRows, names: Mapping[Role, str]) -> Iterator[tuple[int, str, str]]:
    """Yield the rows in which a column beside some ids does not go with them: index, code, message."""
    if not names:
        return
    ids = names[Role.INPUT_IDS]
    n_ids = np.diff(rows.columns[ids].offsets)
    for name in names.values():
        if name not in rows.columns:
            continue
        n_values = np.diff(rows.columns[name].offsets)
        for at in np.flatnonzero(n_values != n_ids).tolist():
            absent = next((n for n in (name, ids) if n in rows.nulls and rows.nulls[n][at]), None)
            if absent is not None:
                yield at, "SHD005", f"null in column {absent}"
            else:
                n = int(n_values[at])
                yield at, "SHD002", f"{name} has {n} value{'s' * (n != 1)} for {n_ids[at]} {ids}"


def _without_prompt(rows: PairRows, pairs: PairColumns) -> Iterator[tuple[int, str]]:
    """Yield the rows of which a side is there and the prompt that it goes on from is null."""
    name = pairs.prompt.get(Role.INPUT_IDS)
    if name is None or name not in rows.nulls:
        return
    n_answers = sum(np.diff(rows.columns[side[Role.INPUT_IDS]].offsets) for side in pairs.sides)
    yield from ((at, name) for at in np.flatnonzero(rows.nulls[name] & (n_answers > 0)).tolist())


class PairBuffer(RowCollector[str]):
    """Collect rows of pairs and faults until they make a block."""

    def __init__(self, pairs: PairColumns, roles: frozenset[Role]) -> None:
        """Begin empty, for rows as `row_of_pair` gives them."""
        self._pairs = pairs
        columns = columns_of_roles(pairs, roles)
        self._ids = columns[Role.INPUT_IDS]
        super().__init__([name for names in columns.values() for name in names])

    def add(self, number: int, row: Mapping[str, NDArray[Any] | None]) -> None:
        """Append a row; none stands for null."""
        for name, values in row.items():
            self._nulls[name].append(values is None)
        super().add(number, {name: _NOTHING if v is None else v for name, v in row.items()})

    def take(self) -> RawRows:
        """Return what was collected, joined, and begin anew."""
        nulls = {name: np.array(flags) for name, flags in self._nulls.items() if any(flags)}
        numbers, columns, faults = self._drained()
        rows = PairRows(row_numbers=numbers, columns=columns, nulls=nulls, faults=faults)
        return join_pairs(rows, self._pairs)

    def _clear(self) -> None:
        super()._clear()
        self._nulls: dict[str, list[bool]] = {name: [] for name in self._keys}

    def _n_values(self, row: Mapping[str, NDArray[Any]]) -> int:
        return sum(row[name].size for name in self._ids)


_NOTHING: BoolArray = np.empty(0, np.bool_)


def row_of_pair(
    row: Mapping[str, Any], columns: Mapping[Role, tuple[str, ...]]
) -> dict[str, NDArray[Any] | None]:
    """Return the columns of one row; what is null or not there is none.

    Args:
        row: Python values by column.
        columns: stored columns by role, as `columns_of_roles` gives them.

    Raises:
        BadRowError: a value is no list, or its items are not what the role takes.
    """
    found: dict[str, NDArray[Any] | None] = {}
    for role, names in columns.items():
        for name in names:
            value = row.get(name)
            if value is not None and np.ndim(value) == 0 and not isinstance(value, (list, tuple)):
                raise BadRowError("SHD001", f"{name} is a single value, expected a list")
            found[name] = None if value is None else row_values(role, name, value)
    return found
