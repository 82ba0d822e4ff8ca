"""ORD001 homogeneous-batches: consecutive batches hold less variety than shuffled packs would."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, Judgement, RuleMeta
from packlint.summaries.order import keeps_no_order
from packlint.summaries.order_effects import batches, effects, sizes_by_name, unknown_contents
from packlint.summaries.pack_order import PackOrder
from packlint_rules.order import OrderRule, packs_of

_NEEDS = (Need.PACKS,)


class HomogeneousBatches(OrderRule):
    """Packs that are trained on together, or one after the other, are more alike than chance makes them.

    ## What it checks
    Packs in stored order, dealt to batches as the options say; where no size is given a pack is a batch, and
    neighbours are compared. Cramér's V of batch and category for every metadata column, and its like for log
    sample lengths (eta): shuffled packs give 0 on average, batches of one kind give 1. Found is what exceeds
    the limit and four standard deviations.

    ## Why it matters
    Gradients of one batch pull one way, of the next another: loss goes up and down, and what came last is
    remembered best.

    ## How to fix
    Shuffle samples before packing or packs after it: `shuffle_dataset` in TRL, `dataset.shuffle(seed)` in
    datasets, `shuffle: true` in LLM Foundry; blend domains in Megatron-LM, not one after the other.

    ## Limits
    Not checked where the trainer shuffles packs by itself. Stored order is by name of shard and number of
    pack. Without metadata only lengths are judged (`metadata_columns` 0). Best-fit packers order each buffer
    by length: found where nothing shuffles after them. The rest of a cut sample does not count; 64 packs at
    least.

    ## Sources
    huggingface/trl#2030 (shuffle before packing), InternLM/xtuner#817, lhotse-speech/lhotse#364 (saw-tooth
    loss).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How packs fall into batches, and how alike these may be.

        Args:
            packs_per_batch: packs of one rank in one batch.
            n_ranks: data-parallel ranks.
            contiguous: each rank reads a stretch of the data set of its own; else ranks take turns.
            judges_stored_order: the trainer was told not to shuffle.
            max_effect: Cramér's V, or eta, above what shuffling gives.
        """

        packs_per_batch: int = 1
        n_ranks: int = 1
        contiguous: bool = False
        judges_stored_order: bool = False
        max_effect: float = 0.2

    meta = RuleMeta(
        code="ORD001", name="homogeneous-batches", severity=Severity.WARNING, since="0.1.0", needs=_NEEDS
    )
    why = "Batches of one kind make the loss go up and down, and what came last is remembered best."
    fix = "Shuffle samples before packing, or packs after it."
    good = (packs_of(*[2, 4, 4, 2] * 16),)
    bad = (packs_of(*[2] * 32, *[4] * 32),)

    def judge(self, summary: PackOrder, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the batches with what shuffling gives."""
        options, sequence = self.options, summary.in_order()
        grouping = batches(
            len(sequence), options.packs_per_batch, options.n_ranks, contiguous=options.contiguous
        )
        found = effects(sequence, grouping)
        bad = [effect for effect in found if effect.is_more_than(options.max_effect)]
        if not bad:
            return
        size = max(options.packs_per_batch * options.n_ranks, 1)
        who = "neighbouring packs are" if size == 1 else f"packs of one batch ({size:,}) are"
        yield Judgement(
            message=f"{who} alike in {' and in '.join(e.words for e in bad)}; shuffled: 0; allowed:"
            f" {options.max_effect:.3g}",
            n_hits=len(sequence) // size,
            confidence=Confidence.CERTAIN if sequence.is_certain else Confidence.LIKELY,
            n_packs=len(sequence),
            measured=sizes_by_name(sequence, found),
        )

    def unchecked(self, batch: PackBatch) -> str | None:
        """Return why stored order does not matter, or that nothing is known to compare."""
        is_asked = self.options.judges_stored_order
        return unknown_contents(batch) or keeps_no_order(batch, judges_stored_order=is_asked)
