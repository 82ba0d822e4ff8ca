"""The true segments of a batch, and targets behind them that no pack holds."""

from __future__ import annotations

from dataclasses import dataclass, field

from packlint.model.arrays import Int64Array, empty_int64

__all__ = ["OutsideTargets", "Segments"]


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Hold the true segments, padding excluded.

    Args:
        starts: `int64[segment]`, flat first token, rising.
        stops: `int64[segment]`, flat one past the last token.
        packs: `int64[segment]`, index of the pack in the batch.
    """

    starts: Int64Array
    stops: Int64Array
    packs: Int64Array

    def __len__(self) -> int:
        return int(self.starts.size)

    @property
    def lengths(self) -> Int64Array:
        """`int64[segment]`, tokens of each segment."""
        return self.stops - self.starts


@dataclass(frozen=True, slots=True, eq=False)
class OutsideTargets:
    """Hold targets whose token the pack does not hold (the end token of pre-shifted segments).

    Args:
        segments: `int64[outside]`, index of the segment after whose last token the target comes.
        label_ids: `int64[outside]`, the id asked for.
    """

    segments: Int64Array = field(default_factory=empty_int64)
    label_ids: Int64Array = field(default_factory=empty_int64)

    def __len__(self) -> int:
        return int(self.segments.size)
