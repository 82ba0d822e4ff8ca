"""A stream → rows: documents, windows, or blocks; array arithmetic over a part, only blocks in Python.

tokens         0 0 0 0 0 | 1 1 1 | 2 2 2 2
documents      row 0       row 1   row 2             DOCUMENT_STARTS 0 · 0 · 0
windows of 4   row 0   | row 1   | row 2   |         DOCUMENT_STARTS 0 · 0 1 · 0
blocks of 4    row 0     | row 1 | row 2   |         no DOCUMENT_STARTS: a scan is no record
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.readers.shard import Part, Ragged, RawRows, Role
from packlint.readers.stream.documents import Documents
from packlint.readers.stream.marks import Cutter, Marks
from packlint.readers.stream.stored import Opens, piece
from packlint.readers.stream.windows import WindowRule

__all__ = ["BLOCK_ROW_TOKENS", "PIECE_TOKENS", "Stream", "block_rows", "document_rows", "window_rows"]

PIECE_TOKENS = 1 << 26
"""Longest row; a longer document comes in pieces, each of which is counted, so that memory stays bounded."""
BLOCK_ROW_TOKENS = 1 << 16
"""Nominal length of a row where neither documents nor windows are known."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stream:
    """Hold what a file says.

    Args:
        tokens: `int[token]`.
        documents: the record of where documents end, or none.
        loss: `uint8[token]` or `bool[token]`, on the token that it is about, or none.
        marks: tokens told to part documents; used where there is no record.
    """

    tokens: Opens
    documents: Documents | None = None
    loss: Opens | None = None
    marks: Marks = field(default_factory=Marks)

    @property
    def n_tokens(self) -> int:
        """Tokens in the stream."""
        return self.tokens.size


def document_rows(
    stream: Stream, documents: Documents, part: Part, roles: frozenset[Role], block_tokens: int
) -> Iterator[RawRows]:
    """Yield one row per document, or several of the same number for one above `PIECE_TOKENS`."""
    load = _Loader(stream, roles)
    edges = documents.edges(part.first_row, part.first_row + part.n_rows)
    numbers, edges = _in_pieces(part.first_row, edges)
    cuts = np.flatnonzero(np.diff((edges[:-1] - edges[0]) // block_tokens)) + 1
    for begin, end in zip([0, *cuts.tolist()], [*cuts.tolist(), numbers.size], strict=True):
        starts = Ragged(np.zeros(end - begin, np.int64), np.arange(end - begin + 1))
        yield load.adjoining(numbers[begin:end], edges[begin : end + 1], starts)


def _in_pieces(first: int, edges: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the numbers and edges of rows, documents above `PIECE_TOKENS` cut into pieces."""
    lengths = np.diff(edges)
    numbers = first + np.arange(lengths.size)
    if lengths.size == 0 or lengths.max() <= PIECE_TOKENS:
        return numbers, edges
    n_pieces = np.maximum(-(-lengths // PIECE_TOKENS), 1)
    row = np.repeat(np.arange(numbers.size), n_pieces)
    ahead = np.arange(row.size) - (np.cumsum(n_pieces) - n_pieces)[row]
    return numbers[row], np.append(edges[row] + ahead * PIECE_TOKENS, edges[-1])


def window_rows(
    stream: Stream, rule: WindowRule, part: Part, roles: frozenset[Role], block_tokens: int
) -> Iterator[RawRows]:
    """Yield the windows of a part; the last one of the stream may be shorter."""
    load = _Loader(stream, roles)
    stop_row = part.first_row + part.n_rows
    end = min((stop_row - 1) * rule.step + rule.length, stream.n_tokens)
    inner = None
    if stream.documents is not None:
        inner = stream.documents.starts_between(part.first_row * rule.step, end)
    n_rows = max(block_tokens // rule.length, 1)
    for first in range(part.first_row, stop_row, n_rows):
        numbers = np.arange(first, min(first + n_rows, stop_row))
        starts = numbers * rule.step
        stops = np.minimum(starts + rule.length, stream.n_tokens)
        record = None if inner is None else _document_starts(inner, starts, stops)
        if rule.step == rule.length:
            yield load.adjoining(numbers, np.append(starts, stops[-1:]), record)
        else:
            yield load.apart(numbers, starts, stops, record)


def _document_starts(inner: Int64Array, starts: Int64Array, stops: Int64Array) -> Ragged:
    """Return for each window 0 and the document starts inside it, counted from its start."""
    low = np.searchsorted(inner, starts, side="right")
    counts = np.searchsorted(inner, stops, side="left") - low + 1
    offsets = np.append(0, np.cumsum(counts))
    row = np.repeat(np.arange(starts.size), counts)
    place = np.arange(row.size) - offsets[:-1][row]
    values = np.zeros(row.size, np.int64)
    later = place > 0
    values[later] = inner[(low[row] + place - 1)[later]] - starts[row[later]]
    return Ragged(values, offsets)


def block_rows(stream: Stream, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
    """Yield stretches of about `BLOCK_ROW_TOKENS` tokens that end where a document does, as far as is told.

    A row number that a long document before it used up is left out.
    """
    load = _Loader(stream, roles)
    cutter = Cutter(load.tokens, stream.marks)
    stop_row, n_rows = part.first_row + part.n_rows, max(block_tokens // BLOCK_ROW_TOKENS, 1)
    for first in range(part.first_row, stop_row, n_rows):
        numbers = np.arange(first, min(first + n_rows, stop_row) + 1)
        cuts = cutter.cuts(np.minimum(numbers * BLOCK_ROW_TOKENS, stream.n_tokens))
        filled = np.diff(cuts) > 0
        if filled.any():
            yield load.adjoining(numbers[:-1][filled], np.append(cuts[:-1][filled], cuts[-1]), None)


class _Loader:
    """Read rows; opens the arrays for itself."""

    def __init__(self, stream: Stream, roles: frozenset[Role]) -> None:
        self._roles = roles
        self.tokens = stream.tokens.view()
        self._loss = None if stream.loss is None else stream.loss.view()

    def adjoining(self, numbers: Int64Array, edges: Int64Array, starts: Ragged | None) -> RawRows:
        """Return rows that lie end to end, as views where the file is mapped."""
        return self._rows(numbers, int(edges[0]), int(edges[-1]), None, edges - edges[0], starts)

    def apart(
        self, numbers: Int64Array, starts: Int64Array, stops: Int64Array, record: Ragged | None
    ) -> RawRows:
        """Return rows that overlap or leave gaps."""
        offsets = np.append(0, np.cumsum(stops - starts))
        row = np.repeat(np.arange(starts.size), stops - starts)
        places = np.arange(row.size) - offsets[:-1][row] + starts[row] - starts[0]
        return self._rows(numbers, int(starts[0]), int(stops[-1]), places, offsets, record)

    def _rows(
        self,
        numbers: Int64Array,
        begin: int,
        end: int,
        places: Int64Array | None,
        offsets: Int64Array,
        record: Ragged | None,
    ) -> RawRows:
        columns: dict[Role, Ragged] = {}
        for role, view in ((Role.INPUT_IDS, self.tokens), (Role.LOSS_MASK, self._loss)):
            if view is not None and role in self._roles:
                values = piece(view, begin, end)
                columns[role] = Ragged(values if places is None else values[places], offsets)
        if record is not None and Role.DOCUMENT_STARTS in self._roles:
            columns[Role.DOCUMENT_STARTS] = record
        return RawRows(row_numbers=numbers, columns=columns)
