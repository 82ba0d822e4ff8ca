"""BND010 interior-padding: padding before or between real tokens."""

from __future__ import annotations

import numpy as np

from packlint.finding import Hits, Severity
from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "layout": {"padding": "mask_zero"},
    "config": {
        "profile": "sft",
        "trainer": "llama-factory",
        "spec": {"bos_id": 1, "eos_ids": [2], "pad_id": 0},
    },
}


class InteriorPadding(PackRule):
    """Padding stands before or between real tokens, where the policy wants one tail.

    ## What it checks
    Runs of padding that do not end with their pack, known by a mask, a length or a segment id.

    ## Why it matters
    Programs that take the first n tokens of a pack, or its padding for one tail, train on filler and lose the
    last real tokens. Under causal attention all that follows can see it.

    ## How to fix
    Pack first, pad the end: set `padding_side="right"` with transformers and TRL; LLaMA-Factory and torchtune
    pad the tail. If padding between samples is meant, set `padding_only_at_end = false` in the profile.

    ## Limits
    A stray padding token between documents, as Axolotl's streaming packer writes it, is reported too.

    ## Sources
    NVIDIA-NeMo/Megatron-Bridge#4507; axolotl-ai-cloud/axolotl src/axolotl/utils/data/streaming.py.
    """

    meta = RuleMeta(
        code="BND010",
        name="interior-padding",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.PADDING_STRUCTURE,),
    )
    why = "Programs that take padding for one tail train on filler and lose the last real tokens."
    fix = 'Pad packs at their end only (padding_side="right" with transformers and TRL).'
    good = ({**_PACK, "input_ids": [[1, 11, 2, 1, 21, 2, 0]], "attention_mask": [[1, 1, 1, 2, 2, 2, 0]]},)
    bad = ({**_PACK, "input_ids": [[1, 11, 2, 0, 1, 21, 2]], "attention_mask": [[1, 1, 1, 0, 2, 2, 2]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of padding with real tokens after it."""
        if not batch.policy.padding_only_at_end:
            return Hits.none()
        runs = batch.padding
        if np.array_equal(runs.stops, _pack_stops(batch, runs)):
            return Hits.none()
        runs = runs.split_at(batch.pack_offsets)
        inner = runs.stops < _pack_stops(batch, runs)
        return Hits.of_spans(batch, Spans(runs.starts[inner], runs.stops[inner]))

    def message(self, totals: Totals) -> str:
        """Count tokens and runs, of all padding."""
        n, runs = totals.n_tokens, totals.n_hits
        stand = "token stands" if n == 1 else "tokens stand"
        return (
            f"{n:,} padding {stand} before real tokens, in {runs:,} run{'s' * (runs != 1)} "
            f"(of {totals.checked['n_padding']:,} padding tokens in all); allowed: 0"
        )


def _pack_stops(batch: PackBatch, runs: Spans) -> Int64Array:
    return batch.pack_offsets[batch.packs_of(runs.starts) + 1]
