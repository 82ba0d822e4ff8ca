"""What each side of a comparison is made of, added up while it is read."""

from __future__ import annotations

from dataclasses import dataclass

from packlint.model.batch import PackBatch
from packlint.summaries.composition import Composition
from packlint.summaries.cores import cores_of

__all__ = ["CompositionObserver"]


@dataclass(frozen=True, slots=True)
class CompositionObserver:
    """Add up a `Composition`.

    Args:
        specials: ids that do not count at the ends of samples; none where each shard's own conventions
            tell.
    """

    specials: tuple[int, ...] | None = None
    key = "composition"

    def zero(self) -> Composition:
        """Return nothing."""
        composition = Composition()
        composition.name_specials("found", self.specials or ())
        return composition

    def observe(self, summary: Composition, batch: PackBatch) -> Composition:
        """Add the segments of a batch."""
        cores = cores_of(batch, batch.spec.special_ids if self.specials is None else self.specials)
        summary.observe(batch, cores.lengths, cores.starts)
        return summary
