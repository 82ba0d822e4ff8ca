"""BND003 running-positions: positions do not restart where a sample starts."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.model.needs import Need
from packlint.model.positions import running_segments
from packlint.model.recorded import cuts_only_in
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "seq_lens": [[4, 4]],
    "config": {"profile": "sft", "trainer": "trl", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


class RunningPositions(PackRule):
    """The positions of a segment go on from the segment before it.

    ## What it checks
    The first token of every segment that follows another one in its pack, by an explicit record: its position
    must not be one more than that of the token before it. Checked where the policy requires isolation; a
    stream for pretraining counts through its packs by design.

    ## Why it matters
    Samples are trained at positions that they never have in use, and programs that find boundaries by
    restarted positions find none.

    ## How to fix
    Count from 0 in each sample: LLaMA-Factory, XTuner and torchtune do, and TRL makes positions from
    `seq_lengths`; in Megatron-LM set `reset_position_ids`.

    ## Limits
    Programs that make positions anew when they read the shard (TRL from 0.20) ignore what is found here.
    Packs in which positions restart elsewhere are left to BND001, jumps to another number to BND004.

    ## Sources
    huggingface/nanoVLM#201, hiyouga/LLaMA-Factory#7318, NVIDIA/NeMo#12551.
    """

    meta = RuleMeta(
        code="BND003",
        name="running-positions",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.POSITION_IDS, Need.EXPLICIT_BOUNDARIES),
    )
    why = "Samples are trained at positions that they never have in use."
    fix = "Count positions from 0 in each sample (LLaMA-Factory, XTuner do; Megatron-LM: reset_position_ids)."
    good = ({**_PACK, "position_ids": [[0, 1, 2, 3, 0, 1, 2, 3]]},)
    bad = ({**_PACK, "position_ids": [[0, 1, 2, 3, 4, 5, 6, 7]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per segment that goes on counting."""
        source, inner = batch.segment_source, int(batch.inner_segments.size)
        if source is None or batch.position_ids is None or not batch.policy.requires_isolation:
            return Hits.none(inner_segments=inner)
        running = running_segments(batch)
        if running.size and BoundarySource.POSITION_IDS in batch.boundaries:
            stray = cuts_only_in(batch, BoundarySource.POSITION_IDS, source)
            running = running[~np.isin(batch.segments.packs[running], batch.packs_of(stray))]
        return Hits.of_segments(batch, running, inner_segments=inner)

    def message(self, totals: Totals) -> str:
        """Count them among all segments that follow another one."""
        n, n_all = totals.n_hits, totals.measured["inner_segments"]
        follow = "1 segment that follows" if n_all == 1 else f"{n_all:,} segments that follow"
        return f"positions do not restart in {n:,} of {follow} another one in their pack; allowed: 0"
