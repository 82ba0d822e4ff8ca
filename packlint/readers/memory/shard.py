"""A sequence of mappings as one shard: batches, rows, or a loader of either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError, UsageError
from packlint.model.spec import DatasetSpec
from packlint.readers.collecting import RowBuffer, RowCollector
from packlint.readers.layouts import factors, layout_by_names
from packlint.readers.memory.batches import Batch, dense_row, find_ids, plain
from packlint.readers.memory.items import Items
from packlint.readers.metadata.coding import lacks_value, look_up
from packlint.readers.metadata.values import METADATA_ROWS, Column
from packlint.readers.pairs import PairBuffer, columns_of_roles, row_of_pair
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings
from packlint.readers.values import (
    BadRowError,
    most_common_kinds,
    product,
    row_values,
)

__all__ = ["FORMAT", "MemoryShard", "open_items"]

FORMAT = "memory"
_SAMPLE_ITEMS = 8

_Columns = Mapping[Role, tuple[str, ...]]
_Row = Mapping[Any, Any]
"""Arrays by role, or by the column of a pair."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MemoryShard:
    """Read a sequence of mappings; each is a row or a batch of rows, numbered on through the sequence.

    Args:
        name: what the report calls it.
        layout: which key means what.
        items: the mappings.
        keys: the keys seen, to tell a key from a product of two.
        n_rows: rows in all, 0 when only reading tells.
    """

    name: str
    layout: Layout
    items: Items
    keys: frozenset[str]
    n_rows: int = 0

    @property
    def format(self) -> str:
        """Name of the format."""
        return FORMAT

    @property
    def spec(self) -> DatasetSpec:
        """Nothing: arrays say nothing of conventions."""
        return DatasetSpec()

    @property
    def n_bytes(self) -> int:
        """No bytes on disk."""
        return 0

    def parts(self) -> Sequence[Part]:
        """Return the whole as one piece; its number of rows is 0 when only reading tells."""
        return [Part(0, 0, self.n_rows)]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows in order; one that cannot be read becomes a fault.

        Raises:
            UnreadableError: the loader raised, or is an iterator whose beginning is gone.
        """
        pairs, buffer = self.layout.pairs, self._buffer(roles)
        columns = columns_of_roles(pairs, roles) if pairs else self._columns(roles)
        number = 0
        shape: tuple[int, ...] = ()
        for at, item in enumerate(self.items):
            for row in self._rows_of(item, columns) if pairs is None else self._pairs_of(item, columns):
                # Masks of one block are stacked, so they have one shape.
                new_shape = _mask_shape(row, shape)
                if buffer.is_full(block_tokens) or (new_shape != shape and buffer.n_rows):
                    yield buffer.take()
                shape = new_shape
                if isinstance(row, BadRowError):
                    buffer.add_fault(number, row.code, f"item {at}: {row.message}")
                else:
                    buffer.add(number, row)
                number += 1
        if buffer.n_rows:
            yield buffer.take()

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column; a loader may give its rows in another order the second time."""
        if not self.items.is_repeatable:
            return "cannot be read from a loader or iterator, whose items come once; pass a list"
        firsts = (_values_of(item, name, self._ids_of(item)) for item in self.items.first(_SAMPLE_ITEMS))
        return "no such column" if lacks_value(name, chain.from_iterable(firsts)) else None

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of all rows in order.

        Raises:
            UsageError: a column has not one value per row.
        """
        for item in self.items:
            yield {name: _values_of(item, name, self._ids_of(item)) for name in names}

    def _columns(self, roles: frozenset[Role]) -> dict[Role, tuple[str, ...]]:
        stored = {role: name for role, name in self.layout.columns.items() if role in roles}
        return {role: factors(name, self.keys) for role, name in stored.items()}

    def _buffer(self, roles: frozenset[Role]) -> RowCollector[Any]:
        pairs = self.layout.pairs
        return RowBuffer(self._columns(roles)) if pairs is None else PairBuffer(pairs, roles)

    def _ids_of(self, item: object) -> str:
        """Return the column whose axes tell rows from batches: of pairs, that of a side that is there."""
        ids = factors(self.layout.columns[Role.INPUT_IDS], self.keys)[0]
        if self.layout.pairs is None or not isinstance(item, Mapping):
            return ids
        names = [side[Role.INPUT_IDS] for side in self.layout.pairs.sides]
        return next((name for name in names if item.get(name) is not None), ids)

    def _pairs_of(self, item: object, columns: _Columns) -> Iterator[_Row | BadRowError]:
        """Yield the pairs of an item, or why there is none."""
        n_rows = 1
        try:
            batch = self._batch_of_pairs(item)
            n_rows = batch.n_rows
            stored = [
                (role, name) for role, names in columns.items() for name in names if name in batch.columns
            ]
            rows = {name: batch.rows(role, name) for role, name in stored}
        except BadRowError as bad:
            yield from [bad] * n_rows
            return
        for at in range(n_rows):
            try:
                yield row_of_pair({name: values[at] for name, values in rows.items()}, columns)
            except BadRowError as bad:
                yield bad

    def _batch_of_pairs(self, item: object) -> Batch:
        ids = self._ids_of(item)
        if isinstance(item, Mapping) and item.get(ids) is None:
            return Batch(item, 1, True)  # a row of which both sides are missing
        return _batch_of(item, ids)

    def _rows_of(self, item: object, columns: _Columns) -> Iterator[_Row | BadRowError]:
        """Yield the rows of an item, or why there is none."""
        ids, n_rows = self._ids_of(item), 1
        try:
            batch = _batch_of(item, ids)
            n_rows = batch.n_rows
            cut = {role: [batch.rows(role, name) for name in names] for role, names in columns.items()}
            id_rows = batch.rows(Role.INPUT_IDS, ids)
        except BadRowError as bad:
            yield from [bad] * n_rows
            return
        for at in range(batch.n_rows):
            try:
                row = {role: [parts[at] for parts in cut[role]] for role in columns}
                yield _row(row, columns, id_rows[at])
            except BadRowError as bad:
                yield bad


def _batch_of(item: object, ids: str) -> Batch:
    if not isinstance(item, Mapping):
        raise BadRowError("SHD001", f"it is a {type(item).__name__}, expected a mapping")
    return Batch.of(item, ids)


def _values_of(item: object, name: str, ids: str) -> list[Any]:
    """Return one value per row of an item, as many as `MemoryShard.rows` counts."""
    try:
        batch = Batch.of(item, ids) if isinstance(item, Mapping) else None
    except BadRowError:
        batch = None
    if batch is None:
        return [None]
    value = plain(look_up(batch.columns, name))
    is_list = isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if not is_list or batch.is_single:
        return [value] * batch.n_rows
    if batch.n_rows == 1 and len(value) != 1:
        return [value]
    if len(value) != batch.n_rows:
        raise UsageError(f"{name} has {len(value)} values for {batch.n_rows} rows of token ids")
    return list(value)


def _mask_shape(row: _Row | BadRowError, otherwise: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(row, BadRowError) or Role.DENSE_MASK not in row:
        return otherwise
    shape: tuple[int, ...] = row[Role.DENSE_MASK].shape
    return shape


def _row(row: Mapping[Role, list[Any]], columns: _Columns, ids: Any) -> dict[Role, NDArray[Any]]:
    return {role: _column(role, columns[role], parts, ids) for role, parts in row.items()}


def _column(role: Role, names: tuple[str, ...], parts: list[Any], ids: Any) -> NDArray[Any]:
    if role is Role.DENSE_MASK and parts[0] is not None:
        return dense_row(names[0], parts[0], len(ids))
    return product(names, [row_values(role, name, part) for name, part in zip(names, parts, strict=True)])


def open_items(items: Items, name: str, settings: Settings, n_rows: int = 0) -> MemoryShard:
    """Return the shard over a sequence of mappings, told by its first few.

    Args:
        items: the mappings.
        name: what the report calls the shard.
        settings: what the user told.
        n_rows: rows in all, 0 when only reading tells.

    Raises:
        UnreadableError: no mapping holds token ids, or there is none.
    """
    found, why = [], "it is empty"
    for item in items.first(_SAMPLE_ITEMS):
        if not isinstance(item, Mapping):
            why = f"its items are {type(item).__name__}, expected mappings"
            continue
        ids = find_ids(item, settings.columns.get(Role.INPUT_IDS.value))
        if ids is None:
            why = f"no column of token ids among {', '.join(map(str, item)) or 'none'}"
        else:
            found.append(Batch.of(item, ids).kinds())
    if not found:
        raise UnreadableError(why)
    kinds = most_common_kinds(found)
    layout = layout_by_names(settings.columns)(kinds, ())
    return MemoryShard(name=name, layout=layout, items=items, keys=frozenset(kinds), n_rows=n_rows)
