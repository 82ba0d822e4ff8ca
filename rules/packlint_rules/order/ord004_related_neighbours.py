"""ORD004 related-neighbours: samples of one source or one prompt share a pack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, Judgement, RuleMeta
from packlint.summaries.order import PackMates, pack_mates
from packlint.summaries.pack_order import PackOrder
from packlint_rules.order import OrderRule, packs_of

_NEEDS = (Need.PACKS, Need.SEGMENTS)
_MIN_PACKS = 16


class RelatedNeighbours(OrderRule):
    """Samples of a pack are related: of one source, one domain, one prompt.

    ## What it checks
    For every metadata column: how often two samples of one pack are of one category, against what shuffling
    samples gives, packs keeping their number of samples. Found is a Cramér's V above the limit, or pairs many
    times as frequent as by chance, both beyond four standard deviations.

    ## Why it matters
    Without isolation related samples see one another: meant in in-context pretraining, a leak where several
    answers to one prompt share a pack. With isolation the pack still is a batch of one kind.

    ## How to fix
    Shuffle samples before packing: `shuffle_dataset` in TRL, `shuffle_before_pack` in XTuner; or keep it,
    where related samples are packed on purpose.

    ## Limits
    Prompts are compared only where a column names them. Packers that put like lengths together put sources
    together that differ in length (V 0.6 where by three times). Preference pairs are not judged.

    ## Sources
    huggingface/trl#2030 (same neighbours in each epoch); In-Context Pretraining, arXiv:2310.10638.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How related samples of a pack may be.

        Args:
            max_effect: Cramér's V of pack and category, above what shuffling gives.
            max_lift: times that pairs of one category may be as frequent as by chance.
            min_pair_fraction: share of pairs that are of one category, from which the lift counts.
        """

        max_effect: float = 0.65
        max_lift: float = 10.0
        min_pair_fraction: float = 0.1

    meta = RuleMeta(
        code="ORD004", name="related-neighbours", severity=Severity.INFO, since="0.1.0", needs=_NEEDS
    )
    why = "Related samples that share a pack see one another where nothing isolates them."
    fix = "Shuffle samples before packing, unless related samples are packed on purpose."
    good = (packs_of(*[4] * 64, domain=[["a", "b"], ["b", "b"], ["a", "a"], ["b", "a"]] * 16),)
    bad = (packs_of(*[4] * 64, domain=[["a", "a"], ["b", "b"]] * 32),)

    def judge(self, summary: PackOrder, dataset: Dataset) -> Iterator[Judgement]:
        """Compare pairs in packs with pairs of all samples."""
        if dataset.policy.pairs_samples:
            return
        sequence = summary.in_order()
        found = [pack_mates(name, column) for name, column in sequence.columns.items()]
        known = [one for one in found if one is not None and one.likeness.n_packs >= _MIN_PACKS]
        bad = [one for one in known if self._is_related(one)]
        if not bad:
            return
        worst = max(bad, key=lambda one: one.size)
        others = f" (also {', '.join(one.name for one in bad if one is not worst)})" if len(bad) > 1 else ""
        yield Judgement(
            message=f"of two samples in one pack {100 * worst.same_fraction:.3g} % are of one {worst.name}"
            f"{others}; shuffled: {100 * worst.shuffled_fraction:.2g} %",
            n_hits=worst.likeness.n_packs,
            confidence=Confidence.LIKELY if sequence.is_inferred else Confidence.CERTAIN,
            n_packs=worst.likeness.n_packs,
            measured={f"{one.name}_effect": one.size for one in known},
        )

    def _is_related(self, one: PackMates) -> bool:
        options, lift = self.options, one.same_fraction / max(one.shuffled_fraction, 1e-12)
        is_frequent = lift > options.max_lift and one.same_fraction >= options.min_pair_fraction
        return one.likeness.is_beyond_chance and (one.size > options.max_effect or is_frequent)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Return that no column says what samples are, or none."""
        return None if batch.metadata else "no metadata column says what samples are of"
