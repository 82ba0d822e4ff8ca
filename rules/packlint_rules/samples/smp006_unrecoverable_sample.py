"""SMP006 unrecoverable-sample: nothing leads from a pack back to its source samples."""

from __future__ import annotations

from collections.abc import Iterator

from packlint.finding import Severity
from packlint.model.batch import PackBatch
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.counts import ShardCounts
from packlint.summaries.places import worst_shards


class UnrecoverableSample(DatasetRule[ShardCounts]):
    """The shard holds no sample ids, so a finding cannot be led back to its source.

    ## What it checks
    Whether each shard has a column of sample ids.

    ## Why it matters
    A faulty, leaked or repeated sample can be seen in the packs but not removed at its source, nor can a
    licence or a deletion request be honoured.

    ## How to fix
    Carry an id of each sample through packing, one per segment or per token, and name the column in
    `[columns] sample_ids`. OLMo-core and dolma keep ids in the `.csv.gz` beside the tokens; TRL and
    LLaMA-Factory drop all columns but the model's, so their packing step must be given the id column.

    ## Limits
    Whether the ids resolve is not checked: that needs the reference.

    ## Sources
    allenai/dolma `python/dolma/tokenizer/memmap_writer.py` (columns start, end, id, src, loc).
    """

    meta = RuleMeta(code="SMP006", name="unrecoverable-sample", severity=Severity.INFO, since="0.1.0")
    why = "A faulty or unwanted sample can be seen in the packs but not removed at its source."
    fix = "Carry an id of each sample through packing and name its column in [columns] sample_ids."
    good = ({"input_ids": [[1, 11, 2, 1, 12, 2]], "seq_lens": [[3, 3]], "sample_ids": [[7, 8]]},)
    bad = ({"input_ids": [[1, 11, 2, 1, 12, 2]], "seq_lens": [[3, 3]]},)

    def zero(self) -> ShardCounts:
        """Return no packs."""
        return ShardCounts()

    def observe(self, summary: ShardCounts, batch: PackBatch) -> ShardCounts:
        """Count the packs of the shard, and those without sample ids."""
        without = 0 if batch.shard.has_sample_ids else batch.n_packs
        summary.add(batch.shard.index, packs=batch.n_packs, without=without)
        return summary

    def judge(self, summary: ShardCounts, dataset: Dataset) -> Iterator[Judgement]:
        """Report once for the whole data set."""
        without = {shard: n["without"] for shard, n in summary.by_shard.items() if n["without"]}
        if not without or (dataset.found is not None and dataset.found.accounts_for_all):
            return
        n, n_shards, n_packs = len(without), len(summary.by_shard), sum(without.values())
        shards = "no shard holds" if n == n_shards else f"{n:,} of {n_shards:,} shards hold no"
        yield Judgement(
            message=f"{shards} sample ids: findings in {n_packs:,} packs cannot be led back to their source",
            n_hits=n_packs,
            n_packs=n_packs,
            measured={"shards_without_sample_ids": n, "shards": n_shards},
            locations=worst_shards(
                dataset.shards, without, lambda i: f"{without[i]:,} packs without sample ids"
            ),
        )
