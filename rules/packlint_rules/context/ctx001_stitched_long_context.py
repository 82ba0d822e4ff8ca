"""CTX001 stitched-long-context: long rows hold hardly any token with a long context of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.lengths import Contexts, Lengths, context_of, tokens_reaching

_NEEDS = (Need.PACKS, Need.SEGMENTS)
_IDS = list(range(10, 26))
_FIRST_STEP = 6
"""The first context that is measured is 2 to the power of this."""


class StitchedLongContext(DatasetRule[Lengths]):
    """Few tokens have as much context of their own sample as the row length promises.

    ## What it checks
    From the exact lengths of all samples: the share of tokens that see an eighth, a quarter and half of a row
    of their own sample, the last against a row of one sample (half of its tokens do); and the effective
    context, the mean over tokens. Rows of 32,768 slots and more; all in profiles that promise long context.

    ## Why it matters
    A long row stitched from short samples teaches no long-range dependence, with or without isolation. The
    run costs what long context costs and gives what short samples give.

    ## How to fix
    Choose long documents (ProLong: books and repositories) and pack short ones into shorter rows. Where rows
    are long for throughput only, as TRL and torchtune pack chats, leave `promises_long_context` off.

    ## Limits
    Length is no dependence: a long sample may be made of unrelated parts. Context that a cut took is lost.
    Where rows differ in length, contexts are given for the longest and shrink with the row.

    ## Sources
    MoonshotAI/MoBA#20, dwzhu-pku/PoSE#18; Dataset Decomposition, arXiv:2405.13226 (average context length).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Which context is looked for, and how much of it is enough.

        Args:
            context_fractions: contexts to report, as shares of the row, rising; the last is judged.
            min_promise_fraction: share of tokens that have it, of the share in rows of one sample.
            min_row_tokens: slots of a row from which it promises long context by itself.
        """

        context_fractions: tuple[float, ...] = (0.125, 0.25, 0.5)
        min_promise_fraction: float = 0.2
        min_row_tokens: int = 32768

    meta = RuleMeta(
        code="CTX001", name="stitched-long-context", severity=Severity.WARNING, since="0.1.0", needs=_NEEDS
    )
    why = "Long rows stitched from short samples cost what long context costs and teach none."
    fix = "Choose long documents for long rows, and pack short samples into shorter ones."
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

    def measures(self, summary: Lengths, dataset: Dataset) -> dict[str, int | float]:
        """Return the share of tokens that see 64, 128, … tokens of their own sample, until none does."""
        samples: Counter[int] = sum(map(Counter, summary.samples.values()), Counter())
        n_tokens = sum(tokens * n for tokens, n in samples.items())
        steps = [1 << i for i in range(_FIRST_STEP, max(samples, default=0).bit_length() + 1)]
        return {
            f"tokens_with_context_{least}_fraction": tokens_reaching(samples, least) / n_tokens
            for least in steps
        }

    def judge(self, summary: Lengths, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the tokens with long context with those of rows of one sample."""
        options, promises = self.options, dataset.policy.promises_long_context
        by_row = summary.by_row(1 if promises else options.min_row_tokens)
        if not by_row:
            return
        found = Contexts.of(by_row, options.context_fractions)
        reached, wanted = found.reached[-1], options.min_promise_fraction * found.promised[-1]
        if reached >= wanted:
            return
        row, up_to = max(by_row), "up to " if len(by_row) > 1 else ""
        asked = [f"{context_of(row, fraction):,}" for fraction in options.context_fractions]
        seen = ", ".join(
            f"{100 * n:.2g} % see {least}" for n, least in zip(found.reached, asked, strict=True)
        )
        yield Judgement(
            message=f"rows of {up_to}{row:,} slots, effective context {found.mean_tokens:,.4g} tokens; of all"
            f" tokens {seen} tokens of their own sample; wanted at {asked[-1]}: {100 * wanted:.3g} %",
            n_hits=sum(summary.n_packs.values()),
            n_tokens=found.n_tokens,
            confidence=Confidence.LIKELY if summary.n_inferred else Confidence.CERTAIN,
            measured={"effective_context_tokens": found.mean_tokens, "long_context_fraction": reached},
        )
