"""ORD003 shard-skew: shards differ in what they hold by more than chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, Judgement, RuleMeta
from packlint.summaries.order_effects import (
    LENGTHS,
    effects,
    shards,
    sizes_by_name,
    unknown_contents,
    unlike_shards,
)
from packlint.summaries.pack_order import PackOrder
from packlint.summaries.places import worst_shards
from packlint_rules.order import OrderRule, packs_of

_NEEDS = (Need.PACKS,)


class ShardSkew(OrderRule):
    """Shards hold different shares of a category, or samples of different length.

    ## What it checks
    All packs against the shard that they lie in: Cramér's V of shard and category for every metadata column,
    and its like for log sample lengths (eta): random shards give 0 on average, shards of one category each
    give 1. Found is what exceeds the limit and four standard deviations.

    ## Why it matters
    A shard is what a worker reads, a resumed run skips and a trial run takes: skewed shards make batches of
    one kind, and a part of them stands for nothing.

    ## How to fix
    Shuffle before writing shards (`dataset.shuffle` in datasets); or mix at reading: blends in Megatron-LM,
    streams with proportions in streaming.

    ## Limits
    Only a note where each shard is of one category, as blends of sources are, and where the trainer shuffles
    by itself, across shards or inside them. Shards of few packs are left out; without metadata only lengths
    are judged (`metadata_columns` 0).

    ## Sources
    NVIDIA/Megatron-Energon#212, PaddlePaddle/PaddleNLP#8825 (blends of unlike sets).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How unlike shards may be.

        Args:
            max_effect: Cramér's V, or eta, above what random shards give.
            min_pure_effect: V from which shards are of one category each, by design.
            min_shard_packs: packs of a shard; smaller ones are left out.
        """

        max_effect: float = 0.2
        min_pure_effect: float = 0.95
        min_shard_packs: int = 16

    meta = RuleMeta(code="ORD003", name="shard-skew", severity=Severity.WARNING, since="0.1.0", needs=_NEEDS)
    why = "Skewed shards make batches of one kind, and a part of them stands for nothing."
    fix = "Shuffle before writing shards, or mix them at reading."
    good = (packs_of(*[2, 4, 4, 2] * 16, shards=[32, 32]),)
    bad = (packs_of(*[2] * 32, *[4] * 32, shards=[32, 32]),)

    def judge(self, summary: PackOrder, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the shards with random ones."""
        options, sequence = self.options, summary.in_order()
        grouping = shards(sequence, options.min_shard_packs)
        found = effects(sequence, grouping) if grouping.n_groups > 1 else []
        bad = [effect for effect in found if effect.is_more_than(options.max_effect)]
        if not bad:
            return
        worst = max(bad, key=lambda effect: effect.size)
        by_design = worst.name != LENGTHS and worst.size >= options.min_pure_effect
        yield Judgement(
            message=f"{grouping.n_groups:,} shards differ in {' and in '.join(e.words for e in bad)}"
            f"{', one category each' * by_design}; at random: 0; allowed: {options.max_effect:.3g}",
            n_hits=grouping.n_groups,
            severity=Severity.INFO if by_design or sequence.is_shuffled else Severity.WARNING,
            confidence=Confidence.LIKELY if sequence.is_inferred else Confidence.CERTAIN,
            n_packs=grouping.packs.size,
            measured=sizes_by_name(sequence, found),
            locations=worst_shards(dataset.shards, *unlike_shards(sequence, grouping, worst)),
        )

    def unchecked(self, batch: PackBatch) -> str | None:
        """Return that nothing is known to compare, or none."""
        return unknown_contents(batch)
