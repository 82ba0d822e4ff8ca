"""Rows that come one at a time → blocks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array
from packlint.readers.shard import Fault, Ragged, RawRows, Role
from packlint.readers.values import BadRowError

__all__ = ["RowBuffer", "RowCollector", "collected"]

K = TypeVar("K", bound=Hashable)

_MAX_BLOCK_ROWS = 1 << 16
"""Rows, readable or not, after which a block ends however few tokens it has."""
_FAULTS_NAMED = 20
"""Faults of one code that a block names; the rest is counted in one more."""


class RowCollector(ABC, Generic[K]):
    """Collect rows and faults until they make a block."""

    def __init__(self, keys: Iterable[K]) -> None:
        """Begin empty, for rows that all have columns of these keys."""
        self._keys = tuple(keys)
        self._clear()

    def _clear(self) -> None:
        self._numbers: list[int] = []
        self._columns: dict[K, list[NDArray[Any]]] = {key: [] for key in self._keys}
        self._faults: list[Fault] = []
        self._n_faults: Counter[str] = Counter()
        self.n_values = 0
        self.n_rows = 0

    def add(self, number: int, row: Mapping[K, NDArray[Any]]) -> None:
        """Append a row."""
        self._numbers.append(number)
        for key in self._keys:
            self._columns[key].append(row[key])
        self.n_values += self._n_values(row)
        self.n_rows += 1

    def _n_values(self, row: Mapping[K, NDArray[Any]]) -> int:
        return max((row[key].size for key in self._keys), default=0)

    def add_fault(self, number: int, code: str, message: str) -> None:
        """Count a row that is left out."""
        self.n_rows += 1
        self._n_faults[code] += 1
        if self._n_faults[code] <= _FAULTS_NAMED:
            self._faults.append(Fault(code=code, row=number, message=message))

    def is_full(self, block_tokens: int) -> bool:
        """Tell whether what was collected makes a block."""
        return self.n_values >= block_tokens or self.n_rows >= _MAX_BLOCK_ROWS

    @abstractmethod
    def take(self) -> RawRows:
        """Return what was collected, and begin anew."""

    def _drained(self) -> tuple[Int64Array, dict[K, Ragged], tuple[Fault, ...]]:
        numbers = np.array(self._numbers, np.int64)
        columns = {key: _joined(key, values) for key, values in self._columns.items()}
        faults = (*self._faults, *self._unnamed())
        self._clear()
        return numbers, columns, faults

    def _unnamed(self) -> Iterable[Fault]:
        for code, n_faults in self._n_faults.items():
            if n_faults > _FAULTS_NAMED:
                row = max(fault.row for fault in self._faults if fault.code == code)
                n_more = n_faults - _FAULTS_NAMED
                yield Fault(code=code, row=row, message="more rows after this one are alike", n_hits=n_more)


class RowBuffer(RowCollector[Role]):
    """Collect rows by role."""

    def take(self) -> RawRows:
        """Return what was collected, and begin anew."""
        numbers, columns, faults = self._drained()
        return RawRows(row_numbers=numbers, columns=columns, faults=faults)


def collected(
    rows: Iterable[tuple[int, Mapping[K, NDArray[Any]] | BadRowError]],
    buffer: RowCollector[K],
    block_tokens: int,
) -> Iterator[RawRows]:
    """Yield numbered rows in blocks of about `block_tokens` tokens; a bad one becomes a fault.

    Raises:
        UnreadableError: as `rows` do, after the rows before.
    """
    try:
        for number, row in rows:
            if isinstance(row, BadRowError):
                buffer.add_fault(number, row.code, row.message)
            else:
                buffer.add(number, row)
            if buffer.is_full(block_tokens):
                yield buffer.take()
    except UnreadableError:
        if buffer.n_rows:
            yield buffer.take()
        raise
    if buffer.n_rows:
        yield buffer.take()


def _joined(key: Hashable, rows: Sequence[NDArray[Any]]) -> Ragged:
    if key is Role.DENSE_MASK:
        values = np.stack(rows) if rows else np.empty((0, 0, 0), np.bool_)
        return Ragged(values, np.arange(len(rows) + 1))
    offsets: Int64Array = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([row.size for row in rows], out=offsets[1:])
    return Ragged(np.concatenate(rows) if rows else np.empty(0, np.int64), offsets)
