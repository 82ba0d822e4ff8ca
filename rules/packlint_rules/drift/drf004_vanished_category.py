"""DRF004 vanished-category: a domain, language or source of the reference is gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packlint.finding import Confidence, Severity
from packlint.rule import Dataset, DriftRule, Judgement, RuleMeta
from packlint.summaries.composition import Composition
from packlint.summaries.drift.categories import columns_between, vanished
from packlint.summaries.drift.words import percent

_MAX_NAMED = 5
_REFERENCE = {"input_ids": [[11, 12]] * 40, "metadata": {"language": ["en", "sw"] * 20}}


def _packs(*languages: str) -> dict[str, Any]:
    packs = {"input_ids": [[11, 12, 11, 12]] * 20, "seq_lens": [[2, 2]] * 20}
    return {**packs, "metadata": {"language": list(languages) * 20}, "reference": _REFERENCE}


class VanishedCategory(DriftRule):
    """A category of the reference has no sample in the packs.

    ## What it checks
    Categories of each metadata column (`--by`) that have samples in the reference and none in the packs;
    against an earlier build, where enough are to be expected that chance does not explain it.

    ## Why it matters
    A whole domain or language is not trained, and no average shows it: it was a small part of the loss.

    ## How to fix
    Find the step that drops them: a length limit that all of them exceed (SMP001 lists lost samples), a
    filter, a shard that was not read, blend weights that round to nothing (Megatron-LM, Megatron-Energon).

    ## Limits
    A segment whose category is not known may be of it: the finding is then likely, not certain.

    ## Sources
    marin-community/marin#8373, NVIDIA/Megatron-Energon#212.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """When a category is missed.

        Args:
            min_expected_samples: samples that the packs should have of it, where they are another draw; that
                they have none of n by chance has the probability exp(-n).
        """

        min_expected_samples: float = 10.0

    meta = RuleMeta(code="DRF004", name="vanished-category", severity=Severity.ERROR, since="0.1.0")
    why = "A whole domain or language is not trained, and no average shows it."
    fix = (
        "Find the step that drops it: a length limit, a filter, a shard not read, a blend weight of nothing."
    )
    good = (_packs("en", "sw"),)
    bad = (_packs("en", "en"),)

    def unchecked(self, reference: Composition, packed: Composition) -> str | None:
        """Give a reason where no column is known of both sides."""
        if columns_between(reference, packed):
            return None
        return "no metadata column is known of the samples of both sides; give --by COLUMN"

    def judge(self, reference: Composition, packed: Composition, dataset: Dataset) -> Iterator[Judgement]:
        """Look for categories without a sample."""
        named, n_samples, n_tokens, is_sure = [], 0, 0, True
        measured: dict[str, int] = {}
        for drift in columns_between(reference, packed):
            for one in vanished(drift, reference, packed):
                if one.n_expected >= self.options.min_expected_samples:
                    named.append(
                        f"{drift.column} {one.name} ({one.n_samples:,} samples, {one.n_tokens:,} tokens,"
                        f" {percent(one.token_fraction)} of the reference)"
                    )
                    n_samples, n_tokens = n_samples + one.n_samples, n_tokens + one.n_tokens
                    is_sure &= drift.known_fractions[1] == 1
                    measured[f"{drift.column}_gone"] = measured.get(f"{drift.column}_gone", 0) + 1
        if named:
            more = f" and {len(named) - _MAX_NAMED} more" if len(named) > _MAX_NAMED else ""
            yield Judgement(
                message=f"no sample left of {', '.join(named[:_MAX_NAMED])}{more}; allowed: none gone",
                n_hits=len(named),
                n_segments=n_samples,
                n_tokens=n_tokens,
                confidence=Confidence.CERTAIN if is_sure else Confidence.LIKELY,
                measured=measured,
            )
