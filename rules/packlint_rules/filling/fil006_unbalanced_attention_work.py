"""FIL006 unbalanced-attention-work: some ranks have far more attention to compute than others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import BoundarySource
from packlint.model.isolation import deciding_source
from packlint.model.needs import Need
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.work import PackWork, idle_fraction

_ASSUMED_RANKS = 8
_NEEDS = (Need.PACKS, Need.SEGMENTS, Need.TRAINER)


def _packs(*lengths: list[int]) -> dict[str, Any]:
    return {"input_ids": [[1, 2, 3, 4]] * 8, "seq_lens": list(lengths), "config": {"trainer": "trl"}}


class UnbalancedAttentionWork(DatasetRule[PackWork]):
    """Packs of equal length differ in attention work, so ranks wait for the slowest of their step.

    ## What it checks
    The sum of squared sample lengths of each pack, dealt to ranks in stored order: the share of time in which
    ranks wait (attention balance ratio). A warning where `n_ranks` is given; else 8 are assumed.

    ## Why it matters
    Attention grows with the square of the length: one pack of a single long sample holds up all ranks.

    ## How to fix
    Group packs of like work into one step: `balance_batch` in verl; for TRL, pack like lengths together.

    ## Limits
    Stored order stands for training order; in short rows the rest of the model outweighs attention.

    ## Sources
    arXiv:2503.07680 (Hierarchical Balance Packing), verl-project/verl `verl/utils/seqlen_balancing.py`.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """How packs fall on ranks, and how long they may wait.

        Args:
            n_ranks: data-parallel ranks; 0 assumes 8.
            packs_per_rank: packs of a rank in one step.
            strided: rank r takes packs r, r + n_ranks … of a step, instead of a stretch.
            max_idle_fraction: share of attention time in which ranks wait.
        """

        n_ranks: int = 0
        packs_per_rank: int = 1
        strided: bool = False
        max_idle_fraction: float = 0.35

    meta = RuleMeta(
        code="FIL006", name="unbalanced-attention-work", severity=Severity.INFO, since="0.1.0", needs=_NEEDS
    )
    why = "Attention grows with the square of the sample length: one long sample holds up all ranks."
    fix = "Group packs of like attention work into one step (balance_batch in verl)."
    good = (_packs(*[[2, 2]] * 8),)
    bad = (_packs([4], *[[1, 1, 1, 1]] * 7),)

    def zero(self) -> PackWork:
        """Return no packs."""
        return PackWork()

    def observe(self, summary: PackWork, batch: PackBatch) -> PackWork:
        """Add the work of each pack, where the trainer keeps samples apart; else all packs are alike."""
        if batch.shard.unit is not Unit.PACK or deciding_source(batch) in (None, BoundarySource.ROWS):
            return summary
        edges, lengths = batch.segment_first_in_pack, batch.segments.lengths
        sums = (np.diff(np.append(0, np.cumsum(values))[edges]) for values in (lengths, lengths * lengths))
        summary.add(batch.shard.index, batch.pack_numbers, *sums)
        return summary

    def judge(self, summary: PackWork, dataset: Dataset) -> Iterator[Judgement]:
        """Deal the packs to ranks and compare the waiting with the limit."""
        options, (work, tokens) = self.options, summary.in_order()
        n_ranks, each = options.n_ranks or _ASSUMED_RANKS, max(1, options.packs_per_rank)
        by_work = idle_fraction(work, n_ranks, each, strided=options.strided)
        by_tokens = idle_fraction(tokens, n_ranks, each, strided=options.strided)
        if by_work <= options.max_idle_fraction:
            return
        yield Judgement(
            message=f"ranks wait {100 * by_work:.3g} % of the attention time ({100 * by_tokens:.2g} % by"
            f" tokens, steps of {n_ranks} x {each} packs); allowed: {100 * options.max_idle_fraction:.3g} %",
            n_hits=work.size // (n_ranks * each),
            severity=Severity.WARNING if options.n_ranks else Severity.INFO,
            confidence=Confidence.CERTAIN if options.n_ranks else Confidence.LIKELY,
            measured={"work_idle_fraction": by_work, "token_idle_fraction": by_tokens},
        )
