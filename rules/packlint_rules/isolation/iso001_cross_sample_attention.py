"""ISO001 cross-sample-attention: tokens can attend to another sample."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.isolation import deciding_source, is_overridden, unknown_isolation
from packlint.model.leaks import measure_leaks
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {"input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]], "seq_lens": [[4, 4]]}
_CONFIG = {"profile": "sft", "spec": {"bos_id": 1, "eos_ids": [2]}}
_BY, _NOTHING = "packs_isolated_by_", "keeps no samples apart"


class CrossSampleAttention(PackRule):
    """Tokens of one sample can attend to tokens of another sample in the same pack.

    ## What it checks
    The blocks that the trainer would let see each other, from what it reads in the shard, against the true
    segments: pairs of a query and an earlier key in different samples. A finding where the policy requires
    isolation; elsewhere the same numbers are only measured.

    ## Why it matters
    Every sample but the first of a pack is trained with foreign text before it. The loss curve looks healthy;
    10 to 20 points on benchmarks were lost to it.

    ## How to fix
    Store what the trainer reads: TRL writes `seq_lengths` with packing strategy `bfd`, LLaMA-Factory numbers
    `attention_mask` with `neat_packing`, transformers wants restarted `position_ids` and no `attention_mask`,
    Megatron-LM needs `reset_attention_mask`. If samples may see each other, take the profile `pretrain`.

    ## Limits
    A model or kernel that drops the boundaries is not seen. A mask of ones is taken to switch isolation by
    positions off (FlashAttention in transformers 5 drops it). Inferred boundaries: likely, not certain.

    ## Sources
    huggingface/trl#784, huggingface/trl#3526, hiyouga/LLaMA-Factory#2289, NVIDIA-NeMo/Megatron-Bridge#2952.
    """

    meta = RuleMeta(
        code="ISO001",
        name="cross-sample-attention",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.PACKS, Need.TRAINER, Need.SEGMENTS),
    )
    why = "Samples are trained with foreign text before them; the loss curve does not show it."
    fix = "Store the boundaries that the trainer reads (TRL bfd packing, LLaMA-Factory neat_packing)."
    good = ({**_PACK, "config": {**_CONFIG, "trainer": "trl"}},)
    bad = ({**_PACK, "config": {**_CONFIG, "trainer": "trl-wrapped"}},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say so where samples, or the trainer's blocks, hang on a token that does not tell them apart."""
        return unknown_isolation(batch)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per segment that sees another sample: its tokens from the first that does."""
        leaks, source = measure_leaks(batch), deciding_source(batch)
        nothing = "overridden_positions" if is_overridden(batch) else "nothing"
        measured = {
            "leaked_pairs": int(leaks.leaked.sum()),
            "allowed_pairs": int(leaks.allowed.sum()),
            "exposed_tokens": int(leaks.exposed.sum()),
            "exposed_targets": int(leaks.exposed_targets.sum()),
            _BY + (source or nothing): batch.n_packs,
        }
        if measured["leaked_pairs"] == 0 or not batch.policy.requires_isolation:
            return Hits.none(**measured)
        segments = np.flatnonzero(leaks.leaked)
        explicit = batch.segment_source is not None and batch.segment_source.is_explicit
        confidence = Confidence.CERTAIN if explicit else Confidence.LIKELY
        hits = Hits.of_segments(
            batch, segments, amounts=leaks.leaked[segments], confidence=confidence, **measured
        )
        return replace(hits, starts=leaks.first_exposed[segments])

    def message(self, totals: Totals) -> str:
        """Give pairs, their share, what they touch, and why the trainer lets it happen."""
        counts, contract = totals.measured, totals.shard.contract
        leaked, tokens, targets = (counts[k] for k in ("leaked_pairs", "exposed_tokens", "exposed_targets"))
        pairs = "pair reaches" if leaked == 1 else "pairs reach"
        touched = f"{tokens:,} token{'s' * (tokens != 1)} and {targets:,} target{'s' * (targets != 1)}"
        origin = next(key for key in counts if key.startswith(_BY)).removeprefix(_BY)
        sources = contract.isolates_by if contract else ()
        reasons = {
            "nothing": f"isolates by {' or '.join(sources)}, which the shard lacks" if sources else _NOTHING,
            "overridden_positions": "ignores position_ids beside an attention_mask that numbers no samples",
        }
        reason = reasons.get(origin, f"isolates by {origin}, coarser than the true record")
        share = f"{100 * leaked / counts['allowed_pairs']:.3g} % of those allowed"
        return (
            f"{leaked:,} (query, key) {pairs} into another sample, {share}, at {touched}: "
            f"{contract.name if contract else 'the trainer'} {reason}; allowed: 0"
        )
