"""What became of every sample of the reference, and where every packed token came from.

    packed = reference - lost + repeated + specials added + replaced + unknown        in tokens

`lost` counts the cores of samples and parts of samples that were not packed, and the special tokens of
samples that are gone altogether; `replaced` what was packed in place of altered tokens; `unknown` the packed
tokens that were led back to no sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from packlint.finding import Location
from packlint.model.arrays import BoolArray, Int64Array, empty_int64, sorted_distinct
from packlint.summaries.matches import PlacedSegments
from packlint.summaries.samples import Samples

__all__ = ["MAX_SHOWN", "Balance", "Reconciliation"]

MAX_SHOWN = 5
"""Places that a finding shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Balance the books, in tokens.

    Args:
        reference: tokens of all samples.
        lost: tokens that were not packed.
        repeated: tokens that were packed once more than they occur.
        specials_added: special tokens at the ends of samples that packers added, less those they stripped.
        replaced: tokens packed in place of altered ones, which are among the lost.
        unknown: packed tokens that were led back to no sample.
        packed: real tokens of all packs.
    """

    reference: int
    lost: int
    repeated: int
    specials_added: int
    replaced: int
    unknown: int
    packed: int

    @property
    def gap(self) -> int:
        """Tokens by which the equation does not close; 0 but for a bug, or tokens outside all segments."""
        known = self.reference - self.lost + self.repeated + self.specials_added
        return self.packed - known - self.replaced - self.unknown

    def to_dict(self) -> dict[str, int]:
        """Return plain data."""
        return {
            "reference_tokens": self.reference,
            "lost_tokens": self.lost,
            "repeated_tokens": self.repeated,
            "special_tokens_added": self.specials_added,
            "replaced_tokens": self.replaced,
            "unknown_tokens": self.unknown,
            "packed_tokens": self.packed,
        }


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reconciliation:
    """Hold the result of matching; arrays have one item per sample of the reference.

    Args:
        samples: the samples.
        segments: all packed segments.
        shards: names of the packed shards; `segments.shards` points into them.
        copies: `int64[sample]`, whole copies in the packs.
        covered: `int64[sample]`, core tokens that pieces hold, where there is no whole copy.
        begins: `bool[sample]`, pieces hold the first core token.
        ends: `bool[sample]`, pieces hold the last core token.
        altered: `int64[sample]`, tokens that were packed otherwise than they are.
        altered_at: places of altered tokens: `first`, `last` and `inside`, in tokens.
        invented_ends: `int64[sample]`, end tokens packed in the middle of the sample.
        n_cuts: `int64[sample]`, places at which the sample goes on in another pack.
        cuts_in_target: `int64[sample]`, those of them after which a target comes first.
        repeated: `int64[sample]`, core tokens packed more often than they occur.
        packed_tokens: `int64[sample]`, core tokens packed, repeats counted each time.
        packed_targets: `int64[sample]`, targets packed.
        places: `int64[sample]`, a segment that holds a copy or a piece, the last of them, or -1.
        unknown_segments: `int64[any]`, segments with tokens that were led back to no sample, rising.
        unknown_tokens: `int64[any]`, how many of each.
        balance: the books.
        has_packed_targets: the packs say which tokens are targets.
        n_meetings: places inside segments at which one sample ends and another begins.
        open_meetings: `int64[any]`, segments in which no token stands at such a place, one entry for each.
        untraced: why pieces were not looked for, or empty.
    """

    samples: Samples
    segments: PlacedSegments
    shards: tuple[str, ...]
    copies: Int64Array
    covered: Int64Array
    begins: BoolArray
    ends: BoolArray
    altered: Int64Array
    altered_at: Mapping[str, int]
    invented_ends: Int64Array
    n_cuts: Int64Array
    cuts_in_target: Int64Array
    repeated: Int64Array
    packed_tokens: Int64Array
    packed_targets: Int64Array
    places: Int64Array
    unknown_segments: Int64Array
    unknown_tokens: Int64Array
    balance: Balance
    n_meetings: int = 0
    open_meetings: Int64Array = field(default_factory=empty_int64)
    has_packed_targets: bool = False
    untraced: str = ""

    @property
    def is_lost(self) -> BoolArray:
        """`bool[sample]`, nothing of it was packed."""
        empty = self.samples.n_tokens == 0
        return np.asarray((self.copies == 0) & (self.covered == 0) & ~empty, np.bool_)

    @property
    def missing(self) -> Int64Array:
        """`int64[sample]`, core tokens that were not packed, altered ones counted."""
        left = self.samples.n_tokens - self.covered
        return np.where(self.copies > 0, 0, np.maximum(left, 0))

    @property
    def is_altered(self) -> BoolArray:
        """`bool[sample]`, tokens of it were packed otherwise than they are."""
        return np.asarray((self.altered > 0) & (self.copies == 0), np.bool_)

    @property
    def is_truncated(self) -> BoolArray:
        """`bool[sample]`, a part of it was packed, unaltered, and the rest was not."""
        part = (self.copies == 0) & (self.covered > 0) & (self.missing > 0)
        return np.asarray(part & ~self.is_altered, np.bool_)

    @property
    def is_split(self) -> BoolArray:
        """`bool[sample]`, it lies in several packs."""
        return np.asarray((self.copies == 0) & (self.n_cuts > 0), np.bool_)

    @property
    def repeats_nothing(self) -> bool:
        """Whether it was seen that no sample was packed more often than it occurs."""
        return self.why_not is None and self.accounts_for_all and not self.repeated.any()

    @property
    def n_packed(self) -> int:
        """Samples in the packs: whole copies, and samples of which only a part was packed."""
        return int(self.copies.sum() + np.count_nonzero((self.copies == 0) & (self.covered > 0)))

    @property
    def accounts_for_all(self) -> bool:
        """Whether every packed token was led back to its sample."""
        return self.balance.unknown == 0 and self.balance.replaced == 0

    @property
    def is_foreign(self) -> bool:
        """Whether nothing at all of the packs was found in the reference."""
        return not self.copies.any() and not self.covered.any()

    @property
    def why_not(self) -> str | None:
        """Why nothing can be said about samples, or none."""
        if self.untraced:
            return self.untraced
        return "nothing of the packs was found in the reference (see TOK003)" if self.is_foreign else None

    def place(self, sample: int, amount: int, note: str) -> Location:
        """Point at a pack that holds a copy or a piece of a sample, or else at its row of the reference."""
        samples = self.samples
        origin = f"sample {int(samples.rows[sample])} of {samples.name_of(sample)}"
        at = int(self.places[sample])
        if at < 0:
            name, row = samples.name_of(sample), int(samples.rows[sample])
            return Location(shard=name, pack=-1, amount=amount, note=f"row {row:,} of the reference: {note}")
        return self.place_of_segment(at, amount, f"{origin}: {note}")

    def place_of_segment(self, segment: int, amount: int, note: str) -> Location:
        """Point at a segment."""
        placed = self.segments
        start = int(placed.starts[segment])
        return Location(
            shard=self.shards[int(placed.shards[segment])],
            pack=int(placed.packs[segment]),
            start=start,
            stop=start + int(placed.lengths[segment]),
            amount=amount,
            note=note,
        )

    def worst_places(self, amounts: Int64Array, what: str) -> tuple[Location, ...]:
        """Point at the samples with the largest amounts, each said to be so many of `what`."""
        return tuple(
            self.place(i, int(amounts[i]), f"{int(amounts[i]):,} {what}") for i in self.worst(amounts)
        )

    def open_places(self) -> tuple[Location, ...]:
        """Point at segments in which samples meet with no token between."""
        shown = sorted_distinct(self.open_meetings)[:MAX_SHOWN].tolist()
        return tuple(self.place_of_segment(i, 1, "two samples, no token between") for i in shown)

    def worst(self, amounts: Int64Array) -> list[int]:
        """Return the samples with the largest amounts above 0, the worst first, a few."""
        order = np.lexsort((np.arange(amounts.size), -amounts))[:MAX_SHOWN]
        return [int(i) for i in order if amounts[i] > 0]
