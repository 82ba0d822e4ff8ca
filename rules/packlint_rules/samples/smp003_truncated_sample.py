"""SMP003 truncated-sample: a part of a sample was packed, and the rest was not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from packlint.finding import Severity
from packlint.rule import Dataset, Judgement, ReferenceRule, RuleMeta
from packlint.summaries.reconciliation import Reconciliation
from packlint.summaries.wording import categories_of, share_of

_IDS = [1, *range(10, 30), 2]


class TruncatedSample(ReferenceRule):
    """The head of a sample is in the packs, its tail is not (or the other way round).

    ## What it checks
    Samples of which pieces were found that do not add up to the whole: the tokens that are missing, and the
    targets, where both sides say which tokens are targets.

    ## Why it matters
    The end of an answer, a proof or a file is what is learnt from; a model trained on cut ones stops short or
    makes up what was cut off. A cut is avoidable where the sample fits into a pack.

    ## How to fix
    Choose packs longer than the samples, or a packer that goes on in the next pack: TRL's `bfd_split` instead
    of `bfd`; torchtune's `split_across_pack`. Filter what is too long on purpose, not by a cut.

    ## Limits
    Needs 8 to 16 tokens in a row, or a gap that a short piece fills exactly.

    ## Sources
    Ding et al., arXiv:2404.10830 (truncation and hallucination); huggingface/trl#5076 (99.8 % of the tokens
    of one user), karpathy/nanochat#544 (35 %).
    """

    meta = RuleMeta(code="SMP003", name="truncated-sample", severity=Severity.WARNING, since="0.1.0")
    why = "What was cut off is lost, and the model learns to stop, or to make up the rest."
    fix = (
        "Use longer packs or a packer that goes on in the next one (TRL: bfd_split); filter what is too long."
    )
    good = ({"input_ids": [_IDS], "reference": {"input_ids": [_IDS]}},)
    bad = ({"input_ids": [_IDS[:16]], "reference": {"input_ids": [_IDS]}},)

    def judge(self, found: Reconciliation, dataset: Dataset) -> Iterator[Judgement]:
        """Report all truncated samples as one finding."""
        cut = np.flatnonzero(found.is_truncated)
        if cut.size == 0:
            return
        samples, n = found.samples, int(cut.size)
        missing, sizes = found.missing, samples.n_tokens + samples.n_specials
        n_tokens = int(missing[cut].sum())
        kinds = {
            "lost their end": found.begins[cut] & ~found.ends[cut],
            "lost their beginning": ~found.begins[cut] & found.ends[cut],
            "lost both": ~found.begins[cut] & ~found.ends[cut],
            "have a hole": found.begins[cut] & found.ends[cut],
        }
        told = [f"{int(which.sum()):,} {what}" for what, which in kinds.items() if which.any()]
        measured = {"truncated_samples": n, "missing_tokens": n_tokens}
        if samples.has_targets and found.has_packed_targets:
            n_targets = int(np.maximum(samples.n_targets - found.packed_targets, 0)[cut].sum())
            measured["missing_targets"] = n_targets
            told.append(f"{n_targets:,} targets are gone")
        limit = dataset.spec.max_seq_len
        if limit is not None:
            needless = int((sizes[cut] <= limit.value).sum())
            measured["needless_cuts"] = needless
            told.append(f"{needless:,} would have fitted into a pack of {limit.value:,}")
        yield Judgement(
            message=f"{n:,} of {len(samples):,} samples {'was' if n == 1 else 'were'} packed in part:"
            f" {n_tokens:,} of their {int(samples.n_tokens[cut].sum()):,} tokens are missing"
            f" ({share_of(n_tokens, int(samples.n_tokens.sum()))} of all); "
            + "; ".join([*told, *categories_of(samples.metadata, cut)]),
            n_hits=n,
            n_tokens=n_tokens,
            measured=measured,
            locations=found.worst_places(np.where(found.is_truncated, missing, 0), "tokens missing"),
        )

    def unchecked(self, found: Reconciliation, dataset: Dataset) -> str | None:
        """Nothing can be said where nothing at all was found, or pieces were not looked for."""
        return found.why_not
