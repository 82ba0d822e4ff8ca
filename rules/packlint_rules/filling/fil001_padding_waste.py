"""FIL001 padding-waste: too many slots hold padding or nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from packlint.finding import Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.needs import Need, missing
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.counts import ShardCounts
from packlint.summaries.places import worst_shards
from packlint.summaries.rows import unused_slots


class PaddingWaste(DatasetRule[ShardCounts]):
    """More slots than allowed hold no token of a sample.

    ## What it checks
    The share of all slots that hold padding or stay unused: what short packs lack of `max_seq_len`, where it
    is declared or the trainer is not known to run without padding.

    ## Why it matters
    Steps cost the same for padding: effective tokens/s = raw tokens/s x (1 - waste).

    ## How to fix
    Pack best-fit: `packing_strategy="bfd"` in TRL, `neat_packing` in LLaMA-Factory.

    ## Limits
    Without known padding only unused slots count. Windows cut from a stream are taken to be full.

    ## Sources
    sandyresearch/parcae#8 (33.7 % real tokens), snowflakedb/ArcticTraining#155.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How much may be wasted.

        Args:
            max_padding_fraction: slots without a real token, of all slots.
        """

        max_padding_fraction: float = 0.05

    meta = RuleMeta(
        code="FIL001", name="padding-waste", severity=Severity.WARNING, since="0.1.0", needs=(Need.PACKS,)
    )
    partial = True
    why = "Every step pays for padding: effective tokens/s = raw tokens/s x (1 - waste)."
    fix = "Pack best-fit over a larger buffer: bfd in TRL, neat_packing in LLaMA-Factory."
    good = ({"input_ids": [[1, 11, 2, 1, 12, 2]], "attention_mask": [[1, 1, 1, 2, 2, 2]]},)
    bad = ({"input_ids": [[1, 11, 2, 0]], "attention_mask": [[1, 1, 1, 0]]},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say that padding cannot be counted where nothing tells it from tokens."""
        return missing(batch, Need.PADDING)

    def zero(self) -> ShardCounts:
        """Return no slots."""
        return ShardCounts()

    def observe(self, summary: ShardCounts, batch: PackBatch) -> ShardCounts:
        """Count slots, padding and unused room of the shard."""
        if batch.shard.unit is Unit.PACK:
            padding = batch.padding.count_within(batch.pack_offsets[:-1], batch.pack_offsets[1:])
            unused = unused_slots(batch)
            counts = {"stored": batch.n_tokens, "padding": padding.sum(), "unused": unused.sum()}
            summary.add(batch.shard.index, packs=np.count_nonzero(padding + unused), **counts)
        return summary

    def judge(self, summary: ShardCounts, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the waste of all shards together with the limit."""
        count, limit = summary.total(), self.options.max_padding_fraction
        slots, wasted = count["stored"] + count["unused"], count["padding"] + count["unused"]
        if wasted <= limit * slots:
            return
        used, padding, unused = slots - wasted, count["padding"], count["unused"]
        by_shard = {shard: n["padding"] + n["unused"] for shard, n in summary.by_shard.items()}
        parts = [f"{padding:,} are padding"] if padding else []
        parts += [f"{unused:,} are empty in short packs"] if unused else []
        speed = f"; effective tokens/s = raw x {used / (used + padding):.3g}" if padding else ""
        yield Judgement(
            message=f"{used:,} of {slots:,} slots used ({100 * used / slots:.3g} %): {', '.join(parts)}"
            f"{speed}; allowed waste: {100 * limit:.3g} %",
            n_hits=count["packs"],
            n_packs=count["packs"],
            n_tokens=padding,
            measured={"padding_fraction": wasted / slots, "slots": slots, "unused_slots": unused},
            locations=worst_shards(dataset.shards, by_shard, lambda i: f"{by_shard[i]:,} slots wasted"),
        )
