"""SPC009 invented-end-token: an end token stands in the middle of a source document."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from packlint.finding import Severity
from packlint.rule import Dataset, Judgement, ReferenceRule, RuleMeta
from packlint.summaries.reconciliation import Reconciliation

_IDS = list(range(10, 42))
_CONFIG = {"spec": {"eos_ids": [2]}}


class InventedEndToken(ReferenceRule):
    """The packer closed a piece with a special token although the sample goes on.

    ## What it checks
    Where a piece of a sample ends and the rest of it follows, in this pack or another: whether special tokens
    were put between that the sample does not hold there.

    ## Why it matters
    The model learns that documents end in mid-sentence, and readers that scan for end tokens count more
    documents than there are.

    ## How to fix
    Append the end token to documents before they are cut, not to chunks after. datatrove and Megatron-LM do;
    scripts that call a tokenizer with `add_special_tokens` on every chunk do not.

    ## Limits
    Needs both pieces. A begin id in front of a continuation is a convention of some packers, and not counted.

    ## Sources
    EleutherAI/gpt-neox#977, huggingface/transformers#23198.
    """

    meta = RuleMeta(code="SPC009", name="invented-end-token", severity=Severity.WARNING, since="0.1.0")
    why = "The model learns to stop in mid-sentence, and readers count more documents than there are."
    fix = "Append the end token to whole documents before they are cut, never to chunks."
    good = (
        {"input_ids": [_IDS[:16], [*_IDS[16:], 2]], "reference": {"input_ids": [_IDS]}, "config": _CONFIG},
    )
    bad = (
        {
            "input_ids": [[*_IDS[:16], 2], [*_IDS[16:], 2]],
            "reference": {"input_ids": [_IDS]},
            "config": _CONFIG,
        },
    )

    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterator[Judgement]:
        """Report all such places as one finding."""
        n = int(found.invented_ends.sum())
        if n == 0:
            return
        n_samples = int(np.count_nonzero(found.invented_ends))
        places = "place" if n == 1 else "places"
        yield Judgement(
            message=f"at {n:,} {places} inside {n_samples:,} of {len(found.samples):,} samples special tokens"
            " stand where the sample goes on; allowed: 0",
            n_hits=n,
            n_tokens=n,
            measured={"invented_ends": n, "samples": n_samples},
            locations=found.worst_places(found.invented_ends, "end tokens inside"),
        )

    def unchecked(self, found: Reconciliation, dataset: Dataset) -> str | None:
        """Nothing can be said where nothing at all was found, or pieces were not looked for."""
        return found.why_not
