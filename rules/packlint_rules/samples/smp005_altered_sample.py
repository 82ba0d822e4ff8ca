"""SMP005 altered-sample: a sample was packed with some of its tokens changed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from packlint.finding import Severity
from packlint.rule import Dataset, Judgement, ReferenceRule, RuleMeta
from packlint.summaries.reconciliation import Reconciliation

_IDS = [1, *range(10, 30), 2]


class AlteredSample(ReferenceRule):
    """A segment is a sample but for a few tokens.

    ## What it checks
    What stands between two pieces of a sample, before the first and after the last: tokens that were
    replaced, inserted or taken out, by place in the sample (first, last, inside). Special tokens at the ends
    do not count, nor special tokens alone between two pieces (see SPC009).

    ## Why it matters
    Something between tokenizer and pack changes ids: a wrong type, a truncation side, a collator that writes
    over the first token. It is seldom only these samples.

    ## How to fix
    Compare the ids shown with the sample. LLaMA-Factory's pretraining writes the begin id over the first
    token of every chunk; Megatron-LM writes 0 over pad ids; ids above 65,535 wrap in uint16.

    ## Limits
    Samples changed in every 8 to 16 tokens are not recognised, and count as lost.

    ## Sources
    hiyouga/LLaMA-Factory `data/processor/pretrain.py`; NVIDIA/Megatron-LM `gpt_dataset.py`.
    """

    meta = RuleMeta(code="SMP005", name="altered-sample", severity=Severity.ERROR, since="0.1.0")
    why = "Something between tokenizer and pack changes ids, and seldom only of these samples."
    fix = "Compare the ids with the sample: a narrow type, a begin id over the first token, a bad slice."
    good = ({"input_ids": [_IDS], "reference": {"input_ids": [_IDS]}},)
    bad = ({"input_ids": [[*_IDS[:11], 99, *_IDS[12:]]], "reference": {"input_ids": [_IDS]}},)

    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterator[Judgement]:
        """Report all altered samples as one finding."""
        altered = np.flatnonzero(found.is_altered)
        if altered.size == 0:
            return
        n, n_tokens = int(altered.size), int(found.altered[altered].sum())
        tokens = "1 token" if n_tokens == 1 else f"{n_tokens:,} tokens"
        places = [
            f"{found.altered_at[at]:,} {at}" for at in ("first", "last", "inside") if at in found.altered_at
        ]
        yield Judgement(
            message=f"{n:,} of {len(found.samples):,} samples {'was' if n == 1 else 'were'} packed with"
            f" {tokens} changed ({', '.join(places)}); allowed: 0",
            n_hits=n,
            n_tokens=n_tokens,
            measured={"altered_samples": n, "altered_tokens": n_tokens},
            locations=found.worst_places(np.where(found.is_altered, found.altered, 0), "tokens changed"),
        )

    def unchecked(self, found: Reconciliation, dataset: Dataset) -> str | None:
        """Nothing can be said where nothing at all was found, or pieces were not looked for."""
        return found.why_not
