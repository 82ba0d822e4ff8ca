"""Files with columns of text → rows of Python values, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from packlint.errors import UnreadableError
from packlint.readers.arrow_ipc import ArrowFileShard, ArrowReader
from packlint.readers.jsonl import JsonlReader, JsonlShard, read_lines
from packlint.readers.layouts import ColumnKind
from packlint.readers.parquet import ParquetReader, ParquetShard
from packlint.readers.shard import Layout, Part, Role
from packlint.readers.source import Source
from packlint.readers.texts.columns import TextColumns, find_text
from packlint.readers.values import BadRowError

__all__ = ["Row", "Table", "find_table", "numbered_rows"]

Table: TypeAlias = ParquetShard | ArrowFileShard | JsonlShard
Row: TypeAlias = Mapping[str, Any] | BadRowError
"""A row by the names of its columns, or why there is none."""

_COLUMNS_SHOWN = 12
_HEAD_BYTES = 4096
_MOST_ROWS = 1 << 7
"""Rows decoded at a time: texts can be long."""


def find_table(source: Source, name: str) -> tuple[Table, TextColumns] | None:
    """Return a file as a table of text and its columns of text; none when it is no table.

    Raises:
        UnreadableError: it is a table, and damaged or without text.
    """
    found: list[TextColumns] = []

    def choose(kinds: Mapping[str, ColumnKind], marks: Sequence[str]) -> Layout:
        columns = find_text(kinds)
        if columns is None:
            shown = ", ".join(list(kinds)[:_COLUMNS_SHOWN]) or "none"
            raise UnreadableError(f"no column text, messages, or prompt and completion; columns: {shown}")
        found.append(columns)
        return Layout(producer="text", trainer=None, columns={Role.INPUT_IDS: columns.names[0]})

    reader = _reader(source)
    if reader is None:
        return None
    table = reader.open_as(source, name, choose)
    return table, found[0]


def _reader(source: Source) -> ParquetReader | ArrowReader | JsonlReader | None:
    head = source.read(0, _HEAD_BYTES)
    for reader in (ParquetReader(), ArrowReader()):
        if reader.sniff(source, head):
            return reader
    lines = JsonlReader()
    return lines if lines.holds_objects(source, head) else None


def numbered_rows(table: Table, part: Part, names: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """Yield the rows of a part with their numbers.

    Raises:
        UnreadableError: the part is damaged; rows yielded before stay valid.
    """
    if isinstance(table, JsonlShard):
        yield from read_lines(table.source)
        return
    number = part.first_row
    for block in table.read_columns(part, names, _MOST_ROWS):
        columns = [block[name].to_pylist() for name in names]
        for values in zip(*columns, strict=True):
            yield number, dict(zip(names, values, strict=True))
            number += 1
