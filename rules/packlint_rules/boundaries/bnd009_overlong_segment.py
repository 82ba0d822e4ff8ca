"""BND009 overlong-segment: a segment is longer than the declared limit."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.recorded import sound_segments
from packlint.rule import PackRule, RuleMeta, Totals

_SAMPLE = [1, 11, 12, 13, 14, 15, 16, 2]
_PACK = {
    "config": {
        "profile": "sft",
        "trainer": "trl",
        "spec": {"bos_id": 1, "eos_ids": [2], "max_sample_len": 8},
    },
}


class OverlongSegment(PackRule):
    """A segment is longer than the declared limit of samples or positions.

    ## What it checks
    Lengths of the true segments against `[spec] max_sample_len`.

    ## Why it matters
    If nothing that long went in, samples were joined on the way. If it did, positions run past what the model
    was made for, and programs with a limit of their own cut the sample.

    ## How to fix
    Cut or drop long samples before packing: TRL `max_length`, LLaMA-Factory `cutoff_len`, OLMo-core
    `long_doc_strategy`; or declare the limit that is meant.

    ## Limits
    Only a declared limit is checked. Boundaries read out of positions or end tokens make the finding likely.

    ## Sources
    allenai/open-instruct#1855 (spans of 123,016 tokens where nothing exceeds 32,768),
    meta-pytorch/torchtune#1689.
    """

    meta = RuleMeta(
        code="BND009",
        name="overlong-segment",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.SEGMENTS,),
    )
    why = "Samples were joined on the way, or positions run past what the model was made for."
    fix = "Cut or drop long samples before packing (TRL max_length, LLaMA-Factory cutoff_len)."
    good = ({**_PACK, "input_ids": [_SAMPLE], "seq_lens": [[8]]},)
    bad = ({**_PACK, "input_ids": [[*_SAMPLE[:-1], 17, 2]], "seq_lens": [[9]]},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for a limit."""
        known = batch.spec.max_sample_len is not None
        return None if known else "max_sample_len: unknown; give [spec] max_sample_len"

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per segment above the limit, worst by how far."""
        limit, lengths = batch.spec.max_sample_len, batch.segments.lengths
        if limit is None or lengths.max(initial=0) <= limit.value:
            return Hits.none(excess_tokens=0)
        long = np.flatnonzero((lengths > limit.value) & sound_segments(batch))
        excess = lengths[long] - limit.value
        explicit = batch.segment_source is not None and batch.segment_source.is_explicit
        confidence = Confidence.CERTAIN if explicit else Confidence.LIKELY
        return Hits.of_segments(
            batch, long, amounts=excess, confidence=confidence, excess_tokens=int(excess.sum())
        )

    def message(self, totals: Totals) -> str:
        """Give the longest."""
        limit = totals.shard.spec.max_sample_len
        allowed = limit.value if limit else 0
        segments = "1 segment is" if totals.n_hits == 1 else f"{totals.n_hits:,} segments are"
        longest = f"{allowed + totals.worst.amount:,} tokens"
        return f"{segments} too long, the longest with {longest}; allowed: {allowed:,} tokens"
