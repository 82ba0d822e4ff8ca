"""DRF006 position-drift: tokens or targets sit elsewhere in their samples than in the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packlint.finding import Severity
from packlint.rule import Dataset, DriftRule, Judgement, RuleMeta
from packlint.summaries.composition import Composition
from packlint.summaries.drift import positions
from packlint.summaries.drift.words import share_words


def _packs(length: int) -> dict[str, Any]:
    packs = {"input_ids": [[11] * length] * 400, "seq_lens": [[length]] * 400}
    return {**packs, "reference": {"input_ids": [[11] * 64] * 400}}


class PositionDrift(DriftRule):
    """Heads of samples are kept and their ends are lost, or the other way round.

    ## What it checks
    The positions of tokens and of targets in their samples, in bins that double from 16 on: the
    Jensen-Shannon divergence from the reference, beyond chance, and from where on the shares differ most.

    ## Why it matters
    Ends go first when samples are cut: answers, conclusions, end tokens. A model trained on heads only knows
    how texts begin. Late positions that are never trained do not work at inference.

    ## How to fix
    Raise the limit before packing, or split long samples instead of cutting them (TRL `bfd_split`; carry
    suffixes over in nanochat). For windows of a stream (Megatron-LM) it is the price of cutting.

    ## Limits
    Positions count from the start of a segment, so that a second piece of a sample counts from 0.

    ## Sources
    karpathy/autoresearch#372, huggingface/trl#4554, karpathy/nanochat#544.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How much may move.

        Args:
            max_js: Jensen-Shannon divergence in bits, beyond chance.
        """

        max_js: float = 0.01

    meta = RuleMeta(code="DRF006", name="position-drift", severity=Severity.INFO, since="0.1.0")
    why = "Ends go first when samples are cut: answers, conclusions, end tokens."
    fix = "Raise the limit before packing, or split long samples instead of cutting them."
    good = (_packs(64),)
    bad = (_packs(24),)

    def unchecked(self, reference: Composition, packed: Composition) -> str | None:
        """Give a reason where nothing tells positions."""
        if positions.between(reference, packed) is None:
            return "nothing records where samples begin on both sides"
        return None

    def judge(self, reference: Composition, packed: Composition, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the positions of tokens and of targets."""
        drift = positions.between(reference, packed)
        if drift is None:
            return
        found = {what: drift.divergence(what) for what in drift.judged}
        over = {w: js for w, (js, chance) in found.items() if js - chance.most > self.options.max_js}
        told = []
        for what, divergence in over.items():
            edge, p, q = drift.widest(what)
            told.append(
                f"positions from {edge:,} on hold {share_words(q, p, what)} (Jensen-Shannon {divergence:.2g})"
            )
        if told:
            yield Judgement(
                message=f"{'; '.join(told)}; allowed: {self.options.max_js:g} beyond chance",
                n_hits=len(told),
                measured={f"{what}_js": divergence for what, divergence in over.items()},
            )
