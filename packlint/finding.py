"""What a rule says: `Hits` while scanning, `Finding` and `Location` in the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from packlint.model.arrays import Int64Array, empty_int64
from packlint.model.batch import PackBatch
from packlint.model.spans import Spans

__all__ = ["BaselineState", "Confidence", "Excerpt", "Finding", "Hits", "Layout", "Location", "Severity"]


class Severity(StrEnum):
    """How bad it is; what `--fail-on` compares."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """Return 0 for error, 1 for warning, 2 for info."""
        return _SEVERITY_RANKS[self]


class Confidence(StrEnum):
    """How sure we are; a boundary inferred from an end token is never certain."""

    CERTAIN = "certain"
    LIKELY = "likely"
    GUESS = "guess"

    @property
    def rank(self) -> int:
        """Return 0 for certain, 1 for likely, 2 for guess."""
        return _CONFIDENCE_RANKS[self]


_SEVERITY_RANKS = {severity: rank for rank, severity in enumerate(Severity)}
_CONFIDENCE_RANKS = {confidence: rank for rank, confidence in enumerate(Confidence)}


class BaselineState(StrEnum):
    """Whether a baseline knows a finding; without one all are new."""

    NEW = "new"
    KNOWN = "known"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Hits:
    """Hold the places of a fault in one batch; the engine counts all and keeps a few.

    Args:
        starts: `int64[hit]`, flat first token of each place.
        stops: `int64[hit]`, flat one past its last token; equal to the start for a place without tokens.
        packs: `int64[hit]`, pack of each place.
        segments: `int64[hit]`, flat index of the segment, -1 where the place is in none.
        amounts: `int64[hit]`, how bad each is; the worst places become exemplars. Tokens by default.
        measured: numbers that add up over batches and shards, counted also where nothing is wrong.
        confidence: how sure the rule is of these.
    """

    starts: Int64Array = field(default_factory=empty_int64)
    stops: Int64Array = field(default_factory=empty_int64)
    packs: Int64Array = field(default_factory=empty_int64)
    segments: Int64Array = field(default_factory=empty_int64)
    amounts: Int64Array = field(default_factory=empty_int64)
    measured: Mapping[str, int] = field(default_factory=dict)
    confidence: Confidence = Confidence.CERTAIN

    def __len__(self) -> int:
        return int(self.starts.size)

    @classmethod
    def none(cls, **measured: int) -> Hits:
        """Return no hits, with what was measured all the same."""
        return cls(measured=measured)

    @classmethod
    def of_spans(
        cls,
        batch: PackBatch,
        spans: Spans,
        *,
        confidence: Confidence = Confidence.CERTAIN,
        **measured: int,
    ) -> Hits:
        """Return one hit per run of tokens, cut where packs and segments end."""
        if len(spans) == 0:
            return cls(measured=measured)
        cut = spans.split_at(batch.edges)
        return cls(
            starts=cut.starts,
            stops=cut.stops,
            packs=batch.packs_of(cut.starts),
            segments=batch.segments_of(cut.starts),
            amounts=cut.lengths,
            measured=measured,
            confidence=confidence,
        )

    @classmethod
    def of_tokens(
        cls,
        batch: PackBatch,
        places: Int64Array,
        *,
        confidence: Confidence = Confidence.CERTAIN,
        **measured: int,
    ) -> Hits:
        """Return one hit per token index."""
        return cls(
            starts=places,
            stops=places + 1,
            packs=batch.packs_of(places),
            segments=batch.segments_of(places),
            amounts=np.ones(places.size, np.int64),
            measured=measured,
            confidence=confidence,
        )

    @classmethod
    def of_segments(
        cls,
        batch: PackBatch,
        segments: Int64Array,
        *,
        amounts: Int64Array | None = None,
        confidence: Confidence = Confidence.CERTAIN,
        **measured: int,
    ) -> Hits:
        """Return one hit per segment index."""
        starts, stops = batch.segments.starts[segments], batch.segments.stops[segments]
        return cls(
            starts=starts,
            stops=stops,
            packs=batch.segments.packs[segments],
            segments=segments,
            amounts=stops - starts if amounts is None else amounts,
            measured=measured,
            confidence=confidence,
        )

    @classmethod
    def of_packs(
        cls,
        batch: PackBatch,
        packs: Int64Array,
        *,
        amounts: Int64Array | None = None,
        confidence: Confidence = Confidence.CERTAIN,
        **measured: int,
    ) -> Hits:
        """Return one hit per pack index."""
        starts, stops = batch.pack_offsets[packs], batch.pack_offsets[packs + 1]
        return cls(
            starts=starts,
            stops=stops,
            packs=packs,
            segments=np.full(packs.size, -1, np.int64),
            amounts=stops - starts if amounts is None else amounts,
            measured=measured,
            confidence=confidence,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Draw a pack in outline, or the part of it around a place where it has many segments.

    All places are tokens counted from the pack's start.

    Args:
        n_tokens: slots of the pack.
        n_segments: segments of the pack.
        first_segment: number of the first segment that is shown.
        start: first token that is shown.
        stop: one past the last.
        segments: start and stop of each segment shown.
        padding: start and stop of each run of padding shown.
        blocks: start, stop and group of each block of the trainer's mask, whose tokens can see each other; so
            can blocks of one group. None where no trainer is known, or where a dense mask is stored.
        grid: a stored dense mask in a few cells, a row per query: `#` reaches another segment, `o` its own
            only, `.` nothing.
    """

    n_tokens: int
    n_segments: int
    first_segment: int = 0
    start: int = 0
    stop: int = 0
    segments: tuple[tuple[int, int], ...] = ()
    padding: tuple[tuple[int, int], ...] = ()
    blocks: tuple[tuple[int, int, int], ...] = ()
    grid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Say what each token of a location's context is; one value per token, or none at all.

    Args:
        segments: number of the segment in the pack, -1 in none.
        is_padding: whether it is padding.
        is_target: whether the loss asks for it.
        roles: who speaks, or empty where nobody can tell.
        labels: its label, where the shard stores label ids.
        positions: its position, where the shard stores positions.
        layout: the pack in outline.
    """

    segments: tuple[int, ...]
    is_padding: tuple[bool, ...]
    is_target: tuple[bool, ...]
    roles: tuple[str, ...] = ()
    labels: tuple[int, ...] = ()
    positions: tuple[int, ...] = ()
    layout: Layout | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """Point at tokens of a pack; 0-based, half-open.

    Args:
        shard: name of the shard.
        pack: number of the pack in the shard; -1 for the shard as a whole.
        segment: number of the segment in the pack; -1 for none.
        start: first token, counted from the pack's start.
        stop: one past the last token.
        amount: how bad it is, in the rule's own unit.
        context_start: where `context` begins in the pack.
        context: token ids around the place.
        note: what is special about this place, or empty.
        excerpt: what the tokens of `context` are, for those who draw them.
    """

    shard: str
    pack: int
    segment: int = -1
    start: int = 0
    stop: int = 0
    amount: int = 0
    context_start: int = 0
    context: tuple[int, ...] = ()
    note: str = ""
    excerpt: Excerpt | None = None

    @property
    def order(self) -> tuple[int, str, int, int, int]:
        """Sort key: worst first, then by place; total, so that merging is deterministic."""
        return (-self.amount, self.shard, self.pack, self.start, self.stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Report one fault of one shard, or of the data set when `shard` is empty.

    Args:
        code: rule code.
        name: rule name.
        severity: how bad.
        confidence: how sure.
        shard: name of the shard, or empty for the whole data set.
        message: what was measured and what was allowed.
        n_hits: places, all of them.
        n_packs: packs with at least one place.
        n_segments: segments with at least one place.
        n_tokens: tokens in all places.
        measured: the numbers behind the message.
        locations: the worst places, a few.
        baseline: whether a baseline knows it.
    """

    code: str
    name: str
    severity: Severity
    confidence: Confidence
    shard: str
    message: str
    n_hits: int
    n_packs: int = 0
    n_segments: int = 0
    n_tokens: int = 0
    measured: Mapping[str, int | float | str] = field(default_factory=dict)
    locations: tuple[Location, ...] = ()
    baseline: BaselineState = BaselineState.NEW
