"""What a manifest declares, measured: figures of each shard that add up to those of any set of shards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import Int64Array, are_among
from packlint.model.batch import PackBatch, PaddingEvidence, Unit
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source, unknown_isolation
from packlint.summaries.contents import ShardContents

__all__ = ["COUNTS", "MASK_TYPES", "Figures", "ShardFigures"]

COUNTS = ("n_packs", "n_segments", "n_tokens", "n_padding", "n_targets")
"""Counts that a manifest declares, of the whole set and of each shard."""

MASK_TYPES = ("causal", "block_causal", "stored")
"""What a trainer's mask can be: one block per pack, one per sample, or as the shard stores it."""

_MAX_AFTER_END_TOKENS = 4
"""An end token may be followed by separators of its template (the line break after a ChatML end marker)."""
_MIN_UNTRAINED_FRACTION = 0.01


@dataclass(frozen=True, slots=True)
class Figures:
    """Hold the figures of some shards together.

    Args:
        counts: exact sums.
        shortest: slots of the shortest pack, without those that its packer adds to `max_seq_len`.
        longest: slots of the longest pack likewise, 0 for none.
    """

    counts: Counter[str]
    shortest: int
    longest: int

    @property
    def padding_fraction(self) -> float | None:
        """Padding over all slots; none where nothing tells it from tokens."""
        n = self.counts
        return n["n_padding"] / n["n_tokens"] if n["n_tokens"] and not n["unknown_padding"] else None

    @property
    def samples_per_pack(self) -> float | None:
        """Mean samples per pack; none where nothing records them, or rows are no packs."""
        n = self.counts
        return n["n_segments"] / n["n_packs"] if n["n_packs"] == n["recorded_packs"] > 0 else None

    @property
    def attention_mask_type(self) -> str | None:
        """One of `MASK_TYPES`, as the trainer builds it; none where that is not known or mixed."""
        n = self.counts
        return next((kind for kind in MASK_TYPES if n["n_packs"] == n[f"{kind}_packs"] > 0), None)

    @property
    def cross_document_attention(self) -> bool | None:
        """Whether samples of a pack can see each other; none where that is not known."""
        kind, per_pack = self.attention_mask_type, self.samples_per_pack
        if kind == "causal" and per_pack is not None and per_pack > 1:
            return True
        return False if kind == "block_causal" else None

    @property
    def boundary_fraction(self) -> float | None:
        """Share of boundaries inside packs at which a begin or end token stands; none without boundaries."""
        n = self.counts
        return n["marked_boundaries"] / n["boundaries"] if n["boundaries"] else None

    @property
    def trains_all(self) -> bool | None:
        """Whether every real token is a target, first ones of samples aside; none without tokens."""
        n = self.counts
        real = n["n_tokens"] - n["n_padding"]
        untrained = real - n["n_targets"] - n["n_segments"]
        return untrained <= _MIN_UNTRAINED_FRACTION * real if real else None


@dataclass(slots=True)
class ShardFigures:
    """Add up the figures of each shard, by shard index.

    Args:
        counts: exact sums.
        lengths: slots of the shortest and of the longest pack.
        contents: content hashes.
    """

    counts: dict[int, Counter[str]] = field(default_factory=dict)
    lengths: dict[int, tuple[int, int]] = field(default_factory=dict)
    contents: ShardContents = field(default_factory=ShardContents)

    def add(self, batch: PackBatch) -> None:
        """Add a batch, in place."""
        shard = batch.shard.index
        self.counts.setdefault(shard, Counter()).update(_count(batch))
        if batch.n_packs:
            slots = _slots(batch)
            lengths = int(slots.min()), int(slots.max())
            self.lengths[shard] = _wider(self.lengths.get(shard, lengths), lengths)
        self.contents = self.contents.merge(ShardContents.of(batch))

    def merge(self, other: ShardFigures) -> ShardFigures:
        """Return the figures of both."""
        merged = ShardFigures(
            {shard: Counter(counts) for shard, counts in self.counts.items()},
            dict(self.lengths),
            self.contents.merge(other.contents),
        )
        for shard, counts in other.counts.items():
            merged.counts.setdefault(shard, Counter()).update(counts)
        for shard, lengths in other.lengths.items():
            merged.lengths[shard] = _wider(merged.lengths.get(shard, lengths), lengths)
        return merged

    def of(self, shards: Iterable[int]) -> Figures:
        """Return the figures of some shards together."""
        total: Counter[str] = Counter()
        lengths = [self.lengths[shard] for shard in shards if shard in self.lengths]
        for shard in shards:
            total.update(self.counts.get(shard, {}))
        return Figures(
            total, min((low for low, _ in lengths), default=0), max((high for _, high in lengths), default=0)
        )

    def entry(self, shard: int) -> dict[str, int | str]:
        """Return what a manifest lists of one shard: `COUNTS` and `content`."""
        counts: Mapping[str, int] = self.counts.get(shard, {})
        content = self.contents.by_shard.get(shard)
        return {name: counts.get(name, 0) for name in COUNTS} | {"content": content.digest if content else ""}


def _wider(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return min(one[0], other[0]), max(one[1], other[1])


def _slots(batch: PackBatch) -> Int64Array:
    """Return `int64[pack]`, slots of each pack without those that its packer adds to `max_seq_len`."""
    contract = batch.shard.contract
    if contract is None:
        return batch.pack_lengths
    n_segments = np.diff(batch.segment_first_in_pack)
    extra = contract.extra_slots_per_pack + contract.extra_slots_per_segment * n_segments
    return np.asarray(np.maximum(batch.pack_lengths - extra, 0), np.int64)


def _count(batch: PackBatch) -> dict[str, int]:
    kind = _mask_type(batch)
    is_recorded = batch.segment_source is not None and batch.shard.unit is Unit.PACK
    counts = {
        "n_packs": batch.n_packs,
        "n_segments": batch.n_segments,
        "n_tokens": batch.n_tokens,
        "n_padding": batch.padding.n_tokens,
        "n_targets": batch.targets.n_tokens,
        "recorded_packs": batch.n_packs * is_recorded,
        "unknown_padding": batch.n_packs * (batch.padding_evidence is PaddingEvidence.UNKNOWN),
    }
    if kind is not None:
        counts[f"{kind}_packs"] = batch.n_packs
    return counts | _boundaries(batch)


def _mask_type(batch: PackBatch) -> str | None:
    if batch.shard.contract is None or batch.shard.unit is not Unit.PACK or unknown_isolation(batch):
        return None
    source = deciding_source(batch)
    if source is BoundarySource.DENSE_MASK:
        return "stored"
    return "causal" if source in (None, BoundarySource.ROWS) else "block_causal"


def _boundaries(batch: PackBatch) -> dict[str, int]:
    """Count the boundaries, and those with a begin token after or an end token just before.

    In a pack a boundary has samples on both sides; documents that are rows of their own end in one.
    """
    if batch.n_segments == 0 or not (batch.spec.end_ids or batch.spec.bos_id):
        return {}
    starts, stops = batch.segments.starts, batch.segments.stops
    if batch.shard.unit is Unit.PACK:
        inner = batch.inner_segments
        firsts, starts, stops = starts[inner], starts[inner - 1], stops[inner - 1]
    else:
        firsts = starts
    marked, ends = are_among(firsts, batch.bos_places), batch.end_places
    if ends.size:
        end = ends[np.maximum(np.searchsorted(ends, stops) - 1, 0)]
        marked |= (starts <= end) & (end < stops) & (stops - end <= _MAX_AFTER_END_TOKENS)
    return {"boundaries": int(firsts.size), "marked_boundaries": int(np.count_nonzero(marked))}
