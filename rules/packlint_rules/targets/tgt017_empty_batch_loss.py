"""TGT017 empty-batch-loss: a whole pack without any target."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2, 0, 0]],
    "segment_ids": [[1, 1, 1, 1, 2, 2, 2, 2, 0, 0]],
    "config": {"profile": "sft", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


class EmptyBatchLoss(PackRule):
    """No token of a pack is a target.

    ## What it checks
    Packs that hold real tokens and no target, neither inside nor as a label whose token the pack does not
    hold. Packs of padding only are FIL003's.

    ## Why it matters
    With one pack per device the mean loss is 0 divided by 0: NaN in most losses, or a loss of 0.0 that looks
    like success. At best a step is spent on nothing.

    ## How to fix
    Drop such packs, or find out why all their samples lost their targets (TGT008): TRL cuts answers off at
    `max_length`, NeMo at `max_seq_length`, and wrong role markers mask everything.

    ## Limits
    Rows that are single samples are no packs: see TGT008. A trainer that sums its loss over the whole
    global batch survives a pack without targets.

    ## Sources
    huggingface/trl#6668, NVIDIA-NeMo/Automodel#3797, hpcaitech/ColossalAI#5370, NVIDIA/NeMo#8025.
    """

    meta = RuleMeta(
        code="TGT017",
        name="empty-batch-loss",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.PACKS, Need.TARGETS),
    )
    why = "The mean loss of such a pack is 0/0: NaN, or a 0.0 that looks like success."
    fix = "Drop packs without targets, and find out why their samples lost them (TGT008)."
    good = ({**_PACK, "labels": [[-100, -100, 12, 2, -100, -100, 22, 2, -100, -100]]},)
    bad = ({**_PACK, "labels": [[-100] * 10]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per pack without target."""
        begin, end = batch.pack_offsets[:-1], batch.pack_offsets[1:]
        empty = batch.targets.count_within(begin, end) == 0
        if empty.any():
            empty[batch.segments.packs[batch.outside_targets.segments]] = False
            empty &= batch.padding.count_within(begin, end) < batch.pack_lengths
        packs = np.flatnonzero(empty)
        return Hits.of_packs(batch, packs, packs_without_target=packs.size)

    def message(self, totals: Totals) -> str:
        """Give the packs without target."""
        n, n_all = totals.n_hits, totals.checked["n_packs"]
        packs = f"{n_all:,} {'pack' if n_all == 1 else 'packs'} {'has' if n == 1 else 'have'}"
        return f"{n:,} of {packs} no target ({totals.n_tokens:,} tokens); allowed: 0"
