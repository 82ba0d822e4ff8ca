"""FIL004 odd-pack-length: a pack is longer than its format allows, or padded to another length."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.arrays import BoolArray
from packlint.model.batch import PackBatch, PaddingEvidence, ShardContext
from packlint.model.contract import CutPolicy
from packlint.model.needs import Need
from packlint.model.spec import Origin
from packlint.rule import PackRule, RuleMeta, Totals


class OddPackLength(PackRule):
    """A pack is longer than `max_seq_len` allows, or was padded to less than it.

    ## What it checks
    The slots of each pack. Allowed are `max_seq_len` and what the trainer's packer adds per pack
    (LLaMA-Factory: 1) or per segment (NeMo: 1). A shorter pack is a fault only if it ends in padding: ragged
    packs and the last window of a stream are short by right.

    ## Why it matters
    Longer packs are cut by the trainer, or crash it. Packs padded to less do not stack with the others.

    ## How to fix
    Pack again with the length that training uses: `max_length` in TRL, `cutoff_len` in LLaMA-Factory,
    `pack_size` in NeMo. If the shards are right, correct `[spec] max_seq_len`.

    ## Limits
    Likely, not certain: where `max_seq_len` was read off the first packs, where no trainer is known, and
    short packs, which may be batches padded to their longest row.

    ## Sources
    hiyouga/LLaMA-Factory `src/llamafactory/data/processor/supervised.py` (cutoff_len + 1),
    NVIDIA-NeMo/Megatron-Bridge `src/megatron/bridge/data/packing/` (length - 1 per sample).
    """

    meta = RuleMeta(
        code="FIL004",
        name="odd-pack-length",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.PACKS, Need.MAX_SEQ_LEN),
    )
    why = "Longer packs are cut or crash the trainer; packs padded to another length cannot be stacked."
    fix = "Pack again with the length that training uses, or correct [spec] max_seq_len."
    good = ({"input_ids": [[1, 11, 12, 2], [1, 13, 2]], "config": {"spec": {"max_seq_len": 4}}},)
    bad = ({"input_ids": [[1, 11, 12, 2], [1, 13, 14, 15, 2]], "config": {"spec": {"max_seq_len": 4}}},)

    def check(self, batch: PackBatch) -> Hits:
        """Return packs that are too long, and padded packs that are too short."""
        known, n_segments = batch.spec.max_seq_len, np.diff(batch.segment_first_in_pack)
        if known is None:
            return Hits.none()
        per_pack, per_segment = _extra_slots(batch.shard)
        over = batch.pack_lengths - known.value
        excess, lack = over - per_pack - per_segment * n_segments, -over * _ends_in_padding(batch)
        packs = np.flatnonzero((excess > 0) | (lack > 0))
        n_long = int(np.count_nonzero(excess > 0))
        is_declared = known.origin is not Origin.DETECTED and batch.shard.contract is not None
        return Hits.of_packs(
            batch,
            packs,
            amounts=np.maximum(excess, lack)[packs],
            confidence=Confidence.CERTAIN if is_declared and n_long == packs.size else Confidence.LIKELY,
            too_long=n_long,
            too_short=packs.size - n_long,
        )

    def message(self, totals: Totals) -> str:
        """Count both kinds, and give the worst length and what is allowed."""
        known, (per_pack, per_segment) = totals.shard.spec.max_seq_len, _extra_slots(totals.shard)
        packs = "1 pack has" if totals.n_packs == 1 else f"{totals.n_packs:,} packs have"
        kinds = f"{totals.measured['too_long']:,} too long, {totals.measured['too_short']:,} padded to less"
        allowed = f"{known.value + per_pack:,} slots" if known else "unknown"
        more = f" and {per_segment} per segment" if per_segment else ""
        return f"{packs} an odd length ({kinds}; the worst: {totals.worst.stop:,}); allowed: {allowed}{more}"


def _extra_slots(shard: ShardContext) -> tuple[int, int]:
    """Return slots that the packer adds per pack (a detected length has them in it) and per segment."""
    contract, known = shard.contract, shard.spec.max_seq_len
    if contract is None or known is None:
        return 0, 0
    per_pack = 0 if known.origin is Origin.DETECTED else contract.extra_slots_per_pack
    return per_pack, contract.extra_slots_per_segment


def _ends_in_padding(batch: PackBatch) -> BoolArray:
    """`bool[pack]`, packs that end in padding, where the layout pads every pack to one length."""
    contract = batch.shard.contract
    is_ragged = contract is not None and (
        contract.extra_slots_per_segment > 0 or contract.cut_policy is CutPolicy.WINDOWS
    )
    if is_ragged or batch.padding_evidence is not PaddingEvidence.STRUCTURE:
        return np.zeros(batch.n_packs, np.bool_)
    return batch.padding.contains(batch.pack_offsets[1:] - 1) & (batch.pack_lengths > 0)
