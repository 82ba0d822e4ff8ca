"""SHD004 repeated-shard: two shards hold the same packs in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Location, Severity
from packlint.model.batch import PackBatch
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.contents import ShardContents
from packlint.summaries.places import MAX_PLACES

_IDS = list(range(10, 74))


class RepeatedShard(DatasetRule[ShardContents]):
    """Two shards of the data set are of the same content.

    ## What it checks
    A 128-bit hash over all ids of each shard, pack by pack in order, whatever its format, storage type,
    compression and name.

    ## Why it matters
    All samples of the shard are seen twice as often as planned. It happens when a job is run again under
    another name, a file is copied, or a glob takes the raw and the converted shards.

    ## How to fix
    Remove one of the two, and name inputs so that each is matched once: `data_files` in `datasets`, the
    blend list of Megatron-LM, `streams` in streaming.

    ## Limits
    The same packs in another order or cut into other shards are for SMP007. Labels are not compared. Shards
    of less than 64 slots are left out. Streams of documents are compared only with shards of the same format
    and size in bytes.

    ## Sources
    mosaicml/streaming#324, huggingface/datasets#3423 (workers that write or read the same part).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Which shards are worth comparing.

        Args:
            min_shard_tokens: slots of a shard; smaller ones may be equal by chance.
        """

        min_shard_tokens: int = 64

    meta = RuleMeta(code="SHD004", name="repeated-shard", severity=Severity.ERROR, since="0.1.0")
    why = "All samples of the shard are seen twice as often as planned."
    fix = "Remove the copy, and name inputs so that each shard is matched once."
    good = ({"input_ids": [_IDS[:-1], _IDS[1:]], "shards": [1, 1]},)
    bad = ({"input_ids": [_IDS, _IDS], "shards": [1, 1]},)

    def zero(self) -> ShardContents:
        """Return no shards."""
        return ShardContents()

    def observe(self, summary: ShardContents, batch: PackBatch) -> ShardContents:
        """Add the packs to the hash of their shard, where another shard may hold the same."""
        if not batch.shard.has_rival:
            return summary
        return summary.merge(ShardContents.of(batch))

    def judge(self, summary: ShardContents, dataset: Dataset) -> Iterator[Judgement]:
        """Report every shard but the first of each content."""
        groups = summary.groups(self.options.min_shard_tokens)
        copies = [(shard, group[0]) for group in groups for shard in group[1:]]
        if not copies:
            return
        contents = [summary.by_shard[shard] for shard, _ in copies]
        names, n_packs = dataset.shards, sum(c.n_packs for c in contents)
        n_tokens = sum(c.n_tokens for c in contents)
        shards = "1 shard is a copy" if len(copies) == 1 else f"{len(copies):,} shards are copies"
        yield Judgement(
            message=f"{shards} of another ({n_packs:,} packs, {n_tokens:,} tokens again); allowed: 0",
            n_hits=len(copies),
            n_packs=n_packs,
            n_tokens=n_tokens,
            measured={"repeated_contents": len(groups), "shards_compared": len(summary.by_shard)},
            locations=tuple(
                Location(shard=names[shard], pack=-1, note=f"same content as {names[first]}")
                for shard, first in copies[:MAX_PLACES]
            ),
        )
