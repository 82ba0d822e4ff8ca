"""`PackBatch`: many packs of one shard, end to end in flat arrays.

tokens            a  b  c  |  d  e  ·  ‖  f  g  h  ·      two packs, three segments, two pads
pack_offsets      0                       6            10
segments.starts   0           3           6
segments.stops             3        5              9
padding                             5-6              9-10
is_target         0  1  1     0  1  0     0  1  1  0      token-aligned: sits on the predicted token
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.model.arrays import (
    BoolArray,
    Int64Array,
    IntArray,
    WeightArray,
    empty_int64,
    sorted_distinct,
)
from packlint.model.boundaries import Boundaries
from packlint.model.context import MaskKind, PaddingEvidence, ShardContext, Unit
from packlint.model.contract import BoundarySource
from packlint.model.derived import derived
from packlint.model.expected import Expected, expected_targets
from packlint.model.id_places import IdPlaces, find_ids
from packlint.model.marker_table import table_of
from packlint.model.metadata import Categories
from packlint.model.passes import find_label_mismatches, find_position_breaks
from packlint.model.roles import Roles
from packlint.model.segments import OutsideTargets, Segments
from packlint.model.spans import Spans
from packlint.model.spec import DatasetSpec, Policy
from packlint.model.spellings import spelling_anchors
from packlint.model.turns import find_roles

__all__ = [
    "UNKNOWN_ID",
    "MaskKind",
    "OutsideTargets",
    "PackBatch",
    "PaddingEvidence",
    "Segments",
    "ShardContext",
    "Unit",
]


UNKNOWN_ID = int(np.iinfo(np.int64).min)
"""Sample id of a segment whose id is null or missing."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PackBatch:
    """Hold packs in canonical form; foreign names ended in the reader.

    Args:
        shard: what is known of the shard.
        pack_numbers: `int64[pack]`, number of each pack in the shard, rising.
        tokens: `int[token]`, ids in the stored width.
        pack_offsets: `int64[pack + 1]`, where packs begin and end in `tokens`.
        segments: the true segments; one per pack where nothing records boundaries.
        segment_source: the evidence they were taken from; none when there is none.
        boundaries: every independent encoding found, as recorded.
        padding: runs of padding.
        padding_evidence: how they were known.
        loss_weight: `bool[token]` or `float32[token]`, token-aligned; none when the shard stores no loss and
            every real token is a target.
        label_ids: `int[token]`, token-aligned stored labels, or none.
        outside_targets: targets whose token the pack does not hold.
        position_ids: `int[token]` as stored, or none.
        mask_kind: what the shard stores of the attention mask.
        dense_mask: `bool[pack, query, key]`, true = may attend; packs of one length; or none.
        metadata: what is known of each segment's sample, by column; one item per segment.
        sources: `int64[segment]`, number of the sample of the reference that the segment is a copy of, -1 for
            none; or none when there is no reference.
        sample_ids: `int64[segment]`, stored id of each segment's sample, `UNKNOWN_ID` where nobody knows; or
            none when they were not asked for.
    """

    shard: ShardContext
    pack_numbers: Int64Array
    tokens: IntArray
    pack_offsets: Int64Array
    segments: Segments
    segment_source: BoundarySource | None = None
    boundaries: Mapping[BoundarySource, Boundaries] = field(default_factory=dict)
    padding: Spans = field(default_factory=Spans.empty)
    padding_evidence: PaddingEvidence = PaddingEvidence.UNKNOWN
    loss_weight: WeightArray | None = None
    label_ids: IntArray | None = None
    outside_targets: OutsideTargets = field(default_factory=OutsideTargets)
    position_ids: IntArray | None = None
    mask_kind: MaskKind = MaskKind.NONE
    dense_mask: BoolArray | None = None
    metadata: Mapping[str, Categories] = field(default_factory=dict)
    sources: Int64Array | None = None
    sample_ids: Int64Array | None = None
    _cache: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def spec(self) -> DatasetSpec:
        """Conventions of the shard."""
        return self.shard.spec

    @property
    def policy(self) -> Policy:
        """What was wanted."""
        return self.shard.policy

    @property
    def n_packs(self) -> int:
        """Packs in this batch."""
        return int(self.pack_offsets.size - 1)

    @property
    def n_tokens(self) -> int:
        """Slots of all packs, padding included."""
        return int(self.tokens.size)

    @property
    def n_segments(self) -> int:
        """True segments, padding runs not counted."""
        return len(self.segments)

    @derived
    def pack_lengths(self) -> Int64Array:
        """`int64[pack]`, slots of each pack."""
        return np.diff(self.pack_offsets)

    @derived
    def real(self) -> Spans:
        """Runs of tokens that are not padding."""
        if len(self.padding) == 0:
            return Spans.from_intervals(np.array([0]), np.array([self.n_tokens]))
        whole = Spans(np.array([0]), np.array([self.n_tokens]))
        return whole.minus(self.padding)

    @derived
    def is_target(self) -> BoolArray | None:
        """`bool[token]`, true where the loss asks for the token; none when no loss is stored."""
        if self.loss_weight is None or self.loss_weight.dtype == np.bool_:
            return self.loss_weight  # type: ignore[return-value]  # bool by the test just made
        return np.asarray(self.loss_weight != 0, np.bool_)

    @derived
    def targets(self) -> Spans:
        """Runs of targets; all real tokens when the shard stores no loss, none in encoder inputs."""
        contract = self.shard.contract
        if contract is not None and not contract.predicts_tokens:
            return Spans.empty()
        return self.real if self.is_target is None else Spans.from_mask(self.is_target)

    @derived
    def label_mismatches(self) -> Int64Array:
        """Flat places of targets whose label id is another than their token's; empty without label ids."""
        if self.label_ids is None or self.is_target is None:
            return empty_int64()
        return find_label_mismatches(self.label_ids, self.tokens, self.is_target)

    @derived
    def targets_per_segment(self) -> Int64Array:
        """`int64[segment]`, targets inside each segment (those outside the pack not counted)."""
        return self.targets.count_within(self.segments.starts, self.segments.stops)

    @derived
    def outside_per_segment(self) -> Int64Array:
        """`int64[segment]`, targets after the segment's last token that the pack does not hold."""
        return np.bincount(self.outside_targets.segments, minlength=self.n_segments)

    @derived
    def segment_first_in_pack(self) -> Int64Array:
        """`int64[pack + 1]`, index of the first segment of each pack, and the number of segments."""
        return np.searchsorted(self.segments.packs, np.arange(self.n_packs + 1))

    @derived
    def segment_numbers(self) -> Int64Array:
        """`int64[segment]`, number of each segment in its pack, from 0."""
        return np.arange(self.n_segments) - self.segment_first_in_pack[self.segments.packs]

    @derived
    def first_segments(self) -> Int64Array:
        """Indices of segments that no other precedes in their pack."""
        return np.flatnonzero(self.segment_numbers == 0)

    @derived
    def inner_segments(self) -> Int64Array:
        """Indices of segments that follow another segment in their pack."""
        return np.flatnonzero(self.segment_numbers > 0)

    @derived
    def edges(self) -> Int64Array:
        """Flat places where packs or segments begin or end, rising."""
        return sorted_distinct(self.pack_offsets, self.segments.starts, self.segments.stops)

    @derived
    def token_range(self) -> tuple[int, int]:
        """Smallest and largest id; `(0, -1)` when there are no tokens."""
        return self.special_places.token_range

    @derived
    def position_breaks(self) -> Int64Array:
        """Flat places where the position is not one more than the one before; empty without positions.

        The first token of the batch is a break; later pack starts are only if the count does not go on.
        """
        return empty_int64() if self.position_ids is None else find_position_breaks(self.position_ids)

    @derived
    def special_places(self) -> IdPlaces:
        """Where the begin and end ids stand, and those that markers and spellings are searched by."""
        bos, chat = self.spec.bos_id, self.shard.chat
        ids = {*self.spec.end_ids, *(() if bos is None else (bos.value,))}
        if chat is not None:
            ids.update(table_of(chat).anchors.tolist(), spelling_anchors(chat.spellings))
        return find_ids(self.tokens, np.array(sorted(ids), np.int64))

    @derived
    def end_places(self) -> Int64Array:
        """Flat places of real tokens that are `eos_ids` or `end_of_turn_ids`."""
        eos = self.spec.eos_ids.value if self.spec.eos_ids else ()
        return self.eos_places if self.spec.end_ids == eos else self.places_of(*self.spec.end_ids)

    @derived
    def eos_places(self) -> Int64Array:
        """Flat places of real tokens that are `eos_ids`."""
        return self.places_of(*(self.spec.eos_ids.value if self.spec.eos_ids else ()))

    @derived
    def bos_places(self) -> Int64Array:
        """Flat places of real tokens that are `bos_id`."""
        return self.places_of(*([self.spec.bos_id.value] if self.spec.bos_id else ()))

    @derived
    def roles(self) -> Roles | None:
        """Who speaks; none when no chat format is known."""
        chat = self.shard.chat
        if chat is None:
            return None
        return find_roles(self.tokens, self.segments.starts, self.segments.stops, chat, self.special_places)

    @derived
    def expected(self) -> Expected | None:
        """Which tokens the policy wants as targets; none when no chat format is known."""
        if self.roles is None or self.shard.chat is None:
            return None
        return expected_targets(
            self.roles,
            self.policy.targets,
            self.shard.chat.train_on,
            real=self.real,
            targets=self.targets,
            segment_stops=self.segments.stops,
        )

    def places_of(self, *ids: int) -> Int64Array:
        """Return the flat places, rising, of real tokens with one of the ids."""
        asked = np.unique(np.array(ids, np.int64))
        known = self.special_places
        places = (known if known.knows(asked) else find_ids(self.tokens, asked)).of(asked)
        return places[~self.padding.contains(places)] if len(self.padding) else places

    def packs_of(self, places: Int64Array) -> Int64Array:
        """Return the pack of each flat token index."""
        return np.searchsorted(self.pack_offsets, places, side="right") - 1

    def segments_of(self, places: Int64Array) -> Int64Array:
        """Return the segment of each flat token index, -1 where it lies in none."""
        if self.n_segments == 0:
            return np.full(places.shape, -1, np.int64)
        segment = np.searchsorted(self.segments.starts, places, side="right") - 1
        inside = (segment >= 0) & (places < self.segments.stops[np.maximum(segment, 0)])
        return np.where(inside, segment, -1)
