"""The reference: opened, read once into `Samples`, and read again where the tokens of some are needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.engine.scan import ShardPlan
from packlint.errors import UnreadableError
from packlint.matching.residue import batches, gather
from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.model.batch import UNKNOWN_ID, PackBatch
from packlint.model.metadata import Categories
from packlint.model.spec import DatasetSpec
from packlint.readers.reference import open_reference, reference_reading
from packlint.readers.shard import Settings, Shard
from packlint.summaries.cores import core_hashes, cores_of
from packlint.summaries.samples import Samples

__all__ = [
    "SampleBlock",
    "SampleRows",
    "SamplesObserver",
    "blocks",
    "plan_reference",
    "plan_samples",
]

SampleBlock = tuple[IntArray, Int64Array, Int64Array]
"""Tokens of samples end to end, `int64[sample + 1]` where they begin and end, and their numbers."""

_COLUMNS = (
    ("shards", np.int32),
    ("rows", np.int64),
    ("first", np.uint64),
    ("second", np.uint64),
    ("heads", np.int32),
    ("n_tokens", np.int64),
    ("tails", np.int32),
    ("n_targets", np.int64),
    ("ids", np.int64),
)


def plan_reference(
    paths: Sequence[str], settings: Settings, tokenizer: str | None, declared: DatasetSpec
) -> tuple[ShardPlan, ...]:
    """Return how the shards of a reference are read.

    Raises:
        NoInputError: a path matches nothing.
        UnreadableError: a file is damaged; half a reference would make samples seem lost.
        UsageError: settings that make no sense.
    """
    shards, broken = open_reference(paths, settings, tokenizer)
    for name, error in broken:
        raise UnreadableError(f"reference {name}: {error}")
    return plan_samples(shards, declared)


def plan_samples(shards: Sequence[Shard], declared: DatasetSpec) -> tuple[ShardPlan, ...]:
    """Return how shards are read of which every row is a sample.

    Raises:
        UsageError: nothing says where the documents of a stream end.
    """
    plans = []
    for index, shard in enumerate(shards):
        reading = reference_reading(shard, index, declared)
        plans.append(ShardPlan(shard, reading, frozenset(reading.layout.columns)))
    return tuple(plans)


@dataclass(slots=True)
class SampleRows:
    """Collect samples batch by batch, in any order."""

    chunks: list[dict[str, Any]] = field(default_factory=list)
    metadata: list[Mapping[str, Categories]] = field(default_factory=list)
    has_targets: bool = False

    def merge(self, other: SampleRows) -> SampleRows:
        """Return the samples of both."""
        has_targets = self.has_targets or other.has_targets
        return SampleRows(self.chunks + other.chunks, self.metadata + other.metadata, has_targets)

    def samples(self, names: tuple[str, ...], specials: tuple[int, ...]) -> Samples:
        """Return all samples, sorted by shard and row."""
        columns: dict[str, Any] = {
            name: np.concatenate([chunk[name] for chunk in self.chunks])
            if self.chunks
            else np.zeros(0, dtype)
            for name, dtype in _COLUMNS
        }
        # Stable: samples of one row came in order.
        order = np.lexsort((columns["rows"], columns["shards"]))
        columns = {name: column[order] for name, column in columns.items()}
        first, second, ids = columns.pop("first"), columns.pop("second"), columns.pop("ids")
        return Samples(
            names=names,
            hashes=(first, second),
            has_targets=self.has_targets,
            ids=ids if np.any(ids != UNKNOWN_ID) else None,
            metadata=self._metadata(order),
            specials=specials,
            **columns,
        )

    def _metadata(self, order: Int64Array) -> dict[str, Categories]:
        known = sorted({name for columns in self.metadata for name in columns})
        sizes = [chunk["rows"].size for chunk in self.chunks]
        found = {}
        for name in known:
            unknown = [Categories((), np.full(size, -1, np.int32)) for size in sizes]
            parts = [columns.get(name, blank) for columns, blank in zip(self.metadata, unknown, strict=True)]
            found[name] = Categories.concatenate(parts).take(order)
        return found


@dataclass(frozen=True, slots=True)
class SamplesObserver:
    """Add up the samples of a reference.

    Args:
        specials: ids that do not count at the ends of samples.
    """

    specials: tuple[int, ...]
    key = "samples"

    def zero(self) -> SampleRows:
        """Return no samples."""
        return SampleRows()

    def observe(self, summary: SampleRows, batch: PackBatch) -> SampleRows:
        """Add the samples of a batch, one per segment."""
        segments = batch.segments
        cores = cores_of(batch, self.specials)
        first, second = core_hashes(batch, self.specials)
        summary.chunks.append(
            {
                "shards": np.full(len(segments), batch.shard.index, np.int32),
                "rows": batch.pack_numbers[segments.packs],
                "first": first,
                "second": second,
                "heads": (cores.starts - segments.starts).astype(np.int32),
                "n_tokens": cores.lengths,
                "tails": (segments.stops - cores.stops).astype(np.int32),
                "n_targets": batch.targets_per_segment + batch.outside_per_segment,
                "ids": np.full(len(segments), UNKNOWN_ID) if batch.sample_ids is None else batch.sample_ids,
            }
        )
        summary.metadata.append(batch.metadata)
        summary.has_targets |= batch.loss_weight is not None
        return summary


def blocks(plans: Sequence[ShardPlan], samples: Samples, is_wanted: BoolArray) -> Iterator[SampleBlock]:
    """Yield the tokens of some samples, in rising order of their numbers; reads only parts that hold some."""
    for index, plan in enumerate(plans):
        low, high = np.searchsorted(samples.shards, (index, index + 1)).tolist()
        wanted_here = is_wanted[low:high]
        for batch, first in batches(plan, samples.rows[low:high], wanted_here):
            wanted = np.flatnonzero(wanted_here[first : first + batch.n_segments])
            if wanted.size == 0:
                continue
            places, offsets = gather(batch.segments.starts[wanted], batch.segments.stops[wanted])
            yield batch.tokens[places], offsets, low + first + wanted
