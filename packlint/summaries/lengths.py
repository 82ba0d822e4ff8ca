"""Samples by length, exactly, for each length of row apart; what follows for packing and for context.

A sample of n tokens gives contexts of 1, 2, … n tokens (its own ones, the token itself counted):

    samples 3, 1      tokens by context    1: 2    2: 1    3: 1       mean 7/4
    one row of 4      tokens by context    1: 1    2: 1    3: 1    4: 1
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.model.recorded import malformed_packs, sound_segments

__all__ = [
    "Contexts",
    "Lengths",
    "Samples",
    "context_of",
    "context_pairs",
    "count_lengths",
    "tokens_reaching",
]

Samples = Mapping[int, int]
"""How many samples there are, by their tokens."""

_MAX_DENSE = 1 << 16


@dataclass(slots=True)
class Lengths:
    """Count samples by their tokens and by the slots of their rows.

    Args:
        samples: samples by tokens, by room: the known slots of a row, 0 where they are not known.
        n_packs: packs that hold a sample, by room.
        longest_pack: slots of the longest pack, by room.
        n_inferred: packs whose samples were only inferred.
        n_encoder: packs of an encoder, whose samples need room in the decoder's packs too; not counted.
    """

    samples: dict[int, Counter[int]] = field(default_factory=dict)
    n_packs: Counter[int] = field(default_factory=Counter)
    longest_pack: dict[int, int] = field(default_factory=dict)
    n_inferred: int = 0
    n_encoder: int = 0

    def add(self, batch: PackBatch, room: int, extra_tokens: int = 0) -> None:
        """Count the packs of a batch in place; those with a malformed record are left out.

        Args:
            batch: the packs.
            room: known slots of a row, or 0.
            extra_tokens: stored tokens of each sample that take no room.
        """
        lengths, packs = batch.segments.lengths, batch.segments.packs
        if malformed_packs(batch, [batch.segment_source]).any():
            sound = sound_segments(batch)
            lengths, packs = lengths[sound], packs[sound]
        if lengths.size == 0:
            return
        n_packs = 1 + int(np.count_nonzero(packs[1:] != packs[:-1]))
        longest = int(batch.pack_lengths[packs].max())
        counted = self.samples.setdefault(room, Counter())
        counted.update(count_lengths(np.maximum(lengths - extra_tokens, 1) if extra_tokens else lengths))
        self.n_packs[room] += n_packs
        self.longest_pack[room] = max(longest, self.longest_pack.get(room, 0))
        if batch.segment_source is not None and not batch.segment_source.is_explicit:
            self.n_inferred += n_packs

    def merge(self, other: Lengths) -> Lengths:
        """Return the samples of both."""
        merged = Lengths(
            {room: Counter(samples) for room, samples in self.samples.items()},
            self.n_packs + other.n_packs,
            dict(self.longest_pack),
            self.n_inferred + other.n_inferred,
            self.n_encoder + other.n_encoder,
        )
        for room, samples in other.samples.items():
            merged.samples.setdefault(room, Counter()).update(samples)
            merged.longest_pack[room] = max(other.longest_pack[room], merged.longest_pack.get(room, 0))
        return merged

    def by_row(self, min_row_tokens: int) -> dict[int, Samples]:
        """Return the samples by the slots of a row, rising: the known ones, else those of the longest pack.

        Args:
            min_row_tokens: slots from which a row counts.
        """
        found: dict[int, Counter[int]] = {}
        for room, samples in self.samples.items():
            found.setdefault(room or self.longest_pack[room], Counter()).update(samples)
        return {row: found[row] for row in sorted(found) if row >= min_row_tokens}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contexts:
    """Say how much context of their own sample tokens have.

    Args:
        n_tokens: tokens of samples.
        mean_tokens: mean context, which is the effective context length.
        reached: share of tokens that have each of the contexts asked for.
        promised: the same if each row were one sample.
    """

    n_tokens: int
    mean_tokens: float
    reached: tuple[float, ...]
    promised: tuple[float, ...]

    @classmethod
    def of(cls, by_row: Mapping[int, Samples], fractions: Sequence[float]) -> Contexts:
        """Measure the samples.

        Args:
            by_row: samples by the slots of their rows.
            fractions: contexts asked for, as shares of the row.
        """
        n_tokens = {row: sum(tokens * n for tokens, n in of.items()) for row, of in by_row.items()}
        total = max(sum(n_tokens.values()), 1)
        asked = [{row: context_of(row, fraction) for row in by_row} for fraction in fractions]
        reached = [sum(tokens_reaching(by_row[row], least) for row, least in of.items()) for of in asked]
        promised = [sum(n_tokens[row] * (row - least + 1) / row for row, least in of.items()) for of in asked]
        return cls(
            n_tokens=sum(n_tokens.values()),
            mean_tokens=sum(context_pairs(samples) for samples in by_row.values()) / total,
            reached=tuple(n / total for n in reached),
            promised=tuple(n / total for n in promised),
        )


def context_of(row: int, fraction: float) -> int:
    """Return a share of a row in tokens, at least one and at most the row."""
    return min(max(round(fraction * row), 1), row)


def count_lengths(lengths: Int64Array) -> dict[int, int]:
    """Return how often each length occurs.

    Args:
        lengths: `int64[sample]`, positive.
    """
    if lengths.size and lengths.max() < _MAX_DENSE:
        counts = np.bincount(lengths)
        values = np.flatnonzero(counts)
        counts = counts[values]
    else:
        values, counts = np.unique(lengths, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def tokens_reaching(samples: Samples, context_tokens: int) -> int:
    """Return how many tokens see at least `context_tokens` tokens of their own sample, themselves counted."""
    return sum(n * max(0, tokens - max(context_tokens, 1) + 1) for tokens, n in samples.items())


def context_pairs(samples: Samples) -> int:
    """Return the (query, key) pairs inside samples, which is the sum of the contexts of all tokens."""
    return sum(n * (tokens * (tokens + 1) // 2) for tokens, n in samples.items())
