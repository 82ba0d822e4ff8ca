"""BND005 padding-as-segment: the trainer's record counts padding as samples."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.isolation import deciding_source
from packlint.model.needs import Need
from packlint.model.recorded import malformed_packs, padding_within
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 2, 1, 21, 2, 0, 0]],
    "attention_mask": [[1, 1, 1, 1, 1, 1, 0, 0]],
    "layout": {"padding": "mask_zero", "lengths_cover_padding": False},
    "config": {"profile": "sft", "trainer": "trl", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


class PaddingAsSegment(PackRule):
    """Padding is recorded as one or many segments, which the trainer takes for samples.

    ## What it checks
    Recorded segments that hold nothing but padding, in the record from which the trainer builds its mask,
    for trainers that do not take them out. Segments that end in padding are counted beside it, not reported.

    ## Why it matters
    Padding at position 0 makes one sample of each of its tokens: thousands of them cost time, overflow what
    the kernel was told, and enter every mean over samples.

    ## How to fix
    Leave padding out of the boundaries, as LLaMA-Factory does with `neat_packing` (mask 0); or let positions
    count up through the padding, so that it is one segment (Axolotl does).

    ## Limits
    torchtune records the padding of every pack as one segment by design: harmless, but reported. The finding
    is likely, not certain, where padding is known by its id only.

    ## Sources
    axolotl-ai-cloud/axolotl#2739, hiyouga/LLaMA-Factory#10452, ByteDance-Seed/VeOmni#746.
    """

    meta = RuleMeta(
        code="BND005",
        name="padding-as-segment",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.TRAINER, Need.PADDING),
    )
    why = "Each run of padding, or each of its tokens, becomes a sample of the batch."
    fix = "Leave padding out of the boundaries, or let positions count up through it (Axolotl, torchtune)."
    good = ({**_PACK, "seq_lens": [[3, 3]]},)
    bad = ({**_PACK, "seq_lens": [[3, 3, 2]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per recorded segment of padding."""
        source, contract = deciding_source(batch), batch.shard.contract
        record = batch.boundaries.get(source) if source else None
        if source is None or record is None or contract is None or len(batch.padding) == 0:
            return Hits.none(padding_segments=0, folded_segments=0, folded_padding=0)
        n_padding = padding_within(batch, source)
        touched = np.flatnonzero(n_padding)
        touched = touched[~malformed_packs(batch, [source])[batch.packs_of(record.starts[touched])]]
        starts, stops, n_padding = record.starts[touched], record.stops[touched], n_padding[touched]
        whole = n_padding == stops - starts
        folded = ~whole & batch.padding.contains(stops - 1)
        found = whole & contract.reads_padding_segments
        likely = batch.padding_evidence is PaddingEvidence.DECLARED_ID
        return Hits(
            starts=starts[found],
            stops=stops[found],
            packs=batch.packs_of(starts[found]),
            segments=np.full(np.count_nonzero(found), -1),
            amounts=n_padding[found],
            confidence=Confidence.LIKELY if likely else Confidence.CERTAIN,
            measured={
                "padding_segments": int(np.count_nonzero(whole)),
                "folded_segments": int(np.count_nonzero(folded)),
                "folded_padding": int(n_padding[folded].sum()),
            },
        )

    def message(self, totals: Totals) -> str:
        """Count segments and tokens beside the true samples."""
        n, n_true, n_tokens = totals.n_hits, totals.checked["n_segments"], totals.n_tokens
        segments = "1 recorded segment is" if n == 1 else f"{n:,} recorded segments are"
        tokens = "1 token" if n_tokens == 1 else f"{n_tokens:,} tokens"
        name = totals.shard.contract.name if totals.shard.contract else "the trainer"
        taken = f"{name} takes {'it for a sample' if n == 1 else 'them for samples'}"
        return f"{segments} nothing but padding ({tokens}): {taken} beside {n_true:,} true ones; allowed: 0"
