"""How many samples rows hold, how long those are that stand alone, and what room they leave."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.model.contract import CutPolicy
from packlint.model.spec import Origin

__all__ = ["Rows", "unused_slots"]


@dataclass(slots=True)
class Rows:
    """Count packs by what they hold.

    Args:
        single: packs of one sample, by its tokens.
        n_several: packs of more.
        n_inferred: packs whose samples were only inferred.
        room: smallest known `max_seq_len`, or none.
    """

    single: Counter[int] = field(default_factory=Counter)
    n_several: int = 0
    n_inferred: int = 0
    room: int | None = None

    def add(self, single: Int64Array, n_several: int, n_inferred: int, room: int | None) -> None:
        """Count more packs, in place.

        Args:
            single: `int64[pack]`, tokens of each pack of one sample.
            n_several: packs of more.
            n_inferred: packs whose samples were only inferred.
            room: known `max_seq_len` of their shard, or none.
        """
        lengths, counts = np.unique(single, return_counts=True)
        self.single.update(dict(zip(lengths.tolist(), counts.tolist(), strict=True)))
        self.n_several += n_several
        self.n_inferred += n_inferred
        self.room = _smaller(self.room, room)

    def merge(self, other: Rows) -> Rows:
        """Return the counts of both."""
        single = Counter(self.single)
        single.update(other.single)
        return Rows(
            single,
            self.n_several + other.n_several,
            self.n_inferred + other.n_inferred,
            _smaller(self.room, other.room),
        )

    def lengths(self) -> Int64Array:
        """Return `int64[pack]`, tokens of the packs of one sample, rising."""
        sizes = sorted(self.single)
        return np.repeat(np.array(sizes, np.int64), [self.single[size] for size in sizes])


def unused_slots(batch: PackBatch) -> Int64Array:
    """Return `int64[pack]`, slots that short packs lack of `max_seq_len` and that somebody fills or promised.

    Windows of a stream are full but for the last. A length that was only seen promises nothing, nor does one
    that the format or a manifest states where the trainer runs without padding.
    """
    known, contract = batch.spec.max_seq_len, batch.shard.contract
    nothing = np.zeros(batch.n_packs, np.int64)
    if known is None or known.origin is Origin.DETECTED:
        return nothing
    if contract is not None and contract.cut_policy is CutPolicy.WINDOWS:
        return nothing
    is_stated = known.origin in (Origin.FORMAT, Origin.MANIFEST)
    if contract is not None and contract.isolates_by and is_stated:
        return nothing
    return np.maximum(known.value - batch.pack_lengths, 0)


def _smaller(a: int | None, b: int | None) -> int | None:
    return min((n for n in (a, b) if n is not None), default=None)
