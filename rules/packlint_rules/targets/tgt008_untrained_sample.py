"""TGT008 untrained-sample: no token of a sample is a target."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.edges import fillers, fragment_starts, fragment_stops, is_recorded
from packlint.model.needs import Need
from packlint.model.recorded import sound_segments
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2, 0, 0]],
    "segment_ids": [[1, 1, 1, 1, 2, 2, 2, 2, 0, 0]],
    "config": {"profile": "sft", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


class UntrainedSample(PackRule):
    """A sample has no target at all: it costs compute and teaches nothing.

    ## What it checks
    Counts the targets of each segment, with those that only pre-shifted labels hold. Samples are counted,
    not packs. A fragment of a cut sample at the edge of its pack is measured apart and not reported.

    ## Why it matters
    The pack looks healthy, because its other samples do have targets. The usual causes lose whole classes
    of samples: long prompts that fill the window, and markers of a template that do not match.

    ## How to fix
    Cut prompts rather than answers, or drop the sample before packing. TRL: mind `max_length` with
    `assistant_only_loss`; LLaMA-Factory: `cutoff_len`; Unsloth: the markers of `train_on_responses_only`.

    ## Limits
    Only the trainer contract tells which packers cut samples. Segments of one repeated id are taken for
    padding. Context that is untrained on purpose is reported too: turn the rule off for it.

    ## Sources
    huggingface/trl#6668, huggingface/trl#3927, NVIDIA/NeMo#8025, modelscope/ms-swift#10166,
    unslothai/unsloth#2095, lm-sys/FastChat#2389.
    """

    meta = RuleMeta(
        code="TGT008",
        name="untrained-sample",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.TARGETS, Need.SEGMENTS),
    )
    why = "The sample costs compute and room and teaches nothing; its neighbours hide it."
    fix = "Cut prompts rather than answers, check the markers of the loss mask, or drop the sample."
    good = ({**_PACK, "labels": [[-100, -100, 12, 2, -100, -100, 22, 2, -100, -100]]},)
    bad = ({**_PACK, "labels": [[-100, -100, -100, -100, -100, -100, 22, 2, -100, -100]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per sample without target."""
        untrained = batch.targets_per_segment + batch.outside_per_segment == 0
        cut = np.zeros(batch.n_segments, np.bool_)
        if untrained.any():
            untrained &= sound_segments(batch) & ~fillers(batch)
            edge = fragment_starts(batch, if_unknown=False) | fragment_stops(batch, if_unknown=False)
            cut = untrained & edge
        samples = np.flatnonzero(untrained & ~cut)
        return Hits.of_segments(
            batch,
            samples,
            confidence=Confidence.CERTAIN if is_recorded(batch) else Confidence.LIKELY,
            untrained_samples=samples.size,
            cut_untrained=int(np.count_nonzero(cut)),
        )

    def message(self, totals: Totals) -> str:
        """Give the samples without target and their tokens."""
        n, n_all, n_cut = totals.n_hits, totals.checked["n_segments"], totals.measured["cut_untrained"]
        samples = f"{n_all:,} {'segment' if n_all == 1 else 'segments'} {'has' if n == 1 else 'have'}"
        cut = f"; cut fragments without target, not counted: {n_cut:,}" if n_cut else ""
        return f"{n:,} of {samples} no target ({totals.n_tokens:,} tokens); allowed: 0{cut}"
