"""CTX002 short-samples-only: no sample is long enough to use a long row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.lengths import Lengths

_NEEDS = (Need.PACKS, Need.SEGMENTS)
_IDS = list(range(10, 26))


class ShortSamplesOnly(DatasetRule[Lengths]):
    """No sample is longer than a small share of the row.

    ## What it checks
    The longest sample against half the row length, in rows of 32,768 slots and more; in all rows under
    profiles that promise long context.

    ## Why it matters
    The model never meets a dependence of the length that the rows suggest: its long context stays untrained.

    ## How to fix
    Add long documents, or find the step that cut them: a `max_length` before packing (TRL, LLaMA-Factory
    `cutoff_len`), a chunker for retrieval. If rows are long for throughput only, ignore this rule.

    ## Limits
    One long sample makes it silent; CTX001 says how many tokens have long context.

    ## Sources
    MoonshotAI/MoBA#20 (32K rows of three 10K texts), dwzhu-pku/PoSE#18.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How long a sample must be.

        Args:
            min_longest_fraction: tokens of the longest sample, of the slots of its row.
            min_row_tokens: slots of a row from which it promises long context by itself.
        """

        min_longest_fraction: float = 0.5
        min_row_tokens: int = 32768

    meta = RuleMeta(
        code="CTX002", name="short-samples-only", severity=Severity.INFO, since="0.1.0", needs=_NEEDS
    )
    why = "The model never meets a dependence of the length that the rows suggest."
    fix = "Add long documents, or find the step before packing that cut them."
    good = ({"input_ids": [_IDS], "seq_lens": [[12, 4]], "config": {"profile": "long-context"}},)
    bad = ({"input_ids": [_IDS], "seq_lens": [[4] * 4], "config": {"profile": "long-context"}},)

    def zero(self) -> Lengths:
        """Return no samples."""
        return Lengths()

    def observe(self, summary: Lengths, batch: PackBatch) -> Lengths:
        """Count the samples by length and row length."""
        known = batch.spec.max_seq_len
        if batch.shard.unit is Unit.PACK:
            summary.add(batch, known.value if known else 0)
        return summary

    def judge(self, summary: Lengths, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the longest sample with the row, for each row length."""
        options, promises = self.options, dataset.policy.promises_long_context
        by_row = summary.by_row(1 if promises else options.min_row_tokens)
        longest = {row: max(samples) for row, samples in by_row.items()}
        share, row = max(((tokens / row, row) for row, tokens in longest.items()), default=(1.0, 0))
        if share >= options.min_longest_fraction:
            return
        tokens = longest[row]
        seen = "1 token" if tokens == 2 else f"{tokens - 1:,} tokens"
        yield Judgement(
            message=f"the longest sample has {tokens:,} tokens in rows of {row:,} ({100 * share:.2g} %): no"
            f" token has more than {seen} of its own sample before it; wanted:"
            f" {100 * options.min_longest_fraction:.3g} % of the row",
            n_hits=sum(summary.n_packs.values()),
            confidence=Confidence.LIKELY if summary.n_inferred else Confidence.CERTAIN,
            measured={"longest_sample_tokens": tokens, "row_tokens": row},
        )
