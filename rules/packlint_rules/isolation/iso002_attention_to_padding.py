"""ISO002 attention-to-padding: a real token can attend to padding, or padding shares its block."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import MaskKind, PackBatch
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source, padding_in_blocks
from packlint.model.needs import Need, missing
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 2, 0]],
    "attention_mask": [[1, 1, 1, 1, 1, 1, 1, 0]],
    "layout": {"padding": "mask_zero", "nothing": 0},
    "config": {"trainer": "grain", "profile": "sft", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


class AttentionToPadding(PackRule):
    """A real token can attend to padding, or padding stands in the same block as real tokens.

    ## What it checks
    Padding that the trainer's record puts into one block with real tokens: those after it can attend to it.
    Where the trainer keeps no samples apart, only padding before real tokens counts, and none if a 2-D mask
    hides it. A stored query-by-key mask is taken at its word.

    ## Why it matters
    Filler is read as text, or kernels that work by lengths take the sample for longer than it is.

    ## How to fix
    Give padding no segment: id 0 in `*_segment_ids` (Grain, MaxText) and in LLaMA-Factory's `attention_mask`,
    -1 in llm-foundry's `sequence_id`. Put it at the end of the pack.

    ## Limits
    Only where padding is known by structure. A segment number that comes back counts as a new block.

    ## Sources
    NVIDIA-NeMo/Megatron-Bridge#4507, huggingface/trl#4170.
    """

    meta = RuleMeta(
        code="ISO002",
        name="attention-to-padding",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.PACKS, Need.PADDING_STRUCTURE),
    )
    why = "Filler is read as text, or counted as part of a sample."
    fix = "Give padding no segment id (0 in Grain and LLaMA-Factory) and put it at the end of the pack."
    good = ({**_PACK, "segment_ids": [[1, 1, 1, 1, 2, 2, 2, 0]]},)
    bad = ({**_PACK, "segment_ids": [[1, 1, 1, 1, 2, 2, 2, 2]]},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for a mask or segment ids, and for somebody who reads them."""
        if batch.mask_kind is MaskKind.NONE and BoundarySource.SEGMENT_IDS not in batch.boundaries:
            return "the shard stores no attention mask and no segment ids"
        return missing(batch, Need.TRAINER) if batch.dense_mask is None else None

    def check(self, batch: PackBatch) -> Hits:
        """Return the padding in blocks with real tokens; for a query-by-key mask, the tokens that see it."""
        if len(batch.padding) == 0:
            return Hits.none(seeing_tokens=0, sharing_padding=0)
        return _by_block(batch) if batch.dense_mask is None else _by_mask(batch)

    def message(self, totals: Totals) -> str:
        """Tell padding that can be seen from padding that merely shares a block."""
        seeing, sharing = totals.measured["seeing_tokens"], totals.measured["sharing_padding"]
        can = f"{seeing:,} real token{'s' * (seeing != 1)} can attend to padding"
        share = "token shares a block" if sharing == 1 else "tokens share blocks"
        seen = can if seeing else "under causal attention none of these can attend to it"
        said = f"{sharing:,} padding {share} with real tokens; {seen}" if sharing else can
        return f"{said}; allowed: 0"


def _by_block(batch: PackBatch) -> Hits:
    plain = deciding_source(batch) is None
    if plain and batch.mask_kind is not MaskKind.NONE:
        return Hits.none(seeing_tokens=0, sharing_padding=0)
    runs, block, n_before, n_seeing = padding_in_blocks(batch)
    shared = n_seeing > 0 if plain else n_before + n_seeing > 0
    if not shared.any():
        return Hits.none(seeing_tokens=0, sharing_padding=0)
    return Hits.of_spans(
        batch,
        Spans(runs.starts[shared], runs.stops[shared]),
        seeing_tokens=int(n_seeing[np.diff(block, prepend=-1) != 0].sum()),
        sharing_padding=int(runs.lengths[shared].sum()),
    )


def _by_mask(batch: PackBatch) -> Hits:
    mask = batch.dense_mask
    assert mask is not None
    real = batch.real.to_mask(batch.n_tokens).reshape(mask.shape[:2])
    seeing = np.flatnonzero((mask & ~real[:, None, :]).any(axis=2) & real)
    return Hits.of_tokens(batch, seeing, seeing_tokens=int(seeing.size), sharing_padding=0)
