"""ISO006 overriding-attention-mask: a 2-D mask beside restarted positions switches isolation off."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source, is_overridden
from packlint.model.needs import Need
from packlint.model.recorded import real_extents
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "position_ids": [[0, 1, 2, 3, 0, 1, 2, 3]],
    "config": {"trainer": "transformers", "profile": "sft", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


class OverridingAttentionMask(PackRule):
    """Positions restart at each sample, but a 2-D `attention_mask` beside them makes the trainer ignore that.

    ## What it checks
    Packs of two or more samples by their `position_ids`, stored with a mask of zeros and ones, for trainers
    that then take the pack for one sample; where the policy requires isolation.

    ## Why it matters
    The boundaries are there and right, and have no effect: every sample sees all samples before it.

    ## How to fix
    Drop the `attention_mask` column, as transformers' DataCollatorWithFlattening and TRL's padding-free
    collator do, or number it by sample (LLaMA-Factory `neat_packing`).

    ## Limits
    How transformers 5 takes the mask depends on the kernel: sdpa, eager and flex attention ignore positions
    beside any mask; FlashAttention drops a mask of ones only, and keeps to the positions, but one that holds
    zeros for padding switches them off there too. Other trainers are trusted to do what their contract says.

    ## Sources
    huggingface/transformers#46634; transformers/masking_utils.py, modeling_flash_attention_utils.py @ 5.24.0.
    """

    meta = RuleMeta(
        code="ISO006",
        name="overriding-attention-mask",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.PACKS, Need.TRAINER, Need.POSITION_IDS),
    )
    why = "The boundaries are recorded and have no effect: every sample sees all samples before it."
    fix = "Drop the attention_mask column (transformers, TRL), or number it by sample (LLaMA-Factory)."
    good = (_PACK,)
    bad = ({**_PACK, "attention_mask": [[1, 1, 1, 1, 1, 1, 1, 1]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per pack with restarts that do not count."""
        record = batch.boundaries.get(BoundarySource.POSITION_IDS)
        wanted = batch.policy.requires_isolation and is_overridden(batch) and deciding_source(batch) is None
        if record is None or not wanted:
            return Hits.none()
        starts, stops = real_extents(batch, BoundarySource.POSITION_IDS)
        samples = np.bincount(batch.packs_of(record.starts[stops > starts]), minlength=batch.n_packs)
        packs = np.flatnonzero(samples > 1)
        certain = batch.padding_evidence is PaddingEvidence.STRUCTURE
        return Hits.of_packs(
            batch,
            packs,
            amounts=samples[packs],
            confidence=Confidence.CERTAIN if certain else Confidence.LIKELY,
            ignored_samples=int(samples[packs].sum()),
        )

    def message(self, totals: Totals) -> str:
        """Count the packs and name the kernels."""
        packs = "1 pack holds" if totals.n_hits == 1 else f"{totals.n_hits:,} packs hold"
        name = totals.shard.contract.name if totals.shard.contract else "the trainer"
        samples = f"{totals.measured['ignored_samples']:,} samples"
        return (
            f"{packs} an attention_mask beside positions that restart for {samples}, and {name} then "
            "ignores them (under FlashAttention only if the mask holds zeros); allowed: 0"
        )
