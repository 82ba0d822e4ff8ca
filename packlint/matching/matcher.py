"""Segments of packs → samples of the reference, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from packlint.model.arrays import Int64Array
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
        owners = self._by_id(batch, sources)
        known = {name: column.take(owners) for name, column in self.samples.metadata.items()}
        return replace(batch, sources=sources, metadata={**known, **batch.metadata})

    def _by_id(self, batch: PackBatch, sources: Int64Array) -> Int64Array:
        """Return the sample of each segment: by its tokens, else by the id that is stored with it.

        Ids of a pack count only where those of its whole copies are the samples' own: `id` may mean anything.
        """
        is_copy = sources >= 0
        if batch.sample_ids is None or self.index.ids is None:
            return sources
        named, packs = self.index.find_ids(batch.sample_ids), batch.segments.packs
        agrees = (named >= 0) & (self.index.contents[np.maximum(named, 0)] == sources)
        n_copies, n_agreeing = (
            np.bincount(packs[which], minlength=batch.n_packs) for which in (is_copy, is_copy & agrees)
        )
        is_sure = (n_copies > 0) & (n_copies == n_agreeing)
        return np.where(~is_copy & is_sure[packs], named, sources)

    def zero(self) -> Matches:
        """Return no segments."""
        return Matches()

    def observe(self, summary: Matches, batch: PackBatch) -> Matches:
        """Add the segments of a prepared batch."""
        specials = self.samples.specials
        summary.add(batch, cores_of(batch, specials), core_hashes(batch, specials))
        return summary
