"""BND004 broken-positions: inside a segment positions do not rise by one, are negative or too large."""

from __future__ import annotations

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.positions import broken_steps, large_positions, negative_positions
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_PACK = {
    "input_ids": [[1, 11, 12, 2, 1, 21, 22, 2]],
    "seq_lens": [[4, 4]],
    "config": {"profile": "sft", "trainer": "trl", "spec": {"bos_id": 1, "eos_ids": [2]}},
}


class BrokenPositions(PackRule):
    """Inside a segment positions do not rise by one, are negative, or reach past the limit.

    ## What it checks
    Tokens whose position is not one more than that of the token before, segments that begin in mid-count,
    negative positions, and positions of `max_sample_len` or more in segments that are short enough. A restart
    at 0, or at the position at which the pack begins (2 for some encoders), begins a segment.

    ## Why it matters
    Order is all that positions say. Tokens at one position look simultaneous, those past the limit read
    outside the table of embeddings.

    ## How to fix
    Write positions as `range(length)` for each sample, after cutting it. XTuner and LLaMA-Factory do so; with
    TRL leave the column out, its collator makes it.

    ## Limits
    Padding is left out. Restarts inside a recorded segment are left to BND001, long segments to BND009. The
    first segment of a pack may begin anywhere (cut samples). Where nothing tells padding from tokens,
    repeated and negative positions are taken for padding.

    ## Sources
    meta-pytorch/torchtune#1689, NVIDIA/NeMo#12551, huggingface/transformers#47496 (positions from 2).
    """

    meta = RuleMeta(
        code="BND004",
        name="broken-positions",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.POSITION_IDS,),
    )
    why = "Order is all that positions say; those past the limit read outside the table of embeddings."
    fix = (
        "Write positions as range(length) for each sample after cutting it, or let TRL's collator make them."
    )
    good = ({**_PACK, "position_ids": [[0, 1, 2, 3, 0, 1, 2, 3]]},)
    bad = ({**_PACK, "position_ids": [[0, 1, 2, 3, 0, 1, 3, 4]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return the runs of wrong positions."""
        limit = batch.spec.max_sample_len
        steps, negative = Spans.from_indices(broken_steps(batch)), negative_positions(batch)
        large = large_positions(batch, limit.value) if limit else Spans.empty()
        if not (len(steps) or len(negative) or len(large)):
            return Hits.none(broken_steps=0, negative_positions=0, large_positions=0)
        explicit = batch.segment_source is not None and batch.segment_source.is_explicit
        return Hits.of_spans(
            batch,
            steps.union(negative).union(large),
            confidence=Confidence.CERTAIN if explicit else Confidence.LIKELY,
            broken_steps=steps.n_tokens,
            negative_positions=negative.n_tokens,
            large_positions=large.n_tokens,
        )

    def message(self, totals: Totals) -> str:
        """Count each kind."""
        counts, limit = totals.measured, totals.shard.spec.max_sample_len
        kinds = {
            "not one more than before": counts["broken_steps"],
            "negative": counts["negative_positions"],
            f"not below {limit.value:,}" if limit else "": counts["large_positions"],
        }
        tokens = "1 token has" if totals.n_tokens == 1 else f"{totals.n_tokens:,} tokens have"
        which = ", ".join(f"{n:,} {what}" for what, n in kinds.items() if n)
        return f"{tokens} a wrong position ({which}); allowed: 0"
