"""DRF002 length-drift: samples are longer or shorter than in the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packlint.finding import Confidence, Severity
from packlint.rule import Dataset, DriftRule, Judgement, RuleMeta
from packlint.summaries.composition import Composition
from packlint.summaries.drift import lengths
from packlint.summaries.drift.words import share_words


def _packs(*seq_lens: int) -> dict[str, Any]:
    packs = {"input_ids": [[11] * sum(seq_lens)] * 200, "seq_lens": [list(seq_lens)] * 200}
    return {**packs, "reference": {"input_ids": [[11] * 4, [11] * 12] * 200}}


class LengthDrift(DriftRule):
    """Samples in the packs are longer or shorter than in the reference.

    ## What it checks
    The lengths of samples, special tokens at their ends left out: the population stability index over deciles
    of the reference, by samples, by tokens and by targets, and the Wasserstein distance in tokens against the
    deviation of the reference. Against an earlier build, what chance gives is taken off.

    ## Why it matters
    A limit before packing takes long samples or their ends; a splitter makes many short ones. The model then
    trains on other contexts and other weights than were chosen, and no loss curve says so.

    ## How to fix
    Look which end moved. Long samples gone: raise `max_length` (TRL) or `cutoff_len` (LLaMA-Factory), or
    split them. Cut to pieces: pack whole samples (TRL `bfd`, Megatron-Bridge) instead of windows.

    ## Limits
    A segment stands for a sample: where windows cut the stream (Megatron-LM, nanoGPT), pieces are short by
    design; the message says how many there are per sample. A shift of a few per cent is reported as a figure.

    ## Sources
    huggingface/trl#4554, karpathy/nanochat#544, arXiv:2404.10830 (Fewer Truncations).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How far lengths may move.

        Args:
            max_psi: population stability index beyond chance, by any weighting.
            max_relative_move: Wasserstein distance beyond chance, in standard deviations of the reference.
        """

        max_psi: float = 0.1
        max_relative_move: float = 0.1

    meta = RuleMeta(code="DRF002", name="length-drift", severity=Severity.WARNING, since="0.1.0")
    why = "The model trains on other contexts and other weights of samples than were chosen."
    fix = "See which end moved: raise the length limit before packing, or pack samples whole."
    good = (_packs(4, 12),)
    bad = (_packs(4, 6),)

    def unchecked(self, reference: Composition, packed: Composition) -> str | None:
        """Give a reason where a side has no samples to measure."""
        if lengths.between(reference, packed) is None:
            return "nothing records where samples begin on both sides"
        return None

    def judge(self, reference: Composition, packed: Composition, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the lengths, weighted three ways."""
        options, drift = self.options, lengths.between(reference, packed)
        if drift is None:
            return
        found = {w: drift.stability(w) for w in drift.judged}
        move, chance = drift.move("samples")
        limit = options.max_relative_move * drift.deviation("samples") + chance.most
        over = {w: index for w, (index, luck) in found.items() if index - luck.most > options.max_psi}
        if not over and move <= limit:
            return
        worst = max(over, key=lambda w: over[w]) if over else "samples"
        (then, now), (edge, p, q) = drift.means("samples"), drift.widest(worst)
        pieces = packed.n_samples / reference.n_samples
        cut = f" {pieces:.3g} segments per sample;" if abs(pieces - 1) >= 0.005 else ""
        indices = ", ".join(f"{index:.2g} by {w}" for w, (index, _) in found.items())
        yield Judgement(
            message=f"samples have {now:,.4g} tokens on average, {then:,.4g} in the reference (moved by"
            f" {move:,.4g}); those of up to {edge:,} tokens hold {share_words(q, p, worst)};"
            f"{cut} stability index {indices}; allowed: {options.max_psi:g}"
            f" or a move of {limit:,.3g} tokens",
            n_hits=1,
            confidence=Confidence.LIKELY if packed.n_inferred or reference.n_inferred else Confidence.CERTAIN,
            measured={"moved_tokens": move, **{f"psi_by_{w}": index for w, (index, _) in found.items()}},
        )
