"""SMP007 repeated-pack: the same pack comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from packlint.finding import Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.constant_runs import are_constant
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.hashes import hash_batch
from packlint.summaries.packs import PackKeys


class RepeatedPack(DatasetRule[PackKeys]):
    """Two packs hold the same tokens in the same order.

    ## What it checks
    A 64-bit hash of all ids of each pack, and its length, over the whole data set, whatever the shard and
    its storage type. Short packs, packs of padding and packs of a single id are left out.

    ## Why it matters
    The model sees these samples more often than the mixture says, and learns them by heart. Whole packs come
    twice when a job is resumed, a worker repeats another's part, or an input is listed twice.

    ## How to fix
    Drop the copies; then look for a shard written twice, a resume without state (torchtitan, streaming) or
    workers that all read the same stream (`datasets` with `num_workers`).

    ## Limits
    The same samples in another order or other company are not the same pack (see SMP002). Packs that are
    equal because their samples are, as a reference shows, are no copies. Two different packs would share a
    hash once in about 10^19 pairs.

    ## Sources
    pytorch/torchtitan#3907, huggingface/datasets#3423, mosaicml/streaming#324.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Which packs are worth comparing.

        Args:
            min_pack_tokens: real tokens of a pack; shorter ones may be equal by chance.
        """

        min_pack_tokens: int = 8

    meta = RuleMeta(
        code="SMP007", name="repeated-pack", severity=Severity.ERROR, since="0.1.0", needs=(Need.PACKS,)
    )
    why = "The samples are seen more often than the mixture says, and are learnt by heart."
    fix = (
        "Drop the copies, and look for a shard written twice, a resume without state or overlapping workers."
    )
    good = ({"input_ids": [[1, *range(10, 17), 2], [1, *range(11, 18), 2]]},)
    bad = ({"input_ids": [[1, *range(10, 17), 2], [1, *range(10, 17), 2]]},)

    def zero(self) -> PackKeys:
        """Return no packs."""
        return PackKeys()

    def observe(self, summary: PackKeys, batch: PackBatch) -> PackKeys:
        """Add hash, length and place of the packs that count."""
        if batch.shard.unit is not Unit.PACK:
            return summary
        starts, stops = batch.pack_offsets[:-1], batch.pack_offsets[1:]
        n_real = batch.pack_lengths - batch.padding.count_within(starts, stops)
        is_filler = are_constant(batch.tokens, starts, stops)
        packs = np.flatnonzero((n_real >= self.options.min_pack_tokens) & ~is_filler)
        hashes = hash_batch(batch).packs[packs]
        summary.add(hashes, batch.pack_lengths[packs], batch.shard.index, batch.pack_numbers[packs])
        return summary

    def judge(self, summary: PackKeys, dataset: Dataset) -> Iterator[Judgement]:
        """Report every copy but the first pack of each content."""
        copies = summary.repeats()
        if len(copies) == 0 or (dataset.found is not None and dataset.found.repeats_nothing):
            return
        n_tokens, n_contents = int(copies.lengths.sum()), copies.n_contents
        packs = "1 pack is a copy" if len(copies) == 1 else f"{len(copies):,} packs are copies"
        yield Judgement(
            message=f"{packs} of an earlier pack ({n_contents:,} different, {n_tokens:,} tokens again) of"
            f" {summary.n_packs:,} compared; allowed: 0",
            n_hits=len(copies),
            n_packs=len(copies),
            n_tokens=n_tokens,
            measured={"repeated_contents": n_contents, "packs_compared": summary.n_packs},
            locations=copies.worst(dataset.shards),
        )
