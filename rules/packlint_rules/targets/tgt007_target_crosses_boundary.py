"""TGT007 target-crosses-boundary: the first token of a sample is predicted from another sample."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, ShardContext
from packlint.model.contract import BoundaryTargets
from packlint.model.edges import follows_another, is_recorded
from packlint.model.needs import Need
from packlint.model.recorded import sound_segments
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2, 0, 0]],
    "segment_ids": [[1, 1, 1, 1, 2, 2, 2, 2, 0, 0]],
    "config": {"profile": "sft", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


class TargetCrossesBoundary(PackRule):
    """The first token of a segment is a target, although the sample before it is all that can predict it.

    ## What it checks
    Targets on the first token of a segment that follows another one without padding between. A pack's first
    token is predicted by nothing and does not count. Error; warning where no trainer is known; info where
    the trainer masks these targets itself. Nothing where the policy allows boundary targets.

    ## Why it matters
    One target per boundary is noise: the end of one sample says nothing about the start of the next. Where
    isolation holds, the model is even asked to guess it from a token that it must not use.

    ## How to fix
    Set the label of every segment's first token to -100 (pre-shifted: of its last slot). TRL from 0.24 and
    transformers' DataCollatorWithFlattening do it themselves; torchtune, Axolotl and LLaMA-Factory do not.

    ## Limits
    Boundaries read out of positions or end tokens make the finding likely, not certain. Samples in rows of
    their own, packed when read, have no boundaries yet. Silent for trainers that shift inside each segment.

    ## Sources
    meta-pytorch/torchtune#2613, meta-pytorch/torchtune#1177, pytorch/torchtitan#4075,
    swiss-ai/Megatron-LM#40.
    """

    meta = RuleMeta(
        code="TGT007",
        name="target-crosses-boundary",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.TARGETS, Need.SEGMENTS),
    )
    why = "The end of one sample says nothing about the start of the next: the target is noise."
    fix = "Set the label of every segment's first token to -100, or use a trainer that does."
    good = ({**_PACK, "labels": [[-100, -100, 12, 2, -100, -100, 22, 2, -100, -100]]},)
    bad = ({**_PACK, "labels": [[-100, -100, 12, 2, 1, -100, 22, 2, -100, -100]]},)

    def severity(self, shard: ShardContext) -> Severity:
        """Trust a trainer that masks them; warn where none is known."""
        if shard.contract is None:
            return Severity.WARNING
        masked = shard.contract.boundary_targets is BoundaryTargets.MASKED
        return Severity.INFO if masked else self.meta.severity

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per boundary target."""
        n_targets, contract = batch.targets.n_tokens, batch.shard.contract
        impossible = contract is not None and contract.boundary_targets is BoundaryTargets.IMPOSSIBLE
        if batch.policy.allows_boundary_targets or impossible:
            return Hits.none(targets=n_targets, boundary_targets=0)
        starts = batch.segments.starts[np.flatnonzero(follows_another(batch) & sound_segments(batch))]
        crossing = starts[batch.targets.contains(starts)]
        confidence = Confidence.CERTAIN if is_recorded(batch) else Confidence.LIKELY
        counts = {"targets": n_targets, "boundary_targets": crossing.size}
        return Hits.of_tokens(batch, crossing, confidence=confidence, **counts)

    def message(self, totals: Totals) -> str:
        """Give the boundary targets and their share."""
        n, n_all, contract = totals.n_hits, totals.measured["targets"], totals.shard.contract
        what = (
            "target is the first token of a sample" if n == 1 else "targets are the first tokens of samples"
        )
        masked = contract is not None and contract.boundary_targets is BoundaryTargets.MASKED
        end = f"{contract.name} masks them" if contract is not None and masked else "allowed: 0"
        share = f"{100 * n / n_all:.3g} % of {n_all:,} targets"
        return f"{n:,} {what}, predicted from another sample ({share}); {end}"
