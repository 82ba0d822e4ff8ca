"""FIL003 empty-pack: a pack holds no token but padding."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, PaddingEvidence, Unit
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals


class EmptyPack(PackRule):
    """A pack holds padding only, or nothing at all.

    ## What it checks
    Counts the tokens of each pack that are not padding; reports a count of 0. Where nothing tells padding
    from tokens, only packs of zero tokens are found.

    ## Why it matters
    The pack costs a full step and teaches nothing. Its mean loss is 0/0, and in attention kernels a pack of
    zero tokens is an error or a NaN.

    ## How to fix
    Leave the pack out when writing. Rows of padding come from filling up the last batch or the last worker:
    set `drop_last` or spread the remainder. TRL and LLaMA-Factory write none by themselves.

    ## Limits
    Padding that is known by its id only makes the finding likely, not certain.

    ## Sources
    karpathy/nanochat#486 (rows of padding only).
    """

    meta = RuleMeta(
        code="FIL003", name="empty-pack", severity=Severity.ERROR, since="0.1.0", needs=(Need.PACKS,)
    )
    partial = True
    why = "The pack costs a full step, teaches nothing, and its mean loss is 0/0."
    fix = "Leave packs without real tokens out when writing; drop or spread the remainder of the last batch."
    good = ({"input_ids": [[1, 11, 2, 0], [1, 12, 2, 0]], "segment_ids": [[1, 1, 1, 0], [1, 1, 1, 0]]},)
    bad = (
        {"input_ids": [[1, 11, 2, 0], [0, 0, 0, 0]], "segment_ids": [[1, 1, 1, 0], [0, 0, 0, 0]]},
        {"input_ids": [[1, 11, 2], []]},
    )

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say that packs of padding cannot be seen where padding cannot."""
        if batch.padding_evidence is not PaddingEvidence.UNKNOWN:
            return None
        return "padding: nothing tells it, so only packs of zero tokens are found; give [spec] pad_id"

    def check(self, batch: PackBatch) -> Hits:
        """Return the packs without a real token."""
        if batch.shard.unit is not Unit.PACK:
            return Hits.none()
        starts, stops = batch.pack_offsets[:-1], batch.pack_offsets[1:]
        packs = np.flatnonzero(batch.padding.count_within(starts, stops) == batch.pack_lengths)
        n_zero = int(np.count_nonzero(batch.pack_lengths[packs] == 0))
        is_guess = batch.padding_evidence is PaddingEvidence.DECLARED_ID and packs.size > n_zero
        return Hits.of_packs(
            batch,
            packs,
            confidence=Confidence.LIKELY if is_guess else Confidence.CERTAIN,
            padding_only=packs.size - n_zero,
            zero_tokens=n_zero,
        )

    def message(self, totals: Totals) -> str:
        """Count both kinds among all packs."""
        padded, zero = totals.measured.get("padding_only", 0), totals.measured.get("zero_tokens", 0)
        packs = "1 pack holds" if totals.n_packs == 1 else f"{totals.n_packs:,} packs hold"
        kinds = f"{padded:,} of padding only, {zero:,} of zero tokens"
        return f"{packs} no real token ({kinds}) of {totals.checked['n_packs']:,} packs; allowed: 0"
