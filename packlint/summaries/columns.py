"""Columns of the pack table and the sample table, and rows of them as they are kept; see `tables.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.metadata import Categories

__all__ = [
    "ABSENT",
    "BLOCK_ROWS",
    "COLUMNS",
    "RENAMED",
    "UNKNOWN",
    "Column",
    "KeptRows",
    "Table",
    "Values",
    "kind_of",
]

COLUMNS: Mapping[str, Mapping[str, str]] = {
    "packs": {
        "shard": "name of the shard",
        "pack": "number of the pack in its shard",
        "n_tokens": "slots, padding included",
        "n_padding": "slots that are padding",
        "padding_fraction": "n_padding / n_tokens",
        "n_segments": "segments",
        "n_targets": "tokens that the loss asks for",
        "target_fraction": "n_targets over the slots that are not padding",
        "longest_segment": "tokens of the longest segment",
        "mean_context_tokens": "tokens of its own sample that a token of a segment sees on average",
    },
    "samples": {
        "shard": "name of the shard",
        "pack": "number of the pack in its shard, or of the row where rows are samples",
        "segment": "number of the segment in its pack",
        "start": "first token, counted from the pack's start",
        "n_tokens": "tokens",
        "n_targets": "tokens that the loss asks for",
        "target_fraction": "n_targets / n_tokens",
        "is_first": "whether it is the first segment of its pack",
        "ends_with_end_token": "whether it ends in an end token, at most two separators after it",
        "reference_row": "number of the reference's sample that it is a whole copy of",
    },
}
"""Columns of both tables, in order; those of metadata come after them, under their own names."""

ABSENT: Mapping[str, str] = {
    "n_padding": "nothing tells padding from tokens; give --pad-id",
    "padding_fraction": "nothing tells padding from tokens; give --pad-id",
    "ends_with_end_token": "no end token is known; give --eos-id or --tokenizer",
    "reference_row": "no segment was matched with a reference; give --reference",
}
"""Why a column may be missing; it is left out where its value is known of no row."""

RENAMED = "metadata_"
"""Before the name of a column of metadata that is named like one of ours."""

BLOCK_ROWS = 1 << 18
UNKNOWN = -1

_KINDS: Mapping[str, type[np.generic]] = {
    "padding_fraction": np.float64,
    "target_fraction": np.float64,
    "mean_context_tokens": np.float64,
    "is_first": np.bool_,
    "ends_with_end_token": np.bool_,
}


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Hold one column of numbers or truth values.

    Args:
        values: `int64[row]`, `float64[row]` or `bool[row]`.
        known: `bool[row]`, false where the value means nothing; none when all are known.
    """

    values: NDArray[Any]
    known: BoolArray | None = None

    @classmethod
    def counts(cls, stored: NDArray[Any]) -> Values:
        """Return counts of which -1 is unknown."""
        known = stored >= 0
        return cls(stored.astype(np.int64, copy=False), None if known.all() else known)

    @classmethod
    def ratio(cls, part: NDArray[Any], whole: NDArray[Any]) -> Values:
        """Return fractions; unknown where there is nothing to divide by, or the part is not known."""
        known = (whole > 0) & (part >= 0)
        values = np.divide(part, whole, out=np.full(part.shape, np.nan), where=known)
        return cls(values, None if known.all() else known)


Column = Values | Categories


def kind_of(name: str) -> type[np.generic]:
    """Return what one of our columns holds, `shard` aside."""
    return _KINDS.get(name, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class KeptRows:
    """Hold rows of one batch as they are kept, rising.

    Args:
        shard: index of the shard.
        stored: arrays by name; -1 where a value is not known.
        metadata: one code per row.
    """

    shard: int
    stored: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, Categories]

    def __len__(self) -> int:
        return int(self.stored["pack"].size)

    @property
    def span(self) -> tuple[int, int, int]:
        """Shard, first and last pack."""
        packs = self.stored["pack"]
        return self.shard, int(packs[0]), int(packs[-1])

    def of(self, name: str) -> NDArray[Any]:
        """Return one array, -1 throughout where the batch had none."""
        found = self.stored.get(name)
        return np.full(len(self), UNKNOWN, np.int64) if found is None else found

    def take(self, rows: slice | Int64Array) -> KeptRows:
        """Return some rows."""
        metadata = {name: Categories(c.names, c.codes[rows]) for name, c in self.metadata.items()}
        return KeptRows(self.shard, {name: array[rows] for name, array in self.stored.items()}, metadata)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Hold one table, rows in order.

    Args:
        name: `packs` or `samples`.
        names: its columns, those known of no row left out.
        pieces: rows in order.
        shards: name of each shard.
    """

    name: str
    names: tuple[str, ...]
    pieces: tuple[KeptRows, ...]
    shards: Sequence[str]

    @property
    def n_rows(self) -> int:
        """Rows."""
        return sum(map(len, self.pieces))

    def blocks(self, n_rows: int = BLOCK_ROWS) -> Iterator[Mapping[str, Column]]:
        """Yield columns by name, `n_rows` rows at a time and the rest at last; one empty block of no rows.

        Where blocks begin does not depend on how the data was cut into batches.
        """
        waiting: list[KeptRows] = []
        n_waiting = 0
        for piece in self.pieces:
            start = 0
            while n_waiting + len(piece) - start >= n_rows:
                stop = start + n_rows - n_waiting
                yield self._columns([*waiting, piece.take(slice(start, stop))])
                start, waiting, n_waiting = stop, [], 0
            if start < len(piece):
                waiting.append(piece.take(slice(start, None)))
                n_waiting += len(piece) - start
        if waiting or not self.pieces:
            yield self._columns(waiting)

    def columns(self) -> Mapping[str, Column]:
        """Return all rows at once."""
        return next(self.blocks(max(self.n_rows, 1)))

    def _columns(self, pieces: Sequence[KeptRows]) -> dict[str, Column]:
        lengths = [len(piece) for piece in pieces]
        names = {name for piece in pieces for name in piece.stored}
        stored = {name: np.concatenate([piece.of(name) for piece in pieces]) for name in names}
        shard = np.repeat(np.array([p.shard for p in pieces], np.int32), np.array(lengths, np.int64))
        made: dict[str, Column] = {"shard": _compact(Categories(tuple(self.shards), shard))}
        made |= _derive(stored) if pieces else {n: Values(np.empty(0, kind_of(n))) for n in self.names[1:]}
        return {n: made[n] if n in made else _joined(n, pieces, lengths) for n in self.names}


def _derive(stored: Mapping[str, NDArray[Any]]) -> dict[str, Column]:
    made: dict[str, Column] = {
        name: Values.counts(array) for name, array in stored.items() if name != "ends_with_end_token"
    }
    if "segment" in stored:
        ends = stored["ends_with_end_token"]
        made["ends_with_end_token"] = Values(ends == 1, None if (ends >= 0).all() else ends >= 0)
        made["is_first"] = Values(stored["segment"] == 0)
        made["target_fraction"] = Values.ratio(stored["n_targets"], stored["n_tokens"])
        return made
    real = stored["n_tokens"] - np.maximum(stored["n_padding"], 0)
    made["target_fraction"] = Values.ratio(stored["n_targets"], real)
    made["padding_fraction"] = Values.ratio(stored["n_padding"], stored["n_tokens"])
    made["mean_context_tokens"] = Values.ratio(stored["n_contexts"], stored["n_segment_tokens"])
    return made


def _joined(name: str, pieces: Sequence[KeptRows], lengths: Sequence[int]) -> Categories:
    """Return a column of metadata, unknown where a batch has none, with the names that occur, sorted."""
    missing = (np.full(n, UNKNOWN, np.int32) for n in lengths)
    columns = [p.metadata.get(name, Categories((), codes)) for p, codes in zip(pieces, missing, strict=True)]
    return Categories.concatenate([_compact(column) for column in columns])


def _compact(column: Categories) -> Categories:
    """Return the column with the names that occur."""
    counts = np.bincount(column.codes + 1, minlength=len(column.names) + 1)[1:]
    used = np.flatnonzero(counts)
    if used.size == len(column.names):
        return column
    renumber = np.full(len(column.names) + 1, UNKNOWN, np.int32)
    renumber[used] = np.arange(used.size)
    return Categories(tuple(column.names[i] for i in used), renumber[column.codes])
