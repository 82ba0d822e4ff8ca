"""Figures of the reference and of the packs by weighting: what all comparisons of shares have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from packlint.model.arrays import FloatArray
from packlint.summaries.distances import Chance, Weighted, jensen_shannon, jensen_shannon_chance

__all__ = ["TwoSides"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TwoSides:
    """Hold the same figures of both sides.

    Args:
        reference: figures by weighting.
        packed: the same of the packs.
    """

    reference: Mapping[str, Weighted]
    packed: Mapping[str, Weighted]

    @property
    def weightings(self) -> tuple[str, ...]:
        """Weightings for which both sides have figures."""
        return tuple(self.reference)

    @property
    def judged(self) -> tuple[str, ...]:
        """Weightings by which enough samples carry the weight on both sides."""
        return tuple(w for w in self.reference if self.reference[w].is_judged and self.packed[w].is_judged)

    def shares(self, weighting: str) -> tuple[FloatArray, FloatArray]:
        """Return `float64[bin]` of the reference and of the packs."""
        return self.reference[weighting].shares, self.packed[weighting].shares

    def divergence(self, weighting: str) -> tuple[float, Chance]:
        """Return the Jensen-Shannon divergence in bits, and what chance gives."""
        found = jensen_shannon(*self.shares(weighting))
        return found, jensen_shannon_chance(self.reference[weighting], self.packed[weighting])
