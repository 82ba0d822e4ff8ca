"""FIL002 loose-packing: more packs than these samples need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.lengths import Lengths
from packlint.summaries.packing import count_packed, packing_bound, unknown_room

_NEEDS = (Need.PACKS, Need.SEGMENTS, Need.TRAINER, Need.MAX_SEQ_LEN)


def _packs(*lengths: list[int]) -> dict[str, Any]:
    ids = [list(range(11, 11 + sum(row))) for row in lengths]
    settings = {"trainer": "trl", "spec": {"max_seq_len": 4}}
    return {"input_ids": ids, "seq_lens": list(lengths), "config": settings}


class LoosePacking(DatasetRule[Lengths]):
    """Another packer would need fewer packs for the same samples.

    ## What it checks
    The packs used against the Martello-Toth bound, which no packer of whole samples can beat: samples just
    above half a row leave padding that is no fault.

    ## Why it matters
    Each pack too many is a step's share of compute spent on padding.

    ## How to fix
    Pack best-fit decreasing over all samples at once: `packing_strategy="bfd"` with a larger `map` batch in
    TRL, a larger `preprocessing_batch_size` in LLaMA-Factory.

    ## Limits
    Only for trainers whose packer keeps samples whole. The bound pools all shards and knows no limit on
    samples per pack. Malformed (BND002) and empty packs (FIL003) are left out, and encoder-decoder rows,
    whose samples need room on both sides.

    ## Sources
    sandyresearch/parcae#8, huggingface/trl#3887 (8193 slots: nothing packed); Martello and Toth 1990.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How loose is too loose.

        Args:
            max_gap_fraction: packs above the bound, of the bound.
            min_gap_packs: packs above the bound from which it is no rounding.
        """

        max_gap_fraction: float = 0.05
        min_gap_packs: int = 2

    meta = RuleMeta(
        code="FIL002", name="loose-packing", severity=Severity.WARNING, since="0.1.0", needs=_NEEDS
    )
    why = "Each pack too many is compute spent on padding."
    fix = "Pack best-fit decreasing over all samples at once (bfd in TRL, larger batches for packing)."
    good = (_packs([2, 2], [3], [3]),)
    bad = (_packs(*[[2]] * 4),)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say that an end token is no sure end of a sample, nor a length seen the packer's limit."""
        return unknown_room(batch)

    def zero(self) -> Lengths:
        """Return no samples."""
        return Lengths()

    def observe(self, summary: Lengths, batch: PackBatch) -> Lengths:
        """Count the samples by length, where the packer keeps them whole."""
        return count_packed(summary, batch)

    def measures(self, summary: Lengths, dataset: Dataset) -> dict[str, int | float]:
        """Return how far the packs are above the bound."""
        bound = 0 if summary.n_encoder else _bound(summary)
        return {"gap_fraction": summary.n_packs.total() / bound - 1} if bound else {}

    def judge(self, summary: Lengths, dataset: Dataset) -> Iterator[Judgement]:
        """Compare the packs with the bound, added up over the row lengths in use."""
        bound, options = _bound(summary), self.options
        n_packs = summary.n_packs.total()
        gap = n_packs - bound
        if (
            summary.n_encoder
            or gap < max(1, options.min_gap_packs)
            or gap <= options.max_gap_fraction * bound
        ):
            return
        yield Judgement(
            message=f"{n_packs:,} packs used; no packer can use fewer than {bound:,}"
            f" ({100 * gap / bound:.3g} % more); allowed: {100 * options.max_gap_fraction:.3g} %",
            n_hits=gap,
            n_packs=gap,
            confidence=Confidence.LIKELY if summary.n_inferred else Confidence.CERTAIN,
            measured={"packs": n_packs, "bound": bound, "gap_fraction": gap / bound},
        )


def _bound(summary: Lengths) -> int:
    """Return how many packs hold these samples at least, whoever packs them."""
    return sum(packing_bound(samples, room) for room, samples in summary.samples.items())
