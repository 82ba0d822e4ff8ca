"""BND002 malformed-offsets: offsets or lengths do not cut the pack into segments."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.arrays import empty_int64
from packlint.model.batch import PackBatch
from packlint.model.boundaries import OffsetFault
from packlint.model.contract import BoundarySource
from packlint.rule import PackRule, RuleMeta, Totals

_SOURCES = (BoundarySource.SEQ_LENS, BoundarySource.CU_SEQLENS, BoundarySource.DOCUMENT_INDEX)
_WORDS = {
    OffsetFault.FIRST_NOT_ZERO: "first != 0",
    OffsetFault.NOT_RISING: "not rising",
    OffsetFault.LAST_NOT_LENGTH: "last != length",
    OffsetFault.EMPTY_SEGMENT: "zero-length segment",
    OffsetFault.NEGATIVE: "negative value",
    OffsetFault.SUM_NOT_LENGTH: "sum != length",
}


class MalformedOffsets(PackRule):
    """Offsets or lengths do not cut the pack into segments.

    ## What it checks
    Offsets begin with 0, rise, and end with the length of the pack (starts without an end stay inside it);
    lengths are above 0 and add up to the pack. Repeats of the end are padding of the offsets, not a fault.

    ## Why it matters
    Kernels for variable lengths take the numbers as they come: they read past the pack, drop its tail or
    join samples, mostly without an error.

    ## How to fix
    Compute offsets as the running sum of the lengths, after padding and cutting. TRL's `seq_lengths` and
    XTuner's `cumulative_len` cover the whole row.

    ## Limits
    Other rules about boundaries and isolation leave such packs out, as far as they would have to trust this
    record.

    ## Sources
    huggingface/transformers#33268, NVIDIA/Megatron-LM#5298, Dao-AILab/flash-attention#2381,
    NVIDIA-NeMo/Megatron-Bridge#4400.
    """

    meta = RuleMeta(code="BND002", name="malformed-offsets", severity=Severity.ERROR, since="0.1.0")
    why = "Kernels take the numbers as they come: they read past the pack, drop its tail or join samples."
    fix = "Compute offsets as the running sum of the final lengths (TRL seq_lengths, XTuner cumulative_len)."
    good = ({"input_ids": [[1, 11, 2, 1, 21, 2]], "cu_seqlens": [[0, 3, 6]], "config": {"profile": "sft"}},)
    bad = ({"input_ids": [[1, 11, 2, 1, 21, 2]], "cu_seqlens": [[0, 3, 7]], "config": {"profile": "sft"}},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for offsets or lengths."""
        if any(source in batch.boundaries for source in _SOURCES):
            return None
        return "the shard stores no offsets and no lengths"

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit without tokens per pack and malformed record, worst where most is wrong."""
        packs, amounts, measured = [empty_int64()], [empty_int64()], {}
        for source in _SOURCES:
            record = batch.boundaries.get(source)
            if record is None or record.fault_packs.size == 0:
                continue
            for kind in OffsetFault:
                if n := int(np.count_nonzero(record.fault_kinds == kind)):
                    measured[f"{source}_{kind.name.lower()}"] = n
            wrong, n_kinds = np.unique(record.fault_packs, return_counts=True)
            packs.append(wrong)
            amounts.append(n_kinds)
        order = np.argsort(np.concatenate(packs), kind="stable")
        where = np.concatenate(packs)[order]
        places = batch.pack_offsets[where]
        return Hits(
            starts=places,
            stops=places,
            packs=where,
            segments=np.full(where.size, -1),
            amounts=np.concatenate(amounts)[order],
            measured=measured,
        )

    def message(self, totals: Totals) -> str:
        """Name each record and what is wrong with it, in packs."""
        said = []
        for source in _SOURCES:
            counts = {
                word: totals.measured.get(f"{source}_{kind.name.lower()}", 0) for kind, word in _WORDS.items()
            }
            kinds = [f"{word} in {n:,} pack{'s' * (n != 1)}" for word, n in counts.items() if n]
            said += [f"{source}: {', '.join(kinds)}"] * bool(kinds)
        return f"{'; '.join(said)}; allowed: 0"
