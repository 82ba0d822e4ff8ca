"""Where in their sample tokens and targets sit: a packer that keeps heads loses what stands at the end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.summaries.composition import Composition
from packlint.summaries.distances import (
    Weighted,
    kolmogorov_smirnov,
)
from packlint.summaries.drift import settled
from packlint.summaries.drift.sides import TwoSides
from packlint.summaries.histogram import Histogram
from packlint.summaries.positions import EDGES, bin_lengths

__all__ = ["PositionDrift", "between"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PositionDrift(TwoSides):
    """Compare positions in bins that double.

    Args:
        edges: `int64[bin + 1]`, first position of each bin, and the end of the last.
        reference: figures of each bin, of `tokens` and, where both sides have them, of `targets`.
        packed: the same of the packs.
    """

    edges: Int64Array

    def widest(self, what: str) -> tuple[int, float, float]:
        """Return the position from which on the shares differ most, and what lies from there on."""
        reached = [np.append(0.0, np.cumsum(side)) for side in self.shares(what)]
        place = int(np.argmax(np.abs(reached[0] - reached[1])))
        rest = [float(side[place:].sum()) for side in self.shares(what)]
        return int(self.edges[place]), rest[0], rest[1]

    def distances(self, what: str) -> dict[str, float]:
        """Return all effect sizes by name."""
        found, chance = self.divergence(what)
        return {"js": found, "js_null": chance.null, "ks": kolmogorov_smirnov(*self.shares(what))}


def between(reference: Composition, packed: Composition) -> PositionDrift | None:
    """Return the comparison; none where a side has no tokens, or nothing records where samples begin."""
    sides = reference, packed
    if not all(side.n_tokens and side.has_samples for side in sides):
        return None
    counts = {"tokens": [(bin_lengths(side.lengths), side.lengths) for side in sides]}
    if all(side.has_targets and side.target_positions.any() for side in sides):
        counts["targets"] = [(side.target_positions, side.targets) for side in sides]
    n_bins = max(found.size for pair in counts.values() for found, _ in pair)
    weighted = {w: [_weighted(found, of, n_bins) for found, of in pair] for w, pair in counts.items()}
    return PositionDrift(
        edges=EDGES[: n_bins + 1],
        reference=settled(reference, {what: pair[0] for what, pair in weighted.items()}),
        packed=settled(reference, {what: pair[1] for what, pair in weighted.items()}),
    )


def _weighted(counts: Int64Array, by_sample: Histogram, n_bins: int) -> Weighted:
    """Return the bins, as uncertain as if all tokens of a sample lay in one of them."""
    amounts = np.zeros(n_bins)
    amounts[: counts.size] = counts
    per_sample = Weighted.of(*reversed(by_sample.arrays()))
    size = per_sample.size
    return Weighted(amounts, amounts * (float(amounts.sum()) / size if size else 0.0))
