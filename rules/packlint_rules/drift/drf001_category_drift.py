"""DRF001 category-drift: a domain, language or source has another share than in the reference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packlint.finding import Confidence, Severity
from packlint.rule import Dataset, DriftRule, Judgement, RuleMeta
from packlint.summaries.composition import Composition
from packlint.summaries.drift.categories import columns_between, known_fraction
from packlint.summaries.drift.words import column_words

_MAX_COLUMNS = 3
_DOMAINS = ["wiki", "code"] * 200
_REFERENCE = {"input_ids": [[11, 12]] * 400, "metadata": {"domain": _DOMAINS}}


def _packs(domains: list[str]) -> dict[str, Any]:
    packs = {"input_ids": [[11, 12, 11, 12]] * 200, "seq_lens": [[2, 2]] * 200}
    return {**packs, "metadata": {"domain": domains}, "reference": _REFERENCE}


class CategoryDrift(DriftRule):
    """A domain, language or source holds another part of the packs than of the reference.

    ## What it checks
    Each metadata column that both sides know (`--by`), by samples, by tokens and by targets: the
    Jensen-Shannon divergence of the shares, and each category's move, in points and as a ratio. Against an
    earlier build, what chance moves is taken off. New categories count; DRF004 names those that are gone.

    ## Why it matters
    The mixture is what the model learns. A packer that drops long samples drops books and code first; 1:1 by
    documents may be 10:1 by tokens. The loss curve shows neither.

    ## How to fix
    Find the step that loses or repeats samples (SMP001, SMP002). Mix by tokens where tokens are meant
    (Megatron-Energon, Megatron-LM blends), and split long samples (TRL `bfd_split`) instead of dropping them.

    ## Limits
    Samples whose category is not known are left out; columns known of too few are not judged. An earlier
    build is another draw of the data and moves by chance: small builds are judged less sharply.

    ## Sources
    NVIDIA/Megatron-Energon#212, PaddlePaddle/PaddleNLP#8825, marin-community/marin#8373.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How much may move.

        Args:
            max_js: Jensen-Shannon divergence in bits, beyond chance.
            max_move: difference of a category's two shares, beyond chance.
            max_ratio: a category's larger share over its smaller one, beyond chance.
            min_fraction: larger share from which the ratio counts.
            min_known_fraction: share of the tokens of each side whose category must be known.
        """

        max_js: float = 0.01
        max_move: float = 0.05
        max_ratio: float = 2.0
        min_fraction: float = 0.001
        min_known_fraction: float = 0.5

    meta = RuleMeta(code="DRF001", name="category-drift", severity=Severity.WARNING, since="0.1.0")
    why = "The mixture is what the model learns; the loss curve does not show that it moved."
    fix = "Find the step that loses or repeats samples; mix by tokens where tokens are meant."
    good = (_packs(_DOMAINS),)
    bad = (_packs(["wiki"] * 360 + ["code"] * 40),)

    def unchecked(self, reference: Composition, packed: Composition) -> str | None:
        """Give a reason where no column is known of enough samples of both sides."""
        known = known_fraction(columns_between(reference, packed))
        if known >= self.options.min_known_fraction:
            return None
        return "no metadata column is known of the samples of both sides; give --by COLUMN"

    def judge(self, reference: Composition, packed: Composition, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the shares of each column, weighted three ways."""
        limits = self.options
        found = {
            drift: moved
            for drift in columns_between(reference, packed)
            if min(drift.known_fractions) >= limits.min_known_fraction and (moved := drift.beyond(limits))
        }
        if not found:
            return
        told = [column_words(drift, moved) for drift, moved in found.items()][:_MAX_COLUMNS]
        more = f"; and {len(found) - len(told)} more columns" if len(found) > len(told) else ""
        is_sure = all(min(drift.known_fractions) == 1 for drift in found)
        yield Judgement(
            message=f"{'; '.join(told)}{more}; allowed: {limits.max_js:g}, a move of"
            f" {100 * limits.max_move:g} points, {limits.max_ratio:g} times the share",
            n_hits=sum(moved.n_categories for moved in found.values()),
            confidence=Confidence.CERTAIN if is_sure else Confidence.LIKELY,
            measured={f"{drift.column}_js": moved.divergence for drift, moved in found.items()},
        )
