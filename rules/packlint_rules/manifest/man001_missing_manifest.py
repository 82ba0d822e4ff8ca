"""MAN001 missing-manifest: nothing beside the shards declares how they were packed."""

from __future__ import annotations

from collections.abc import Iterator

from packlint.finding import Severity
from packlint.model.batch import PackBatch
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.counts import ShardCounts
from packlint.summaries.places import worst_shards


class MissingManifest(DatasetRule[ShardCounts]):
    """No manifest stands beside or above the shards.

    ## What it checks
    Whether a `packlint-manifest.json` lies in the folder of each shard or in one above it, or was given with
    `--manifest`.

    ## Why it matters
    Packed shards rarely say with which tokenizer, length, boundary token and masks they were made. Whoever
    trains on them later guesses, and nothing shows that the files were changed.

    ## How to fix
    Run `packlint manifest SHARDS` right after packing and ship the file with the shards. What NeMo, streaming
    and `datasets` write beside theirs (`_metadata.jsonl`, `index.json`, `dataset_info.json`) says less, and
    is checked all the same (MAN003).

    ## Limits
    Not for data in memory. What a manifest leaves open is MAN002, what is wrong in it MAN003.

    ## Sources
    PrimeIntellect-ai/prime-rl#2944, allenai/OLMo-core#653 (boundaries as an explicit contract).
    """

    meta = RuleMeta(code="MAN001", name="missing-manifest", severity=Severity.INFO, since="0.1.0")
    why = "Whoever trains on these shards later has to guess how they were made."
    fix = "Run packlint manifest right after packing and ship the file with the shards."
    good = ({"input_ids": [[1, 11, 2]], "manifest": {"max_seq_len": 3}},)
    bad = ({"input_ids": [[1, 11, 2]]},)

    def zero(self) -> ShardCounts:
        """Return no packs."""
        return ShardCounts()

    def observe(self, summary: ShardCounts, batch: PackBatch) -> ShardCounts:
        """Count the packs of the shard."""
        summary.add(batch.shard.index, packs=batch.n_packs)
        return summary

    def judge(self, summary: ShardCounts, dataset: Dataset) -> Iterator[Judgement]:
        """Report once for all shards without one."""
        if dataset.manifests is None:
            return
        covered = {shard for manifest in dataset.manifests for shard in manifest.shards}
        without = {i: n["packs"] for i, n in summary.by_shard.items() if i not in covered and n["packs"]}
        if not without:
            return
        n, n_shards = len(without), len(summary.by_shard)
        shards = "nothing declares" if n == n_shards else f"for {n:,} of {n_shards:,} shards nothing declares"
        yield Judgement(
            message=f"{shards} how they were packed: no packlint-manifest.json beside or above them",
            n_hits=sum(without.values()),
            n_packs=sum(without.values()),
            measured={"shards_without_manifest": n, "shards": n_shards},
            locations=worst_shards(dataset.shards, without, lambda i: f"{without[i]:,} packs"),
        )
