"""TGT016 place-dependent-mask: first samples of packs have another loss mask than later ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.place_gaps import PlaceShares, gap_locations, large_gaps

_CONFIG = {
    "profile": "sft",
    "trainer": "trl",
    "spec": {"bos_id": 1, "eos_ids": [7]},
    "chat": {"markers": {"user": [4], "assistant": [5], "end": [7]}},
}
_IDS = [1, 4, 41, 7, 5, 51, 7, 1, 4, 42, 43, 7, 5, 52, 7]
_PACKS = {"input_ids": [_IDS] * 16, "seq_lens": [[7, 8]] * 16, "config": _CONFIG}
_RIGHT = [-100] * 5 + [51, 7] + [-100] * 6 + [52, 7]
_WRONG = [-100] * 5 + [51, 7] + [-100] * 2 + [42, 43] + [-100] * 4


class PlaceDependentMask(DatasetRule[PlaceShares]):
    """What is trained depends on where in its pack a sample lies.

    ## What it checks
    For system, user, assistant and tool: the mean share of their tokens that are targets, first samples of
    packs against later ones of as many turns. A gap must be large and beyond chance. No policy is asked:
    whatever is meant, it is meant in every place.

    ## Why it matters
    Offsets were added to the wrong base: from the second sample on, prompts are trained and answers are not,
    and whoever looks at the first sample of a pack sees nothing.

    ## How to fix
    Make the mask per sample and let the packer carry it: TRL packs all columns of a sample together; in
    OpenRLHF and own collators, add to each answer range the start of its own sample, not of the one before.

    ## Limits
    Needs some dozen samples in both places with equally many turns. Segments that may begin in the middle of
    a sample are left out. Data whose first samples are of another kind can differ rightly. The places shown
    are later samples farthest from what first ones show, whether or not first ones are the right ones.

    ## Sources
    OpenRLHF/OpenRLHF#781, NVIDIA/Megatron-LM#1711.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """When a gap counts.

        Args:
            min_samples: samples that must be compared in each of the two places.
            min_gap_fraction: difference of the mean shares of targets.
            min_standard_errors: the difference in standard errors of what chance gives.
        """

        min_samples: int = 12
        min_gap_fraction: float = 0.2
        min_standard_errors: float = 5.0

    meta = RuleMeta(
        code="TGT016",
        name="place-dependent-mask",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.PACKS, Need.TARGETS, Need.SEGMENTS, Need.ROLES),
    )
    why = "Only the first sample of each pack is masked rightly, which a look at one sample does not show."
    fix = "Make masks per sample before packing, or add each range to the start of its own sample."
    good = ({**_PACKS, "labels": [_RIGHT] * 16},)
    bad = ({**_PACKS, "labels": [_WRONG] * 16},)

    def zero(self) -> PlaceShares:
        """Return no samples."""
        return PlaceShares()

    def observe(self, summary: PlaceShares, batch: PackBatch) -> PlaceShares:
        """Add the shares of the samples."""
        if batch.roles is not None:
            summary.add(batch, batch.roles)
        return summary

    def judge(self, summary: PlaceShares, dataset: Dataset) -> Iterator[Judgement]:
        """Report all roles with a gap in one finding."""
        asked = self.options
        found = large_gaps(summary, asked.min_samples, asked.min_gap_fraction, asked.min_standard_errors)
        if found:
            yield Judgement(
                message=f"the loss mask depends on the place in the pack: {'; '.join(map(str, found))}",
                n_hits=len(found),
                n_segments=max(gap.n_later for gap in found),
                measured={f"{g.role.name.lower()}_gap_fraction": round(g.fraction, 4) for g in found},
                locations=gap_locations(summary, found, dataset.shards),
            )
