"""Tables and Hugging Face data sets as shards, through the Arrow columns that both have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import pyarrow as pa

from packlint.model.spec import DatasetSpec
from packlint.readers.columns import blocks, column_kinds, stored_columns, stored_spec
from packlint.readers.layouts import layout_by_names
from packlint.readers.memory.shard import FORMAT
from packlint.readers.metadata.arrow import lacks_field, pieces, stored_path
from packlint.readers.metadata.values import METADATA_ROWS, Column
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings

__all__ = ["ArrowShard", "open_dataset", "open_table"]

_PART_ROWS = 1 << 14
_STEP_ROWS = 1 << 10
"""Rows fetched at a time: a data set with an indices mapping gathers (copies) them."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArrowShard:
    """Read a table, or a data set that hands out slices of one.

    Args:
        name: what the report calls it.
        layout: which column means what.
        n_rows: rows in all.
        spec: the storage type of the ids.
        schema: names and types of all columns.
        fetch: gives the rows `[first, stop)` of the named columns.
    """

    name: str
    layout: Layout
    spec: DatasetSpec
    n_rows: int
    schema: pa.Schema
    fetch: Callable[[int, int, list[str]], pa.Table]

    @property
    def format(self) -> str:
        """Name of the format."""
        return FORMAT

    @property
    def n_bytes(self) -> int:
        """No bytes on disk of its own."""
        return 0

    def parts(self) -> Sequence[Part]:
        """Return ranges of 16,384 rows."""
        firsts = range(0, self.n_rows, _PART_ROWS)
        return [Part(i, first, min(_PART_ROWS, self.n_rows - first)) for i, first in enumerate(firsts)]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a part in order.

        Raises:
            UnreadableError: a column holds what its role cannot be.
        """
        columns = stored_columns(self.layout, roles, self.schema.names)
        row = part.first_row
        for batch in self._batches(part, {name for names in columns.values() for name in names}):
            yield from blocks(batch, columns, row, block_tokens, self.layout.pairs)
            row += batch.num_rows

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column."""
        return lacks_field(self.schema, name)

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of a part in order."""
        for batch in self._batches(part, {stored_path(self.schema, name)[0] for name in names}):
            yield from pieces(batch, self.schema, names, most_rows)

    def _batches(self, part: Part, names: set[str]) -> Iterator[pa.RecordBatch]:
        stop = part.first_row + part.n_rows
        for first in range(part.first_row, stop, _STEP_ROWS):
            yield from self.fetch(first, min(first + _STEP_ROWS, stop), sorted(names)).to_batches()


def open_table(table: pa.Table | pa.RecordBatch, name: str, settings: Settings) -> ArrowShard:
    """Return the shard over a table or record batch.

    Raises:
        UnreadableError: no column holds token ids.
    """
    whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table

    def fetch(first: int, stop: int, names: list[str]) -> pa.Table:
        return whole.select(names).slice(first, stop - first)

    layout = layout_by_names(settings.columns)(column_kinds(whole.schema), ())
    spec, schema = stored_spec(whole.schema, layout), whole.schema
    return ArrowShard(name=name, layout=layout, spec=spec, n_rows=whole.num_rows, schema=schema, fetch=fetch)


def open_dataset(dataset: Any, name: str, settings: Settings) -> ArrowShard:
    """Return the shard over a `datasets.Dataset`, in the order of its indices mapping.

    Raises:
        UnreadableError: no column holds token ids.
    """

    def fetch(first: int, stop: int, names: list[str]) -> pa.Table:
        table = dataset.with_format("arrow", columns=names)[first:stop]
        assert _is_table(table), "with_format('arrow') gives tables"
        return table

    schema = dataset.data.table.schema
    layout = layout_by_names(settings.columns)(column_kinds(schema), ("datasets",))
    spec = stored_spec(schema, layout)
    return ArrowShard(name=name, layout=layout, spec=spec, n_rows=len(dataset), schema=schema, fetch=fetch)


def _is_table(value: object) -> TypeGuard[pa.Table]:
    return isinstance(value, pa.Table)
