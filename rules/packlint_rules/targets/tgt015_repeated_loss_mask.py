"""TGT015 repeated-loss-mask: packs of different samples share one loss mask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.finding import Confidence, Location, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.masks import MaskGroup, MaskHashes
from packlint.summaries.places import MAX_PLACES

_CONFIG = {"profile": "sft", "trainer": "grain", "spec": {"bos_id": 1, "eos_ids": [2]}}
_IDS = [[1, 11, 2, 1, 21, 22, 2, 1, 31, 2, 1, 41, 2], [1, 11, 12, 2, 1, 21, 2, 1, 31, 2, 1, 41, 2]]
_SEGMENTS = [[1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4], [1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]]
_MASK = [0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1]
_OTHER = [0, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 0, 1]


class RepeatedLossMask(DatasetRule[MaskHashes]):
    """The same mask lies over packs whose samples begin elsewhere, so it cannot be right for all of them.

    ## What it checks
    Packs with the very same targets, in a few runs at least, whose segments those runs begin in start at
    different places. All shards are compared.

    ## Why it matters
    A buffer that is shared and edited in place gives the mask of one pack to others: prompts are trained and
    answers are not, and every single mask looks plausible.

    ## How to fix
    Make a fresh loss mask for every pack. Megatron-LM: do not edit the cached mask of GPTDataset in place;
    torchtune and own collators: copy before masking.

    ## Limits
    Samples of one fixed form can share masks rightly; masks of fewer runs are not compared. Packs are
    compared by 64-bit hashes.

    ## Sources
    NVIDIA/Megatron-LM#1711.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Which masks are compared.

        Args:
            min_mask_runs: runs of targets that a mask must have.
        """

        min_mask_runs: int = 4

    meta = RuleMeta(
        code="TGT015",
        name="repeated-loss-mask",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.TARGETS, Need.SEGMENTS),
    )
    why = "A shared buffer gives one pack's mask to others: prompts are trained, answers are not."
    fix = "Make a fresh loss mask for every pack instead of editing a cached one in place."
    good = ({"input_ids": _IDS, "segment_ids": _SEGMENTS, "loss_mask": [_MASK, _OTHER], "config": _CONFIG},)
    bad = ({"input_ids": _IDS, "segment_ids": _SEGMENTS, "loss_mask": [_MASK, _MASK], "config": _CONFIG},)

    def zero(self) -> MaskHashes:
        """Return no packs."""
        return MaskHashes()

    def observe(self, summary: MaskHashes, batch: PackBatch) -> MaskHashes:
        """Add the hashes of the packs."""
        summary.add(batch, self.options.min_mask_runs)
        return summary

    def judge(self, summary: MaskHashes, dataset: Dataset) -> Iterator[Judgement]:
        """Report the packs that share a mask, all groups in one finding."""
        groups = summary.shared()
        n_packs = sum(group.packs.size for group in groups)
        if groups:
            masks = "1 loss mask" if len(groups) == 1 else f"{len(groups):,} loss masks"
            yield Judgement(
                message=f"{n_packs:,} packs share {masks} of {self.options.min_mask_runs} runs or more,"
                " though their samples begin at other places; allowed: 0",
                n_hits=n_packs,
                n_packs=n_packs,
                confidence=Confidence.LIKELY,
                measured={"packs": n_packs, "masks": len(groups)},
                locations=tuple(_locate(group, dataset) for group in groups[:MAX_PLACES]),
            )


def _locate(group: MaskGroup, dataset: Dataset) -> Location:
    names = [dataset.shards[i] for i in group.shards[:2]]
    note = f"same loss mask as pack {group.packs[1]} of {names[1]}; {group.packs.size:,} packs have it"
    return Location(shard=names[0], pack=int(group.packs[0]), amount=group.packs.size, note=note)
