"""ISO004 non-causal-attention: a token can attend to a later one."""

from __future__ import annotations

from dataclasses import replace

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


class NonCausalAttention(PackRule):
    """The stored query-by-key mask lets a token attend to a later one.

    ## What it checks
    Allowed pairs whose key comes after the query, both real tokens. Padding may see what it likes.

    ## Why it matters
    The model reads the answer that it is asked for: the loss falls to almost nothing, generation is broken.

    ## How to fix
    Store the lower triangle, sample by sample. transformers takes `true` as "may attend", Megatron-LM as "may
    not": a mask read the wrong way round allows exactly the later tokens.

    ## Limits
    Prefixes that are meant to see all of themselves (prefix language models, image tokens) are reported too;
    turn the rule off for such data.

    ## Sources
    transformers/masking_utils.py @ 5.24.0 (true = may attend);
    NVIDIA/Megatron-LM megatron/core/datasets/gpt_dataset.py (true = masked out).
    """

    meta = RuleMeta(
        code="ISO004",
        name="non-causal-attention",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.DENSE_MASK,),
    )
    why = "The model reads the answer that it is asked for."
    fix = "Store a lower triangle per sample; true is 'may attend' in transformers, 'may not' in Megatron-LM."
    good = ({**_PACK, "dense_mask": [[[1, 0, 0], [1, 1, 0], [1, 1, 1]]]},)
    bad = ({**_PACK, "dense_mask": [[[1, 1, 0], [1, 1, 0], [1, 1, 1]]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per token that sees later ones, worst where it sees most."""
        mask = batch.dense_mask
        if mask is None:
            return Hits.none(later_pairs=0)
        later = mask & ~np.tri(mask.shape[2], dtype=np.bool_)
        if not later.any():
            return Hits.none(later_pairs=0)
        real = batch.real.to_mask(batch.n_tokens).reshape(mask.shape[:2])
        n_later = np.where(real, np.count_nonzero(later & real[:, None, :], axis=2), 0).ravel()
        places = np.flatnonzero(n_later)
        hits = Hits.of_tokens(batch, places, later_pairs=int(n_later.sum()))
        return replace(hits, amounts=n_later[places])

    def message(self, totals: Totals) -> str:
        """Give tokens and pairs."""
        n, pairs = totals.n_hits, totals.measured["later_pairs"]
        tokens = "1 token" if n == 1 else f"{n:,} tokens"
        counted = "1 (query, key) pair" if pairs == 1 else f"{pairs:,} (query, key) pairs"
        return f"{tokens} can attend to later ones ({counted}); allowed: 0"
