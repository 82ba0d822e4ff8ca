"""Segments of packs → samples of the reference, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from packlint.model.batch import PackBatch
from packlint.summaries.cores import core_hashes, cores_of
from packlint.summaries.matches import Matches
from packlint.summaries.samples import SampleIndex, Samples

__all__ = ["Matcher"]


@dataclass(frozen=True, slots=True)
class Matcher:
    """Find the sample that each segment is a whole copy of.

    Args:
        samples: the reference.
        index: its look-up.
    """

    samples: Samples
    index: SampleIndex
    key = "matches"

    def prepare(self, batch: PackBatch) -> PackBatch:
        """Return the batch with its sources, and with what only the reference knows of them."""
        sources = self.index.find(*core_hashes(batch, self.samples.specials))
        known = {name: column.take(sources) for name, column in self.samples.metadata.items()}
        return replace(batch, sources=sources, metadata={**known, **batch.metadata})

    def zero(self) -> Matches:
        """Return no segments."""
        return Matches()

    def observe(self, summary: Matches, batch: PackBatch) -> Matches:
        """Add the segments of a prepared batch."""
        specials = self.samples.specials
        summary.add(batch, cores_of(batch, specials), core_hashes(batch, specials))
        return summary
