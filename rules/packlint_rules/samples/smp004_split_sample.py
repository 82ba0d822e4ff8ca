"""SMP004 split-sample: a sample lies in several packs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from packlint.finding import Severity
from packlint.model.spec import TargetPolicy
from packlint.rule import Dataset, Judgement, ReferenceRule, RuleMeta
from packlint.summaries.reconciliation import Reconciliation
from packlint.summaries.wording import share_of

_IDS = [1, *range(10, 40), 2]


class SplitSample(ReferenceRule):
    """A sample was cut, and goes on in another pack.

    ## What it checks
    Samples whose pieces lie in several packs: how often they are cut, how often they would have to be (a
    sample of n tokens needs n / max_seq_len packs), and after how many cuts a target comes first.

    ## Why it matters
    The piece after a cut begins without its context. In chat data it begins in the middle of an answer, whose
    question is in another pack: the model learns to answer nothing.

    ## How to fix
    For chats, a packer that keeps samples whole: TRL's `bfd`, LLaMA-Factory's `neat_packing`. For
    pretraining, cuts are the price of full packs; best-fit packing avoids most of them.

    ## Limits
    A warning where the loss leaves out real tokens; elsewhere, where streams are cut by design, information.

    ## Sources
    Ding et al., arXiv:2404.10830; huggingface/trl#5075 (tails of answers as samples of their own);
    hiyouga/LLaMA-Factory#3957.
    """

    meta = RuleMeta(code="SMP004", name="split-sample", severity=Severity.WARNING, since="0.1.0")
    why = "A piece after a cut begins without its context, in chats in the middle of an answer."
    fix = "Keep samples whole (TRL: bfd; LLaMA-Factory: neat_packing), or use best-fit packing for streams."
    good = ({"input_ids": [_IDS], "reference": {"input_ids": [_IDS]}},)
    bad = (
        {
            "input_ids": [_IDS[:16], _IDS[16:]],
            "reference": {"input_ids": [_IDS]},
            "config": {"profile": "sft"},
        },
    )

    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterator[Judgement]:
        """Report all split samples as one finding."""
        split = np.flatnonzero(found.is_split)
        if split.size == 0:
            return
        samples, n = found.samples, int(split.size)
        n_cuts, in_target = int(found.n_cuts[split].sum()), int(found.cuts_in_target[split].sum())
        told, measured = [], {"split_samples": n, "cuts": n_cuts, "cuts_in_answers": in_target}
        limit = dataset.spec.max_seq_len
        if limit is not None:
            sizes = samples.n_tokens[split] + samples.n_specials[split]
            needless = n_cuts - int(np.minimum(-(-sizes // limit.value) - 1, found.n_cuts[split]).sum())
            measured["needless_cuts"] = needless
            told.append(f"{needless:,} needless with packs of {limit.value:,}")
        is_chat = dataset.policy.targets is not TargetPolicy.ALL
        if is_chat:
            told.append(f"{in_target:,} with a target first in the next pack")
        yield Judgement(
            message=f"{n:,} of {len(samples):,} samples ({share_of(n, len(samples))})"
            f" {'lies' if n == 1 else 'lie'} in several packs: {n_cuts:,} {'cut' if n_cuts == 1 else 'cuts'}"
            + "".join(f", {what}" for what in told),
            n_hits=n,
            n_segments=n_cuts + n,
            severity=None if is_chat else Severity.INFO,
            measured=measured,
            locations=found.worst_places(np.where(found.is_split, found.n_cuts, 0), "cuts"),
        )

    def unchecked(self, found: Reconciliation, dataset: Dataset) -> str | None:
        """Nothing can be said where nothing at all was found, or pieces were not looked for."""
        return found.why_not
