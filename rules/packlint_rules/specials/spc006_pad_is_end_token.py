"""SPC006 pad-is-end-token: padding and end token are one id, and it does harm."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.edges import is_recorded
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 51, 61, 62, 2, 2, 2]],
    "attention_mask": [[1, 1, 1, 1, 1, 0, 0]],
    "config": {"profile": "sft", "trainer": "transformers", "spec": {"pad_id": 2, "eos_ids": [2]}},
}


class PadIsEndToken(PackRule):
    """Padding was taken out of the loss by its id, and the end tokens went with it.

    ## What it checks
    Where `pad_id` is an end id: end tokens outside padding that are no target although the token before them
    is, or that the trainer masks by id. With no record of loss or padding: packs that end in several of it.

    ## Why it matters
    The model is never asked for the end of an answer, and does not stop.

    ## How to fix
    Give padding an id of its own, or mask it by position or `attention_mask`, not by id: TRL and
    transformers' language modelling collator compare with `pad_token_id`; Axolotl masks by length.

    ## Limits
    The same id does no harm where masks are right, and is not reported then. An end token that padding has
    swallowed looks like a sample without end (SPC001).

    ## Sources
    huggingface/trl#1623, NVIDIA-NeMo/Megatron-Bridge#4660, mlabonne/llm-course#33, mll-lab-nu/RAGEN#59,
    alibaba/Pai-Megatron-Patch#335.
    """

    meta = RuleMeta(
        code="SPC006",
        name="pad-is-end-token",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.PAD_ID, Need.EOS_IDS),
    )
    why = "End tokens that share the padding id lose their loss, and the model does not stop."
    fix = "Give padding an id of its own, or mask padding by position instead of by id."
    good = ({**_PACK, "labels": [[-100, -100, 61, 62, 2, -100, -100]]},)
    bad = ({**_PACK, "labels": [[-100, -100, 61, 62, -100, -100, -100]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per end token that loses its loss."""
        pad = batch.spec.pad_id
        if pad is None or pad.value not in batch.spec.end_ids:
            return Hits.none()
        ends = batch.end_places[batch.tokens[batch.end_places] == pad.value]
        told = batch.padding_evidence is not PaddingEvidence.UNKNOWN
        contract = batch.shard.contract
        by_id = contract is not None and contract.masks_padding_by_id
        if batch.is_target is None and not by_id and not told:
            return self._doubtful_tails(batch, ends)
        ends = ends[ends > 0]
        kept = batch.segments_of(ends) == batch.segments_of(ends - 1)
        kept &= (batch.packs_of(ends) == batch.packs_of(ends - 1)) & (batch.tokens[ends - 1] != pad.value)
        genuine = ends[kept]
        lost = genuine if by_id else genuine[:0]
        if batch.is_target is not None:
            before, own = batch.is_target[genuine - 1], batch.is_target[genuine]
            lost = genuine[(before & ~own) | (own & by_id)]
        confidence = Confidence.CERTAIN if is_recorded(batch) and told else Confidence.LIKELY
        counts = {"end_tokens": genuine.size, "lost_end_tokens": lost.size}
        return Hits.of_tokens(batch, lost, confidence=confidence, **counts)

    def message(self, totals: Totals) -> str:
        """Give the end tokens that lose their loss, or the packs that nobody can tell."""
        n, pad = totals.n_hits, totals.shard.spec.pad_id
        shared = f"padding and end token share id {pad.value if pad else '?'}"
        if "lost_end_tokens" not in totals.measured:
            what = "pack ends" if n == 1 else "packs end"
            return f"{shared}: {n:,} {what} in several of it, and nothing tells ends from padding"
        what = "genuine end token loses its" if n == 1 else "genuine end tokens lose their"
        return f"{shared}: {n:,} of {totals.measured['end_tokens']:,} {what} loss; allowed: 0"

    def _doubtful_tails(self, batch: PackBatch, ends: Int64Array) -> Hits:
        runs = Spans.from_indices(ends).split_at(batch.pack_offsets)
        tails = (runs.lengths > 1) & np.isin(runs.stops, batch.pack_offsets)
        packs = batch.packs_of(runs.starts[tails])
        return Hits.of_packs(batch, packs, amounts=runs.lengths[tails], confidence=Confidence.LIKELY)
