"""The two tables that Great Expectations, Parquet and a team's own tools get to see: no token is in them.

packs      one row per pack: how it is filled and trained
samples    one row per segment: where it lies, how long it is, what is known of it

About 60 bytes are kept per pack and 40 per segment, and 4 more per column of metadata. Batches may be added
in any order; rows come out by shard, pack and segment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.batch import PackBatch, PaddingEvidence, Unit
from packlint.model.edges import closed
from packlint.model.metadata import Categories
from packlint.summaries.columns import ABSENT, COLUMNS, RENAMED, UNKNOWN, KeptRows, Table

__all__ = ["TableObserver", "TableRows"]

_MAX_SEPARATOR_TOKENS = 2


@dataclass(frozen=True, slots=True, eq=False)
class TableRows:
    """Collect the rows of both tables; the order in which batches come does not matter.

    Args:
        packs: rows of packs.
        samples: rows of segments.
    """

    packs: tuple[KeptRows, ...] = ()
    samples: tuple[KeptRows, ...] = ()

    def merge(self, other: TableRows) -> TableRows:
        """Return the rows of both."""
        return TableRows(self.packs + other.packs, self.samples + other.samples)

    @classmethod
    def of(cls, batch: PackBatch) -> TableRows:
        """Return the rows of one batch."""
        packs = [_pack_rows(batch)] if batch.shard.unit is Unit.PACK else []
        kept = [tuple(rows for rows in table if len(rows)) for table in (packs, [_sample_rows(batch)])]
        return cls(*kept)

    def tables(self, shards: Sequence[str]) -> dict[str, Table]:
        """Return both tables by name.

        Args:
            shards: name of each shard, by its index.
        """
        return {
            name: Table(name, _names(name, pieces), _ordered(pieces), shards)
            for name, pieces in (("packs", self.packs), ("samples", self.samples))
        }


class TableObserver:
    """Collect the tables while shards are scanned; see `TableRows`."""

    key = "tables"

    def zero(self) -> TableRows:
        """Return no rows."""
        return TableRows()

    def observe(self, summary: TableRows, batch: PackBatch) -> TableRows:
        """Return the summary with the rows of a batch."""
        return summary.merge(TableRows.of(batch))


def _pack_rows(batch: PackBatch) -> KeptRows:
    starts, stops = batch.pack_offsets[:-1], batch.pack_offsets[1:]
    first = batch.segment_first_in_pack
    n_segments = np.diff(first)
    lengths = batch.segments.lengths
    is_filled = n_segments > 0
    firsts = first[:-1][is_filled]
    longest, contexts, inside = (np.zeros(batch.n_packs, np.int64) for _ in range(3))
    if firsts.size:
        longest[is_filled] = np.maximum.reduceat(lengths, firsts)
        contexts[is_filled] = np.add.reduceat(lengths * (lengths + 1) // 2, firsts)
        inside[is_filled] = np.add.reduceat(lengths, firsts)
    n_padding = batch.padding.count_within(starts, stops)
    if batch.padding_evidence is PaddingEvidence.UNKNOWN:
        n_padding = np.full(batch.n_packs, UNKNOWN, np.int64)
    stored = {
        "pack": batch.pack_numbers,
        "n_tokens": stops - starts,
        "n_padding": n_padding,
        "n_segments": n_segments.astype(np.int32),
        "n_targets": batch.targets.count_within(starts, stops),
        "longest_segment": longest,
        "n_contexts": contexts,
        "n_segment_tokens": inside,
    }
    metadata = {name: _shared(column, firsts, is_filled) for name, column in _metadata(batch).items()}
    return _rising(KeptRows(batch.shard.index, stored, metadata))


def _sample_rows(batch: PackBatch) -> KeptRows:
    segments = batch.segments
    ends = np.full(len(segments), UNKNOWN, np.int8)
    if batch.spec.end_ids and len(segments):
        ends = closed(batch, _MAX_SEPARATOR_TOKENS).astype(np.int8)
    stored: dict[str, NDArray[Any]] = {
        "pack": batch.pack_numbers[segments.packs],
        "segment": batch.segment_numbers.astype(np.int32),
        "start": segments.starts - batch.pack_offsets[segments.packs],
        "n_tokens": segments.lengths,
        "n_targets": batch.targets_per_segment,
        "ends_with_end_token": ends,
    }
    if batch.sources is not None:
        stored["reference_row"] = batch.sources
    return _rising(KeptRows(batch.shard.index, stored, _metadata(batch)))


def _metadata(batch: PackBatch) -> dict[str, Categories]:
    """Return the metadata; a column with the name of one of ours is told apart."""
    ours = COLUMNS["packs"].keys() | COLUMNS["samples"].keys()
    return {f"{RENAMED}{n}" if n in ours else n: column for n, column in sorted(batch.metadata.items())}


def _shared(column: Categories, firsts: Int64Array, is_filled: BoolArray) -> Categories:
    """Return one code per pack: that of all its segments, else -1."""
    codes = np.full(is_filled.size, UNKNOWN, np.int32)
    if firsts.size:
        low, high = (extreme.reduceat(column.codes, firsts) for extreme in (np.minimum, np.maximum))
        codes[is_filled] = np.where(low == high, low, UNKNOWN)
    return Categories(column.names, codes)


def _rising(rows: KeptRows) -> KeptRows:
    packs = rows.stored["pack"]
    if (packs[1:] >= packs[:-1]).all():
        return rows
    return rows.take(np.argsort(packs, kind="stable"))


def _names(table: str, pieces: Sequence[KeptRows]) -> tuple[str, ...]:
    unknown = {name for name in ABSENT if not any((piece.of(name) >= 0).any() for piece in pieces)}
    if "n_padding" not in unknown:
        unknown.discard("padding_fraction")
    known = [name for name in COLUMNS[table] if name not in unknown]
    told = {n for piece in pieces for n, column in piece.metadata.items() if (column.codes >= 0).any()}
    return (*known, *sorted(told))


def _ordered(pieces: Sequence[KeptRows]) -> tuple[KeptRows, ...]:
    """Return the rows by shard, pack and segment; readers give parts that do not overlap."""
    return tuple(sorted(pieces, key=lambda rows: rows.span))
