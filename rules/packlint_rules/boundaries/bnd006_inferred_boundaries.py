"""BND006 inferred-boundaries: boundaries come only from boundary tokens."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "config": {"profile": "pretrain", "trainer": "trl-wrapped", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


class InferredBoundaries(PackRule):
    """Nothing but end tokens tells where samples begin.

    ## What it checks
    Whether a pack has any record of boundaries beside its own tokens.

    ## Why it matters
    A sample that was cut has no end token and swallows the next one; a chat whose turns end in the same token
    falls apart. Explicit lengths are a contract, a scan is a guess, and all that this report says of samples
    rests on it.

    ## How to fix
    Store lengths or offsets with the tokens: `seq_lengths` (TRL packing `bfd`), the document index of
    Megatron-LM, datatrove or dolma, `*_segment_ids` (Grain).

    ## Limits
    Silent where positions restart: they are inferred too, but were written by the packer.

    ## Sources
    allenai/OLMo-core#843, allenai/open-instruct#1855, karpathy/nanoGPT#244.
    """

    meta = RuleMeta(
        code="BND006",
        name="inferred-boundaries",
        severity=Severity.INFO,
        since="0.1.0",
        needs=(Need.PACKS, Need.SEGMENTS),
    )
    why = "A cut sample swallows the next one, and chats fall apart into turns."
    fix = "Store lengths or offsets with the tokens (TRL packing bfd, document index of Megatron-LM)."
    good = ({**_PACK, "document_starts": [[0, 4]]},)
    bad = (_PACK,)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per pack."""
        if batch.segment_source is not BoundarySource.BOUNDARY_TOKENS:
            return Hits.none()
        return Hits.of_packs(batch, np.flatnonzero(batch.pack_lengths))

    def message(self, totals: Totals) -> str:
        """Count the packs."""
        n, n_segments = totals.n_hits, totals.checked["n_segments"]
        packs = "1 pack" if n == 1 else f"{n:,} packs"
        segments = "1 segment" if n_segments == 1 else f"{n_segments:,} segments"
        return f"only end tokens tell the {segments} of {packs} apart; explicit lengths would be a contract"
