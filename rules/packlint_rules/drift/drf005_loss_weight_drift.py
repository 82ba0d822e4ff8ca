"""DRF005 loss-weight-drift: a sample has another part of the loss than in the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packlint.finding import Severity
from packlint.rule import Dataset, DriftRule, Judgement, RuleMeta
from packlint.summaries.composition import Composition
from packlint.summaries.drift import weights
from packlint.summaries.drift.words import percent

_ROWS, _LABELS = [[11] * 8] * 600, [[-100, *[11] * 7]] * 600
_REFERENCE = {"input_ids": _ROWS, "labels": _LABELS}


def _packs(*labels: list[int]) -> dict[str, Any]:
    packs = {"input_ids": [[11] * 16] * 300, "seq_lens": [[8, 8]] * 300}
    return {**packs, "labels": [[*labels[0], *labels[1]]] * 300, "reference": _REFERENCE}


class LossWeightDrift(DriftRule):
    """Packing changed which part of the loss a sample has.

    ## What it checks
    Under a mean over tokens a sample weighs as its targets: the effective sample size of the loss,
    (sum w)^2 / (n sum w^2), against the reference. Under a mean over packs: a category whose part of the loss
    neither its samples nor its targets explain, because its packs hold few targets. That tokens, not samples,
    weigh the same is a choice of the trainer, and no finding.

    ## Why it matters
    A few samples or one domain take over the loss, although as many samples are there as before.

    ## How to fix
    Divide by the targets of the whole step, not of each pack (`num_items_in_batch` in transformers,
    `calculate_per_token_loss` in Megatron-LM); mix domains within packs; or store weights per sample, as
    LongAlign does.

    ## Limits
    Which mean the trainer takes is not known here. Weights that the shard stores are not used.

    ## Sources
    THUDM/LongAlign#3, meta-pytorch/torchtune#1875, huggingface/transformers#34191, unslothai/unsloth#1216.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How far weights may move.

        Args:
            max_effective_ratio: effective sample size per sample, larger side over smaller, beyond chance.
            max_pack_move: part of the loss under a mean over packs that nothing explains, beyond chance.
        """

        max_effective_ratio: float = 1.25
        max_pack_move: float = 0.05

    meta = RuleMeta(code="DRF005", name="loss-weight-drift", severity=Severity.WARNING, since="0.1.0")
    why = "A few samples or one domain take over the loss, although as many samples are there."
    fix = "Divide by the targets of the whole step, mix domains within packs, or store weights per sample."
    good = (_packs(_LABELS[0], _LABELS[0]),)
    bad = (_packs(_LABELS[0], [-100] * 7 + [11]),)

    def unchecked(self, reference: Composition, packed: Composition) -> str | None:
        """Give a reason where a side does not say which tokens are targets."""
        if weights.between(reference, packed) is None:
            return (
                "the reference and the packs must both store labels or a loss mask, and where samples begin"
            )
        return None

    def judge(self, reference: Composition, packed: Composition, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the weights of samples, and of categories under a mean over packs."""
        options, drift = self.options, weights.between(reference, packed)
        if drift is None:
            return
        told = []
        if drift.sure_change > options.max_effective_ratio:
            told.append(
                f"samples weigh as {percent(drift.packed.effective_fraction)} of their number would if they"
                f" weighed the same, {percent(drift.reference.effective_fraction)} in the reference (CV of"
                f" targets {drift.packed.cv:.3g}, {drift.reference.cv:.3g}); allowed: a factor of"
                f" {options.max_effective_ratio:g}"
            )
        odd = weights.unexplained(reference, packed, options.max_pack_move)
        told += [
            f"under a mean over packs {one.column} {one.name} has {percent(one.share)} of the loss, but"
            f" {percent(one.least)} to {percent(one.most)} of samples and targets; allowed:"
            f" {100 * options.max_pack_move:g} points more or less"
            for one in odd[:2]
        ]
        if told:
            yield Judgement(
                message="; ".join(told),
                n_hits=int(drift.sure_change > options.max_effective_ratio) + len(odd),
                measured={"effective_fraction_ratio": drift.change, "pack_cv": drift.packs.cv},
            )
