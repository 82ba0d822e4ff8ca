"""SMP008 unbalanced-tokens: packed tokens come from no sample of the reference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from packlint.finding import Severity
from packlint.rule import Dataset, Judgement, ReferenceRule, RuleMeta
from packlint.summaries.reconciliation import MAX_SHOWN, Reconciliation
from packlint.summaries.wording import share_of

_IDS = [1, *range(10, 30), 2]


class UnbalancedTokens(ReferenceRule):
    """The books do not balance: the packs hold tokens that the reference does not.

    ## What it checks
    packed tokens = tokens of the reference - lost + repeated + special tokens added. What the packs hold
    beyond that was led back to no sample, as a whole or in pieces.

    ## Why it matters
    Data got into the packs that nobody put there, or the reference is not what was packed: then nothing that
    was measured against it holds.

    ## How to fix
    Look at the segments shown. Another split or an older build mixed in; a template or system prompt added
    while packing (then tokenize the reference with it); padding that nothing marks (declare `pad_id`).

    ## Limits
    Pieces of fewer than 8 to 16 tokens that fill no gap of a sample are not led back. Tokens changed inside a
    sample are SMP005's.

    ## Sources
    huggingface/trl#4554, mosaicml/llm-foundry#553 (row count fixed whatever went in), allenai/OLMo-core#843.
    """

    meta = RuleMeta(code="SMP008", name="unbalanced-tokens", severity=Severity.ERROR, since="0.1.0")
    why = "Data got into the packs that nobody put there, or the reference is not what was packed."
    fix = (
        "Look at the segments: another split mixed in, text added while packing, padding that nothing marks."
    )
    good = ({"input_ids": [_IDS], "reference": {"input_ids": [_IDS]}},)
    bad = ({"input_ids": [_IDS, [1, *range(40, 60), 2]], "reference": {"input_ids": [_IDS]}},)

    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterator[Judgement]:
        """Report the tokens that no sample accounts for."""
        books = found.balance
        n_tokens = books.unknown + books.gap
        if n_tokens == 0:
            return
        worst = np.lexsort((found.unknown_segments, -found.unknown_tokens))[:MAX_SHOWN].tolist()
        share = share_of(n_tokens, books.packed)
        yield Judgement(
            message=f"{n_tokens:,} of {books.packed:,} packed tokens ({share}) come"
            f" from no sample: {books.packed:,} packed = {books.reference:,} in the reference"
            f" - {books.lost:,} lost + {books.repeated:,} repeated + {books.specials_added:,} special tokens"
            f" + {books.replaced:,} in place of lost ones + {n_tokens:,} unknown",
            n_hits=int(found.unknown_segments.size),
            n_segments=int(found.unknown_segments.size),
            n_tokens=n_tokens,
            measured=books.to_dict(),
            locations=tuple(
                found.place_of_segment(
                    int(found.unknown_segments[i]),
                    int(found.unknown_tokens[i]),
                    f"{int(found.unknown_tokens[i]):,} tokens of no sample",
                )
                for i in worst
            ),
        )

    def unchecked(self, found: Reconciliation, dataset: Dataset) -> str | None:
        """Nothing can be said where nothing at all was found."""
        return found.why_not
