"""FIL005 fragmented-mask: samples are so short that the block mask is mostly masked out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.isolation import deciding_source
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.blocks import count_blocks
from packlint.summaries.counts import ShardCounts
from packlint.summaries.places import worst_shards

_IDS = list(range(10, 138))


class FragmentedMask(DatasetRule[ShardCounts]):
    """The blocks that the attention kernel computes hold many times the pairs that the samples need.

    ## What it checks
    Block density as FlexAttention's `BlockMask` has it, in closed form: the blocks that samples touch (128 x
    128 by default), the pairs in them over the pairs that samples need, and samples per pack.

    ## Why it matters
    Isolation should make attention cheap, but a kernel computes whole blocks: with samples far shorter than
    a block nearly all of its work is masked away, and the mask costs more than the padding it saved.

    ## How to fix
    Join short samples (several turns or questions in one sample) before packing, or give the kernel smaller
    blocks: `BLOCK_SIZE` of `create_block_mask` in torchtitan and torchtune, varlen kernels elsewhere.

    ## Limits
    Only where the trainer isolates samples; packs of fewer than 8 blocks are too small to tell. Varlen
    kernels start a tile at each sample: they compute fewer blocks for long samples, more for short ones.

    ## Sources
    pytorch/pytorch `torch/nn/attention/flex_attention.py` (`BlockMask`), meta-pytorch/attention-gym#66.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How much of the work may be masked away.

        Args:
            block_tokens: rows and columns of a block.
            max_work_factor: pairs in computed blocks, over the pairs that samples need.
            min_pack_blocks: blocks per row of a pack from which it is judged.
        """

        block_tokens: int = 128
        max_work_factor: float = 8.0
        min_pack_blocks: int = 8

    meta = RuleMeta(
        code="FIL005",
        name="fragmented-mask",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.PACKS, Need.SEGMENTS, Need.TRAINER),
    )
    why = "A kernel computes whole blocks: with very short samples nearly all of its work is masked away."
    fix = "Join short samples before packing, or give the kernel smaller blocks."
    good = ({"input_ids": [_IDS * 8], "seq_lens": [[128] * 8], "config": {"trainer": "torchtune"}},)
    bad = ({"input_ids": [_IDS * 8], "seq_lens": [[16] * 64], "config": {"trainer": "torchtune"}},)

    def zero(self) -> ShardCounts:
        """Return no blocks."""
        return ShardCounts()

    def observe(self, summary: ShardCounts, batch: PackBatch) -> ShardCounts:
        """Count the blocks of packs whose samples the trainer keeps apart."""
        if batch.shard.unit is Unit.PACK and deciding_source(batch) is not None:
            size, least = self.options.block_tokens, self.options.min_pack_blocks
            is_inferred = batch.segment_source is not None and not batch.segment_source.is_explicit
            summary.add(batch.shard.index, inferred=is_inferred, **count_blocks(batch, size, least))
        return summary

    def measures(self, summary: ShardCounts, dataset: Dataset) -> dict[str, int | float]:
        """Return the blocks that are computed, of all and over what samples need."""
        n = summary.total()
        if not n["blocks"]:
            return {}
        factor = n["blocks"] * self.options.block_tokens**2 / n["pairs"]
        return {"block_density": n["blocks"] / n["square_blocks"], "work_factor": factor}

    def judge(self, summary: ShardCounts, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the pairs in computed blocks with those that samples need."""
        n, area, limit = summary.total(), self.options.block_tokens**2, self.options.max_work_factor
        if n["blocks"] * area <= limit * n["pairs"]:
            return
        masked = {shard: c["blocks"] * area - c["pairs"] for shard, c in summary.by_shard.items()}
        factor, density = n["blocks"] * area / n["pairs"], n["blocks"] / n["square_blocks"]
        per_pack = n["segments"] / n["packs"]
        yield Judgement(
            message=f"the block mask computes {factor:.3g} times the pairs that samples need"
            f" ({per_pack:.3g} samples per pack, block density {100 * density:.3g} %);"
            f" allowed: {limit:g} times",
            n_hits=n["packs"],
            n_packs=n["packs"],
            confidence=Confidence.LIKELY if n["inferred"] else Confidence.CERTAIN,
            measured={"work_factor": factor, "block_density": density, "samples_per_pack": per_pack},
            locations=worst_shards(dataset.shards, masked, lambda i: f"{masked[i]:,} pairs masked away"),
        )
