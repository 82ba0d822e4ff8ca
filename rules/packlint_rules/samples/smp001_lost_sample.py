"""SMP001 lost-sample: a sample of the reference is in no pack."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from packlint.finding import Severity
from packlint.rule import Dataset, Judgement, ReferenceRule, RuleMeta
from packlint.summaries.reconciliation import Reconciliation
from packlint.summaries.wording import categories_of, lengths_of, share_of

_IDS = [1, *range(10, 30), 2]


class LostSample(ReferenceRule):
    """A sample that went into the packer did not come out.

    ## What it checks
    Every sample of the reference, by 128 bits of its ids without special tokens at its ends: is it in the
    packs, whole or in pieces? Samples that occur several times are counted.

    ## Why it matters
    Lost samples are rarely lost at random: the longest go, or one domain, or the tail of every shard, and the
    mixture that was meant is not the one that is trained on.

    ## How to fix
    Look at what the lost ones have in common. LLaMA-Factory and Megatron-Bridge drop samples longer than a
    pack; MosaicML's ConcatTokensDataset and OLMo-core drop the tail; a worker that died loses its part.

    ## Limits
    A warning where all lost samples are longer than a pack, as packers that keep samples whole must drop
    these. A sample of which less than a seed of 8 to 16 tokens was packed may count as lost.

    ## Sources
    hiyouga/LLaMA-Factory#5271 (over-long samples skipped), huggingface/trl#1850 (the last remainder thrown
    away), axolotl-ai-cloud/axolotl#2211.
    """

    meta = RuleMeta(code="SMP001", name="lost-sample", severity=Severity.ERROR, since="0.1.0")
    why = "Samples are rarely lost at random: the mixture that was meant is not the one that is trained on."
    fix = "See what the lost ones share: length, domain or place; packers drop long samples and tails."
    good = ({"input_ids": [_IDS], "reference": {"input_ids": [_IDS]}},)
    bad = ({"input_ids": [_IDS], "reference": {"input_ids": [_IDS, [1, *range(40, 60), 2]]}},)

    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterator[Judgement]:
        """Report all lost samples as one finding."""
        lost = np.flatnonzero(found.is_lost)
        if lost.size == 0:
            return
        samples, n = found.samples, int(lost.size)
        sizes = samples.n_tokens + samples.n_specials
        n_tokens, n_all = int(sizes[lost].sum()), int(sizes.sum())
        limit = dataset.spec.max_seq_len
        overlong = limit is not None and bool((sizes[lost] > limit.value).all())
        told = [lengths_of(sizes[lost]), *categories_of(samples.metadata, lost)]
        if limit is not None and overlong:
            told.append(f"all longer than a pack of {limit.value:,}")
        yield Judgement(
            message=f"{n:,} of {len(samples):,} samples {'is' if n == 1 else 'are'} in no pack"
            f" ({share_of(n, len(samples))} of the samples, {share_of(n_tokens, n_all)} of the tokens): "
            + "; ".join(told),
            n_hits=n,
            n_tokens=n_tokens,
            severity=Severity.WARNING if overlong else None,
            measured={"lost_samples": n, "lost_tokens": n_tokens, "reference_samples": len(samples)},
            locations=found.worst_places(np.where(found.is_lost, sizes, 0), "tokens, in no pack"),
        )

    def unchecked(self, found: Reconciliation, dataset: Dataset) -> str | None:
        """Nothing can be said where nothing at all was found."""
        return found.why_not
