"""ISO005 blind-token: a real token can attend to nothing, itself included."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 2]],
    "seq_lens": [[3]],
    "config": {"trainer": "transformers", "profile": "sft", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


class BlindToken(PackRule):
    """The stored query-by-key mask allows a real token nothing, not even itself.

    ## What it checks
    Rows of the mask, of real tokens, in which no key is allowed.

    ## Why it matters
    Softmax over nothing is 0/0: NaN in some kernels, and in others an even mean over the whole pack, other
    samples included.

    ## How to fix
    Keep the diagonal allowed. In masks made for transformers true means "may attend", in those of Megatron-LM
    it means "may not": a mask read the wrong way round blinds the last tokens of a pack.

    ## Limits
    Rows of padding may be empty; they are judged only where nothing tells padding from tokens.

    ## Sources
    transformers/masking_utils.py @ 5.24.0; NVIDIA/Megatron-LM megatron/core/datasets/gpt_dataset.py.
    """

    meta = RuleMeta(
        code="ISO005",
        name="blind-token",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.DENSE_MASK,),
    )
    why = "Softmax over nothing is NaN, or a mean over the whole pack."
    fix = "Keep the diagonal of the mask allowed (true in transformers, false in Megatron-LM)."
    good = ({**_PACK, "dense_mask": [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]},)
    bad = ({**_PACK, "dense_mask": [[[1, 0, 0], [0, 0, 0], [1, 1, 1]]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of blind tokens."""
        if batch.dense_mask is None:
            return Hits.none()
        blind = np.flatnonzero(~batch.dense_mask.any(axis=2))
        return Hits.of_tokens(batch, blind[~batch.padding.contains(blind)])

    def message(self, totals: Totals) -> str:
        """Count them."""
        if totals.n_tokens == 1:
            return "1 token can attend to nothing, not even to itself; allowed: 0"
        return f"{totals.n_tokens:,} tokens can attend to nothing, not even to themselves; allowed: 0"
