"""ORD002 length-sorted-order: sample lengths go along the shard instead of being mixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, Judgement, RuleMeta
from packlint.summaries.order import SortedShard, keeps_no_order, shard_orders
from packlint.summaries.pack_order import PackOrder
from packlint.summaries.places import worst_shards
from packlint_rules.order import OrderRule, packs_of

_NEEDS = (Need.PACKS, Need.SEGMENTS)


class LengthSortedOrder(OrderRule):
    """The packs of a shard follow one another by the length of their samples.

    ## What it checks
    The mean log length of each pack's samples, and its correlation with that of the next pack of the shard
    (also 8 and 64 packs on, and with the place): 0 when shuffled, 1 when sorted. Found is a shard that
    exceeds the limit and chance, where lengths swing by a tenth and more.

    ## Why it matters
    Lengths go with sources and tasks: the loss follows them in saw-teeth, and an early stop or a falling
    learning rate favours some of them.

    ## How to fix
    Shuffle the packed rows: `dataset.shuffle(seed)` after TRL's `pack_dataset`, `shuffle: true` in LLM
    Foundry; in transformers keep the random `train_sampling_strategy`.

    ## Limits
    Not checked where the trainer shuffles packs by itself. Best-fit-decreasing packers (TRL `bfd`) write each
    buffer from long samples to short: 0.8 in rows that nothing shuffles afterwards. A curriculum is meant.
    The rest of a cut sample does not count; shards of 64 packs and more.

    ## Sources
    modelscope/ms-swift#10111 (neighbours 0.76, random 0.08), InternLM/xtuner#817, allenai/allennlp#3985.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How far lengths may follow the order.

        Args:
            max_correlation: of neighbouring packs, in mean log sample length.
            min_swing_fraction: share by which mean lengths swing with the order.
            judges_stored_order: the trainer was told not to shuffle.
        """

        max_correlation: float = 0.3
        min_swing_fraction: float = 0.1
        judges_stored_order: bool = False

    meta = RuleMeta(
        code="ORD002", name="length-sorted-order", severity=Severity.WARNING, since="0.1.0", needs=_NEEDS
    )
    why = "The loss follows the length in saw-teeth, and some lengths are met only early or only late."
    fix = "Shuffle the packed rows, or have the trainer shuffle them."
    good = (packs_of(*[2, 4, 4, 2] * 16),)
    bad = (packs_of(*[2] * 32, *[4] * 32),)

    def judge(self, summary: PackOrder, dataset: Dataset) -> Iterator[Judgement]:
        """Report the shards along which lengths go."""
        sequence = summary.in_order()
        found = shard_orders(sequence)
        bad = {one.shard: one for one in found if self._is_sorted(one)}
        if not bad:
            return
        worst = max(bad.values(), key=lambda one: one.likeness.fraction)
        across = "" if len(found) == 1 else f" in {len(bad):,} of {len(found):,} shards"
        yield Judgement(
            message=f"neighbouring packs hold samples of like length{across}: correlation"
            f" {worst.likeness.fraction:.2f}, {100 * (2**worst.swing - 1):.0f} % either way ({worst.shape});"
            f" shuffled: 0; allowed: {self.options.max_correlation:.3g}",
            n_hits=len(bad),
            confidence=Confidence.CERTAIN if sequence.is_certain else Confidence.LIKELY,
            n_packs=sum(one.likeness.n_packs for one in bad.values()),
            measured={f"correlation_lag_{lag}": value for lag, value in worst.lags.items()}
            | {"trend": worst.trend, "n_shards": len(found)},
            locations=worst_shards(
                dataset.shards,
                {shard: round(1000 * one.likeness.fraction) for shard, one in bad.items()},
                lambda shard: f"correlation {bad[shard].likeness.fraction:.2f}, {bad[shard].shape}",
            ),
        )

    def _is_sorted(self, one: SortedShard) -> bool:
        is_much = one.likeness.fraction > self.options.max_correlation and one.likeness.is_beyond_chance
        return is_much and 2**one.swing - 1 >= self.options.min_swing_fraction

    def unchecked(self, batch: PackBatch) -> str | None:
        """Return why stored order does not matter, or none."""
        return keeps_no_order(batch, judges_stored_order=self.options.judges_stored_order)
