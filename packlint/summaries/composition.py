"""What a set of samples is made of: lengths, ids, categories, targets and positions, exactly.

Both sides of a comparison are observed alike: packs segment by segment, a reference row by row. All figures
are whole numbers that add up, so that neither the order of batches nor how they were cut can show, and an
earlier build can be saved and compared with without its data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.model.arrays import Int64Array, empty_int64
from packlint.model.batch import PackBatch, Unit
from packlint.model.recorded import malformed_packs
from packlint.model.spans import Spans
from packlint.model.spec import DatasetSpec
from packlint.summaries.histogram import Histogram, padded_sum
from packlint.summaries.plain import MAX_COUNT, Plain
from packlint.summaries.positions import EDGES, bin_runs
from packlint.summaries.shares import PACK_UNIT, CategoryShares
from packlint.summaries.token_counts import MAX_IDS, TokenCounts

__all__ = ["SCHEMA", "SPECIALS", "CategoryShares", "Composition"]

SCHEMA = "packlint/composition/v1"
SPECIALS = ("pad", "bos", "eos", "end_of_turn", "found")
"""What a special id is for; `found`: it stands at the ends of samples, though nobody declared it."""

_COUNTS = ("n_packs", "n_unbounded", "n_inferred", "n_without_targets")
_HISTOGRAMS = ("lengths", "targets", "targets_by_length", "pack_targets")
_REST = ("target_positions", "tokens", "categories", "special_ids")


@dataclass(slots=True, eq=False)
class Composition:
    """Count the samples of one side of a comparison; as a sample stands each segment of a pack.

    Args:
        lengths: samples by tokens, special tokens at their ends left out.
        targets: samples by targets, end tokens that packers add included.
        targets_by_length: targets, by the length of their sample.
        pack_targets: packs by the targets of their samples.
        target_positions: `int64[bin]`, targets by position in their sample; see `positions.py`.
        tokens: ids that are not padding, special tokens included.
        categories: figures by metadata column.
        special_ids: special ids by what they are for.
        n_packs: rows.
        n_unbounded: packs in which nothing records where samples begin.
        n_inferred: samples whose boundaries were only inferred.
        n_without_targets: samples for which nothing says which tokens are targets.
        is_source: packs are compared with the very samples that they were made from, so that nothing is left
            to chance; not saved, and no part of what is equal.
    """

    lengths: Histogram = field(default_factory=Histogram)
    targets: Histogram = field(default_factory=Histogram)
    targets_by_length: Histogram = field(default_factory=Histogram)
    pack_targets: Histogram = field(default_factory=Histogram)
    target_positions: Int64Array = field(default_factory=empty_int64)
    tokens: TokenCounts = field(default_factory=TokenCounts)
    categories: dict[str, CategoryShares] = field(default_factory=dict)
    special_ids: dict[str, frozenset[int]] = field(default_factory=dict)
    n_packs: int = 0
    n_unbounded: int = 0
    n_inferred: int = 0
    n_without_targets: int = 0
    is_source: bool = False

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Composition) else NotImplemented

    @property
    def n_samples(self) -> int:
        """Samples."""
        return self.lengths.total

    @property
    def n_tokens(self) -> int:
        """Tokens of samples, special tokens at their ends left out."""
        return self.lengths.moment

    @property
    def n_targets(self) -> int | None:
        """Targets; none where some samples do not say which tokens are targets."""
        return self.targets.moment if self.has_targets else None

    @property
    def has_targets(self) -> bool:
        """Whether all samples say which tokens are targets."""
        return self.n_without_targets == 0

    @property
    def has_samples(self) -> bool:
        """Whether it is recorded where samples begin and end."""
        return self.n_unbounded == 0

    def observe(
        self, batch: PackBatch, lengths: Int64Array | None = None, starts: Int64Array | None = None
    ) -> None:
        """Count a batch, in place; segments of a malformed record are left out.

        Args:
            batch: packs, or rows of a reference.
            lengths: `int64[segment]`, tokens of each without special tokens at its ends; all where left out.
            starts: `int64[segment]`, flat place of the first of these; the segment's own where left out.
        """
        segments = batch.segments
        lengths = segments.lengths if lengths is None else lengths
        starts = segments.starts if starts is None else starts
        targets = batch.targets_per_segment + batch.outside_per_segment
        packs, metadata = segments.packs, batch.metadata
        malformed = malformed_packs(batch, [batch.segment_source])
        if malformed.any():
            sound = np.flatnonzero(~malformed[packs])
            lengths, starts, targets, packs = (a[sound] for a in (lengths, starts, targets, packs))
            metadata = {name: column.take(sound) for name, column in metadata.items()}
        self.lengths.add(lengths)
        self.n_packs += batch.n_packs
        if batch.segment_source is None and batch.shard.unit is Unit.PACK:
            self.n_unbounded += batch.n_packs
        elif batch.segment_source is not None and not batch.segment_source.is_explicit:
            self.n_inferred += int(lengths.size)
        self.tokens.add(batch)
        self._add_specials(batch.spec)
        loss: tuple[Int64Array, ...] = ()
        if batch.loss_weight is None:
            self.n_without_targets += int(lengths.size)
        else:
            self._add_positions(batch.targets, starts, starts + lengths)
            loss = targets, self._add_targets(lengths, targets, packs, batch.n_packs)
        for name, column in metadata.items():
            self._add_categories(name, CategoryShares.of(column, lengths, *loss))

    def add_samples(self, lengths: Int64Array) -> None:
        """Count samples of which nothing is known but their lengths, in place."""
        self.lengths.add(lengths)
        self.n_without_targets += int(lengths.size)

    def name_specials(self, purpose: str, ids: Iterable[int]) -> None:
        """Say what special ids are for, in place; `purpose` is one of `SPECIALS`."""
        merged = self.special_ids.get(purpose, frozenset()) | frozenset(map(int, ids))
        if merged:
            self.special_ids[purpose] = merged

    def replace_categories(self, column: str, shares: CategoryShares) -> None:
        """Put the figures of a column in the place of those that were observed."""
        self.categories[column] = shares

    def merge(self, other: Composition) -> Composition:
        """Return the counts of both."""
        counts: dict[str, Any] = {n: getattr(self, n).merge(getattr(other, n)) for n in _HISTOGRAMS}
        counts |= {n: getattr(self, n) + getattr(other, n) for n in _COUNTS}
        merged = Composition(
            target_positions=padded_sum(self.target_positions, other.target_positions),
            tokens=self.tokens.merge(other.tokens),
            categories=dict(self.categories),
            special_ids=dict(self.special_ids),
            is_source=self.is_source or other.is_source,
            **counts,
        )
        for column, shares in other.categories.items():
            merged._add_categories(column, shares)
        for purpose, ids in other.special_ids.items():
            merged.name_specials(purpose, ids)
        return merged

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; the same counts give the same data in the same order."""
        return {
            "schema": SCHEMA,
            **{name: getattr(self, name) for name in _COUNTS},
            **{name: getattr(self, name).to_plain() for name in _HISTOGRAMS},
            "target_positions": self.target_positions.tolist(),
            "tokens": self.tokens.to_plain(),
            "categories": {name: self.categories[name].to_plain() for name in sorted(self.categories)},
            "special_ids": {name: sorted(ids) for name, ids in sorted(self.special_ids.items())},
        }

    @classmethod
    def from_dict(cls, data: object, source: str = "summary") -> Composition:
        """Return what `to_dict` gave, everything in it checked.

        Args:
            data: plain data of anyone's.
            source: name of the file, for messages.

        Raises:
            UsageError: naming what is wrong and where.
        """
        top = Plain(data, source=source)
        for name, entry in top.entries():
            if name == "schema":
                entry.text(SCHEMA)
        table = top.table("schema", *_COUNTS, *_HISTOGRAMS, *_REST)
        counts: dict[str, Any] = {name: Histogram.from_plain(table[name]) for name in _HISTOGRAMS}
        counts |= {name: table[name].count() for name in _COUNTS}
        made = cls(
            target_positions=_positions_of(table["target_positions"]),
            tokens=TokenCounts.from_plain(table["tokens"]),
            categories={n: CategoryShares.from_plain(entry) for n, entry in table["categories"].entries()},
            **counts,
        )
        for purpose, entry in table["special_ids"].entries():
            Plain(purpose, entry.path, source).text(*SPECIALS)
            made.name_specials(purpose, entry.counts(MAX_IDS - 1))
        if contradiction := made._contradiction():
            raise top.fault(f"counts that agree: {contradiction}")
        return made

    def _contradiction(self) -> str:
        """Return what cannot be true of any set of samples, or nothing."""
        n_told = self.n_samples - self.n_without_targets
        n_targets = self.targets.moment
        checks = {
            "n_without_targets exceeds the samples": n_told < 0,
            "n_inferred exceeds the samples": self.n_inferred > self.n_samples,
            "n_unbounded exceeds the packs": self.n_unbounded > self.n_packs,
            "targets are not of all samples": self.targets.total != n_told,
            "targets_by_length are not all targets": self.targets_by_length.total != n_targets,
            "pack_targets are not all targets": self.pack_targets.moment != n_targets,
            "pack_targets exceed the packs": self.pack_targets.total > self.n_packs,
            "target_positions exceed the targets": int(self.target_positions.sum()) > n_targets,
        }
        return next((words for words, is_so in checks.items() if is_so), "")

    def _add_specials(self, spec: DatasetSpec) -> None:
        self.name_specials("pad", [spec.pad_id.value] if spec.pad_id else ())
        self.name_specials("bos", [spec.bos_id.value] if spec.bos_id else ())
        self.name_specials("eos", spec.eos_ids.value if spec.eos_ids else ())
        self.name_specials("end_of_turn", spec.end_of_turn_ids.value if spec.end_of_turn_ids else ())

    def _add_targets(
        self, lengths: Int64Array, targets: Int64Array, packs: Int64Array, n_packs: int
    ) -> Int64Array:
        """Count targets of samples and packs, and return the part that each sample has of its pack's."""
        by_pack = np.zeros(n_packs, np.int64)
        np.add.at(by_pack, packs, targets)
        self.targets.add(targets)
        self.targets_by_length.add(lengths, targets)
        self.pack_targets.add(by_pack)
        return targets * PACK_UNIT // np.maximum(by_pack[packs], 1)

    def _add_positions(self, targets: Spans, starts: Int64Array, stops: Int64Array) -> None:
        """Count targets by position; a run that reaches across samples is cut first."""
        if len(targets) == 0 or starts.size == 0:
            return
        sample = np.searchsorted(starts, targets.starts, side="right") - 1
        if (sample != np.searchsorted(starts, targets.stops - 1, side="right") - 1).any():
            targets = targets.split_at(starts)
            sample = np.searchsorted(starts, targets.starts, side="right") - 1
        begin, end = starts[np.maximum(sample, 0)], stops[np.maximum(sample, 0)]
        first = np.maximum(targets.starts, begin) - begin
        last = np.minimum(targets.stops, end) - begin
        kept = (sample >= 0) & (first < last)
        self.target_positions = padded_sum(self.target_positions, bin_runs(first[kept], last[kept]))

    def _add_categories(self, column: str, shares: CategoryShares) -> None:
        mine = self.categories.get(column)
        self.categories[column] = shares if mine is None else mine.merge(shares)


def _positions_of(plain: Plain) -> Int64Array:
    counts = plain.counts(MAX_COUNT >> 8)
    if len(counts) >= EDGES.size or (counts and counts[-1] == 0):
        raise plain.fault(f"at most {EDGES.size - 1} bins, the last not empty")
    return np.array(counts, np.int64)
