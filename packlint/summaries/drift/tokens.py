"""Ids: whose share moved, against how much the data differs from itself; special tokens per sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import FloatArray, Int64Array
from packlint.summaries.composition import SPECIALS, Composition
from packlint.summaries.distances import (
    Chance,
    jensen_shannon,
    jensen_shannon_terms,
    l_infinity,
    shares,
    token_null,
)
from packlint.summaries.token_counts import TokenCounts

__all__ = ["Mover", "Special", "TokenDrift", "between"]

_MIN_HALF_FRACTION = 0.25
_UNKNOWN_NOISE = 2.0
"""How far above its null a divergence may lie where no halves tell how bursty the text is."""


@dataclass(frozen=True, slots=True)
class Mover:
    """Say how the share of one id moved.

    Args:
        id: the id.
        reference: its share in the reference.
        packed: its share in the packs.
        contribution: what it adds to the divergence in bits; negative where the share fell.
    """

    id: int
    reference: float
    packed: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Special:
    """Say how often one special id occurs.

    Args:
        id: the id.
        purposes: what it is for.
        reference: how many there are per sample of the reference.
        packed: how many there are per sample of the packs.
    """

    id: int
    purposes: tuple[str, ...]
    reference: float
    packed: float

    def is_odd(self, most: float) -> bool:
        """Tell whether the number per sample changed by other than a whole number, which packers add."""
        change = self.packed - self.reference
        return abs(change - round(change)) > most


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TokenDrift:
    """Compare ids, special ones left out: packers add and strip those.

    Args:
        ids: `int64[id]`, those that occur on either side.
        reference: `float64[id]`, shares in the reference.
        packed: `float64[id]`, shares in the packs.
        chance: the divergence between two draws from one text.
        specials: special ids that occur on either side.
        n_foreign: tokens of both sides whose id no vocabulary has.
    """

    ids: Int64Array
    reference: FloatArray
    packed: FloatArray
    chance: Chance
    specials: tuple[Special, ...]
    n_foreign: tuple[int, int]

    @property
    def divergence(self) -> float:
        """Jensen-Shannon divergence in bits."""
        return jensen_shannon(self.reference, self.packed)

    def movers(self, most: int) -> list[Mover]:
        """Return the ids that add most to the divergence."""
        terms = jensen_shannon_terms(self.reference, self.packed)
        first = np.lexsort((self.ids, -terms))[:most]
        signs = np.sign(self.packed - self.reference)
        return [
            Mover(
                int(self.ids[i]),
                float(self.reference[i]),
                float(self.packed[i]),
                float(signs[i] * terms[i]),
            )
            for i in first.tolist()
            if terms[i] > 0
        ]

    def distances(self) -> dict[str, float]:
        """Return all effect sizes by name."""
        return {
            "js": self.divergence,
            "js_null": self.chance.null,
            "js_within": self.chance.most,
            "l_infinity": l_infinity(self.reference, self.packed),
        }


def between(reference: Composition, packed: Composition) -> TokenDrift | None:
    """Return the comparison; none where a side has no tokens but special ones."""
    purposes = _purposes(reference, packed)
    width = max(reference.tokens.halves.shape[1], packed.tokens.halves.shape[1])
    sides = [_plain_halves(side.tokens, width, purposes) for side in (reference, packed)]
    counts = [halves.sum(axis=0) for halves in sides]
    if not (counts[0].any() and counts[1].any()):
        return None
    ids = np.flatnonzero(counts[0] + counts[1])
    null = token_null(counts[0][ids], counts[1][ids])
    within = [d for halves in sides if (d := _within(halves)) is not None]
    most = max(within) if len(within) == len(sides) else _UNKNOWN_NOISE * null
    return TokenDrift(
        ids=ids,
        reference=shares(counts[0][ids]),
        packed=shares(counts[1][ids]),
        chance=Chance(0.0, 0.0) if reference.is_source else Chance(null, most),
        specials=_specials(reference, packed, purposes),
        n_foreign=(reference.tokens.n_foreign, packed.tokens.n_foreign),
    )


def _purposes(reference: Composition, packed: Composition) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = {}
    for purpose in SPECIALS:
        ids = {i for side in (reference, packed) for i in side.special_ids.get(purpose, ())}
        for i in sorted(ids):
            found[i] = (*found.get(i, ()), purpose)
    return found


def _plain_halves(tokens: TokenCounts, width: int, specials: dict[int, tuple[str, ...]]) -> Int64Array:
    halves = np.zeros((2, width), np.int64)
    halves[:, : tokens.halves.shape[1]] = tokens.halves
    halves[:, [i for i in specials if 0 <= i < width]] = 0
    return halves


def _within(halves: Int64Array) -> float | None:
    """Return how far the two halves of one side are apart; none where one of them is small."""
    sums = halves.sum(axis=1)
    if sums.min() < _MIN_HALF_FRACTION * sums.sum():
        return None
    return jensen_shannon(shares(halves[0]), shares(halves[1]))


def _specials(
    reference: Composition, packed: Composition, purposes: dict[int, tuple[str, ...]]
) -> tuple[Special, ...]:
    found = []
    for i, names in sorted(purposes.items()):
        counts = [side.tokens.of(i) for side in (reference, packed)]
        if any(counts):
            rates = [n / max(side.n_samples, 1) for n, side in zip(counts, (reference, packed), strict=True)]
            found.append(Special(i, names, rates[0], rates[1]))
    return tuple(found)
