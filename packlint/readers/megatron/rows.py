"""Sequences of an indexed dataset → rows, as documents or as windows of the stream.

    sequences      0 0 0 0 0 | 1 1 1 | 2 2 2 2
    documents      row 0       row 1   row 2             DOCUMENT_STARTS 0 · 0 · 0
    windows of 4   row 0   | row 1   | row 2   |         DOCUMENT_STARTS 0 · 0 1 · 0
    cells          - - - - | - | - - | - | - - - |       a window's share of a sequence: what is read, and
                                                         at the same time what is recorded

All of it is array arithmetic over a part; only blocks are counted out in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array
from packlint.readers.megatron.index import Index
from packlint.readers.megatron.stretches import take
from packlint.readers.shard import Fault, Part, Ragged, RawRows, Role

__all__ = ["PIECE_TOKENS", "Pair", "document_rows", "window_rows"]

PIECE_TOKENS = 1 << 22
"""Longest row; longer sequences come in pieces, so that memory stays bounded."""
_FAULTS_NAMED = 20
"""Faults of one block that are named; the rest is counted in one more."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Hold the index of the tokens, and that of the labels of a GPT-NeoX pair, or none."""

    text: Index
    labels: Index | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Sequences:
    """Hold where consecutive sequences lie.

    Args:
        first: number of the first.
        lengths: `int64[sequence]`, tokens.
        starts: `int64[sequence]`, first token in the `.bin`.
        label_lengths: `int64[sequence]`, labels, -1 where the label set ends before; none without labels.
        label_starts: `int64[sequence]`, first label in the label set's `.bin`; none without labels.
    """

    first: int
    lengths: Int64Array
    starts: Int64Array
    label_lengths: Int64Array | None = None
    label_starts: Int64Array | None = None

    @property
    def unlike(self) -> BoolArray:
        """`bool[sequence]`, true where there is not one label per token."""
        if self.label_lengths is None:
            return np.zeros(self.lengths.size, np.bool_)
        return np.asarray(self.label_lengths != self.lengths, np.bool_)

    def stretches(self, which: Int64Array, ahead: Int64Array, lengths: Int64Array) -> _Stretches:
        """Return what lies `ahead` tokens into each of the sequences `which`."""
        labels = None if self.label_starts is None else self.label_starts[which] + ahead
        return _Stretches(self.starts[which] + ahead, labels, lengths)

    def say(self, at: int) -> str:
        """Return what is unlike about a sequence."""
        n_labels = -1 if self.label_lengths is None else int(self.label_lengths[at])
        sequence = f"sequence {self.first + at}"
        if n_labels < 0:
            return f"{sequence} is not in the label set"
        return f"{sequence} has {n_labels} labels for {self.lengths[at]} tokens"


@dataclass(frozen=True, slots=True, eq=False)
class _Stretches:
    """Hold runs of tokens to be read, several of which may make one row.

    Args:
        starts: `int64[stretch]`, first token in the `.bin`.
        label_starts: `int64[stretch]`, first label in its own `.bin`, or none.
        lengths: `int64[stretch]`, tokens.
    """

    starts: Int64Array
    label_starts: Int64Array | None
    lengths: Int64Array

    def __getitem__(self, which: slice | BoolArray) -> _Stretches:
        label_starts = None if self.label_starts is None else self.label_starts[which]
        return _Stretches(self.starts[which], label_starts, self.lengths[which])


def document_rows(pair: Pair, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
    """Yield one row per sequence, or several of the same number for one above `PIECE_TOKENS`."""
    sequences = _sequences(pair, part.first_row, part.first_row + part.n_rows)
    unlike = sequences.unlike
    faults = _faults([(sequences.first + at, sequences.say(at)) for at in _some(unlike)], unlike)
    kept = _Stretches(sequences.starts, sequences.label_starts, sequences.lengths)[~unlike]
    numbers, stretches = _cut(sequences.first + np.flatnonzero(~unlike), kept)
    load = _Loader(pair, roles)
    offsets = _offsets(stretches.lengths)
    edges = np.flatnonzero(np.diff(offsets[:-1] // block_tokens)) + 1
    for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), numbers.size], strict=True):
        starts = Ragged(np.zeros(end - begin, np.int64), np.arange(end - begin + 1))
        block_offsets = offsets[begin : end + 1] - offsets[begin]
        raw = load.block(numbers[begin:end], stretches[begin:end], block_offsets, starts)
        yield replace(raw, faults=faults)
        faults = ()


def _cut(numbers: Int64Array, stretches: _Stretches) -> tuple[Int64Array, _Stretches]:
    """Return the rows with those above `PIECE_TOKENS` cut into pieces."""
    if numbers.size == 0 or stretches.lengths.max() <= PIECE_TOKENS:
        return numbers, stretches
    n_pieces = np.maximum(-(-stretches.lengths // PIECE_TOKENS), 1)
    row = np.repeat(np.arange(numbers.size), n_pieces)
    ahead = (np.arange(row.size) - _offsets(n_pieces)[row]) * PIECE_TOKENS
    labels = stretches.label_starts
    return numbers[row], _Stretches(
        stretches.starts[row] + ahead,
        None if labels is None else labels[row] + ahead,
        np.minimum(stretches.lengths[row] - ahead, PIECE_TOKENS),
    )


def window_rows(
    pair: Pair, part: Part, roles: frozenset[Role], block_tokens: int, window: int
) -> Iterator[RawRows]:
    """Yield the windows of `window` tokens of the stream in file order; the last one may be shorter."""
    stop_row = part.first_row + part.n_rows
    sequences, offsets = _covering(pair, part.first_row * window, min(stop_row * window, pair.text.n_tokens))
    load = _Loader(pair, roles)
    step = max(block_tokens // window, 1)
    for first in range(part.first_row, stop_row, step):
        yield _window_block(sequences, offsets, first, min(first + step, stop_row), window, load)


def _window_block(
    sequences: _Sequences, offsets: Int64Array, first: int, stop: int, window: int, load: _Loader
) -> RawRows:
    window_starts = np.arange(first, stop) * window
    end = min(stop * window, int(offsets[-1]))
    inner = offsets[np.searchsorted(offsets, first * window) : np.searchsorted(offsets, end)]
    begins = np.union1d(window_starts, inner)
    sequence = np.searchsorted(offsets, begins, side="right") - 1
    row = begins // window - first
    unlike = sequences.unlike
    left_out = np.bincount(row[unlike[sequence]], minlength=stop - first) > 0
    cell_of = np.searchsorted(begins, window_starts)
    named = [
        (first + at, _first_unlike(sequences, unlike, sequence[cell_of[at] :])) for at in _some(left_out)
    ]
    kept = ~left_out[row]
    cells = sequences.stretches(sequence, begins - offsets[sequence], np.diff(begins, append=end))[kept]
    rows = np.flatnonzero(~left_out)
    lengths = np.minimum(end - window_starts, window)
    starts = Ragged(
        begins[kept] - window_starts[row[kept]],
        _offsets(np.bincount(row[kept], minlength=left_out.size)[rows]),
    )
    raw = load.block(first + rows, cells, _offsets(lengths[rows]), starts)
    return replace(raw, faults=_faults(named, left_out))


def _first_unlike(sequences: _Sequences, unlike: BoolArray, cells: Int64Array) -> str:
    return sequences.say(int(cells[unlike[cells].argmax()]))


class _Loader:
    """Read stretches of tokens and labels; maps the files for itself."""

    def __init__(self, pair: Pair, roles: frozenset[Role]) -> None:
        self._roles = roles
        self._tokens = pair.text.tokens()
        self._labels = None if pair.labels is None else pair.labels.tokens()

    def block(
        self, numbers: Int64Array, stretches: _Stretches, offsets: Int64Array, document_starts: Ragged
    ) -> RawRows:
        """Return rows whose tokens are the stretches, end to end."""
        columns = {Role.DOCUMENT_STARTS: document_starts}
        if Role.INPUT_IDS in self._roles:
            tokens = take(self._tokens, stretches.starts, stretches.lengths)
            columns[Role.INPUT_IDS] = Ragged(tokens, offsets)
        if Role.LABELS in self._roles and self._labels is not None and stretches.label_starts is not None:
            labels = take(self._labels, stretches.label_starts, stretches.lengths)
            columns[Role.LABELS] = Ragged(labels, offsets)
        wanted = {role: column for role, column in columns.items() if role in self._roles}
        return RawRows(row_numbers=numbers, columns=wanted)


def _sequences(pair: Pair, first: int, stop: int) -> _Sequences:
    lengths, starts = pair.text.lengths(first, stop), pair.text.starts(first, stop)
    if pair.labels is None:
        return _Sequences(first, lengths, starts)
    label_lengths, label_starts = np.full(lengths.size, -1), np.zeros(lengths.size, np.int64)
    label_stop = min(stop, pair.labels.n_sequences)
    if label_stop > first:
        label_lengths[: label_stop - first] = pair.labels.lengths(first, label_stop)
        label_starts[: label_stop - first] = pair.labels.starts(first, label_stop)
    return _Sequences(first, lengths, starts, label_lengths, label_starts)


def _covering(pair: Pair, begin: int, end: int) -> tuple[_Sequences, Int64Array]:
    """Return the sequences around a range of the stream, and `int64[sequence + 1]`, their places in it."""
    text = pair.text
    low = max(int(np.searchsorted(text.section_tokens, begin, side="right")) - 1, 0)
    high = int(np.searchsorted(text.section_tokens, end, side="left"))
    sequences = _sequences(pair, int(text.section_sequences[low]), int(text.section_sequences[high]))
    return sequences, text.section_tokens[low] + _offsets(sequences.lengths)


def _some(mask: BoolArray) -> list[int]:
    found: list[int] = np.flatnonzero(mask)[:_FAULTS_NAMED].tolist()
    return found


def _faults(named: list[tuple[int, str]], all_of_them: BoolArray) -> tuple[Fault, ...]:
    """Return one SHD002 for each row named, and one for all the rest."""
    faults = [Fault(code="SHD002", row=row, message=message) for row, message in named]
    rest = int(np.count_nonzero(all_of_them)) - len(faults)
    if rest:
        message = "labels and tokens differ in length, as in the rows before"
        faults.append(Fault(code="SHD002", row=faults[-1].row, message=message, n_hits=rest))
    return tuple(faults)


def _offsets(lengths: Int64Array) -> Int64Array:
    return np.append(0, np.cumsum(lengths))
