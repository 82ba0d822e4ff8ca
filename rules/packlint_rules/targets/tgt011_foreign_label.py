"""TGT011 foreign-label: a label equals no token near it."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.contract import LabelAlignment
from packlint.model.labels import matches, mismatches, shifted_packs, stored_alignment
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.model.spec import Origin
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 13, 14, 2]],
    "segment_ids": [[1, 1, 1, 1, 1, 1]],
    "config": {"profile": "sft", "trainer": "grain", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


class ForeignLabel(PackRule):
    """A live label asks for a token that is not there.

    ## What it checks
    Live labels that equal the token at none of the offsets -1, 0, +1 and +2 from their place, in packs that
    TGT010 does not report. One place per run of tokens.

    ## Why it matters
    In a decoder's data the label of a token is that token. Other labels come from another row, another
    tokenizer or a replaced id, and train the model on text that nobody wrote.

    ## How to fix
    Build labels from `input_ids` in the same step, after truncation and packing: TRL and LLaMA-Factory do;
    own collators should copy and mask, not tokenize again. GPT-NeoX: give both data sets the same order.

    ## Limits
    Pairs for encoder-decoder models have targets of another text: turn the rule off for them. End ids that
    pre-shifted labels name where the pack holds no such token are not counted.

    ## Sources
    huggingface/transformers#47394 (targets of the next row), alibaba/ChatLearn#343,
    NVIDIA-NeMo/Automodel nemo_automodel/components/datasets/llm/packed_sequence.py (ends only in labels).
    """

    meta = RuleMeta(
        code="TGT011", name="foreign-label", severity=Severity.ERROR, since="0.1.0", needs=(Need.LABEL_IDS,)
    )
    why = "The model is trained on tokens of another row, tokenizer or template."
    fix = "Build labels from input_ids after truncation and packing; mask, never tokenize again."
    good = ({**_PACK, "labels": [[-100, -100, 12, 13, 14, 2]]},)
    bad = ({**_PACK, "labels": [[-100, -100, 12, 77, 14, 2]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of foreign labels."""
        wrong = mismatches(batch)
        if wrong.size:
            wrong = wrong[~matches(batch, wrong).any(axis=0)]
        if wrong.size and self._expects_shifted(batch):
            assert batch.label_ids is not None
            wrong = wrong[~np.isin(batch.label_ids[wrong], batch.spec.end_ids)]
        if wrong.size:
            contract = batch.shard.contract
            shifted = shifted_packs(batch, contract.label_alignment if contract else stored_alignment(batch))
            wrong = wrong[~shifted[batch.packs_of(wrong)]]
        told = batch.spec.label_alignment
        seen = told is not None and told.origin is not Origin.FORMAT
        confidence = Confidence.CERTAIN if seen else Confidence.LIKELY
        return Hits.of_spans(
            batch, Spans.from_indices(wrong), confidence=confidence, foreign_labels=wrong.size
        )

    def message(self, totals: Totals) -> str:
        """Give the foreign labels and their share."""
        n, n_all = totals.n_tokens, totals.checked["n_targets"]
        targets = f"{n_all:,} {'target' if n_all == 1 else 'targets'} {'names' if n == 1 else 'name'}"
        return f"{n:,} of {targets} no token at offsets -1 to +2; allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Pre-shifted labels may name ends that no pack holds, which only segments or end ids can tell."""
        blind = batch.segment_source is None or batch.padding_evidence is PaddingEvidence.UNKNOWN
        if self._expects_shifted(batch) and blind and not batch.spec.end_ids:
            return "pre-shifted labels may name end tokens that no pack holds; give [spec] eos_ids"
        return None

    def _expects_shifted(self, batch: PackBatch) -> bool:
        contract = batch.shard.contract
        told = contract.label_alignment if contract else None
        return LabelAlignment.PRESHIFTED in (told, stored_alignment(batch))
