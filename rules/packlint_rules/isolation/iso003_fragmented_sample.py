"""ISO003 fragmented-sample: a token cannot see the beginning of its own sample."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.model.isolation import unknown_isolation
from packlint.model.leaks import measure_leaks
from packlint.model.needs import Need
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {"input_ids": [[1, 11, 12, 13, 14, 2, 1, 21, 2]], "seq_lens": [[6, 3]]}
_CONFIG = {"trainer": "llama-factory", "profile": "sft", "spec": {"bos_id": 1, "eos_ids": [2]}}


class FragmentedSample(PackRule):
    """The trainer's blocks are finer than the samples: a token cannot see the beginning of its own sample.

    ## What it checks
    Pairs of a query and an earlier key in one true segment that the trainer's mask does not allow. The true
    segments must come from an explicit record or from positions.

    ## Why it matters
    The sample is trained as several: its later parts answer a question that they cannot read.

    ## How to fix
    Give the trainer one number or length per sample. Where it scans for the end token (OLMo-core, Megatron-LM
    with `reset_attention_mask`), do not end turns in that token; LLaMA-Factory numbers samples, not turns.

    ## Limits
    Counts every pair that causal attention would allow: a stored mask with a sliding window is reported too.

    ## Sources
    allenai/OLMo-core#653, NVIDIA/NeMo#14437; LLaMA-Factory src/llamafactory/data/processor/supervised.py.
    """

    meta = RuleMeta(
        code="ISO003",
        name="fragmented-sample",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.PACKS, Need.TRAINER, Need.SEGMENTS),
    )
    why = "The later parts of a sample are trained without the beginning that they continue."
    fix = "Record one segment per sample in what the trainer reads, not one per turn or chunk."
    good = ({**_PACK, "attention_mask": [[1, 1, 1, 1, 1, 1, 2, 2, 2]], "config": _CONFIG},)
    bad = ({**_PACK, "attention_mask": [[1, 1, 1, 2, 2, 2, 3, 3, 3]], "config": _CONFIG},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say so where samples or the trainer's blocks are known from tokens only."""
        if batch.segment_source is BoundarySource.BOUNDARY_TOKENS:
            return "only boundary tokens tell where samples begin"
        return unknown_isolation(batch)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per segment with hidden pairs."""
        hidden = measure_leaks(batch).hidden
        n_hidden = int(hidden.sum())
        if n_hidden == 0:
            return Hits.none(hidden_pairs=0)
        segments = np.flatnonzero(hidden)
        explicit = batch.segment_source is not None and batch.segment_source.is_explicit
        return Hits.of_segments(
            batch,
            segments,
            amounts=hidden[segments],
            confidence=Confidence.CERTAIN if explicit else Confidence.LIKELY,
            hidden_pairs=n_hidden,
        )

    def message(self, totals: Totals) -> str:
        """Give segments and pairs."""
        n, hidden = totals.n_hits, totals.measured["hidden_pairs"]
        segments = "1 segment is" if n == 1 else f"{n:,} segments are"
        pairs = "1 (query, key) pair" if hidden == 1 else f"{hidden:,} (query, key) pairs"
        trainer = totals.shard.contract.name if totals.shard.contract else "the trainer"
        return f"{segments} cut into parts that cannot see each other: {trainer} hides {pairs}; allowed: 0"
