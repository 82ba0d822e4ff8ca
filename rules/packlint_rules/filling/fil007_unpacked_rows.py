"""FIL007 unpacked-rows: every pack holds one sample, although packing is declared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from packlint.finding import Confidence, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.needs import Need
from packlint.model.spec import Origin
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.rows import Rows

_NEEDS = (Need.PACKS, Need.SEGMENTS)


class UnpackedRows(DatasetRule[Rows]):
    """Packing was asked for and not done: no pack holds a second sample.

    ## What it checks
    Where `packed = true` or `max_seq_len` is declared: that some pack of the data set holds two samples.
    Silent where less than half of the packs would fit together in pairs.

    ## Why it matters
    The packer was off, or gave up in silence; most of the compute goes into padding or tiny steps.

    ## How to fix
    Find out why the packer did nothing: TRL's bfd had no effect for some lengths (update it), Unsloth turns
    packing off for some models, LLaMA-Factory needs `packing: true` when the data is tokenized.

    ## Limits
    One pack of two samples makes it silent. Rows that the trainer packs as it reads them are not checked.

    ## Sources
    huggingface/trl#3887 (3,000 rows in, 3,000 out), unslothai/unsloth#7234, niznik-dev/cruijff_kit#378.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """From when on it is no accident.

        Args:
            min_packs: packs in the data set.
        """

        min_packs: int = 4

    meta = RuleMeta(
        code="FIL007", name="unpacked-rows", severity=Severity.WARNING, since="0.1.0", needs=_NEEDS
    )
    why = "The packer was off or gave up in silence; most compute goes into padding or tiny steps."
    fix = "Find out why the packer did nothing (option off, version, data tokenized before), and pack again."
    good = (
        {"input_ids": [[1, 11, 1, 12]] * 4, "seq_lens": [[2, 2]] * 4, "config": {"spec": {"max_seq_len": 4}}},
    )
    bad = ({"input_ids": [[1, 11]] * 4, "seq_lens": [[2]] * 4, "config": {"spec": {"max_seq_len": 4}}},)

    def zero(self) -> Rows:
        """Return no packs."""
        return Rows()

    def observe(self, summary: Rows, batch: PackBatch) -> Rows:
        """Count the lengths of packs of one sample, and the packs of several."""
        known, packed = batch.spec.max_seq_len, batch.spec.packed
        is_declared = known is not None and known.origin in (Origin.CONFIG, Origin.MANIFEST)
        if batch.shard.unit is not Unit.PACK or not (is_declared if packed is None else packed.value):
            return summary
        n_segments = np.diff(batch.segment_first_in_pack)
        single = batch.segment_first_in_pack[:-1][n_segments == 1]
        is_inferred = batch.segment_source is not None and not batch.segment_source.is_explicit
        summary.add(
            batch.segments.lengths[single],
            int(np.count_nonzero(n_segments > 1)),
            batch.n_packs if is_inferred else 0,
            None if known is None else known.value,
        )
        return summary

    def judge(self, summary: Rows, dataset: Dataset) -> Iterator[Judgement]:
        """Report packs of one sample each, if half of them would fit together in pairs."""
        lengths = summary.lengths()
        n_packs, n_tokens = lengths.size, int(lengths.sum())
        if summary.n_several or n_packs < max(1, self.options.min_packs):
            return
        room = summary.room or int(lengths[-1])
        shorter = lengths[: 2 * -(-n_packs // 4)]
        if np.any(shorter + shorter[::-1] > room):
            return
        yield Judgement(
            message=f"{n_packs:,} packs hold one sample each though packing is declared; {shorter.size:,} or"
            f" more fit together in pairs ({room:,} slots); used: {n_tokens:,} of {n_packs * room:,} slots",
            n_hits=n_packs,
            n_packs=n_packs,
            confidence=Confidence.LIKELY if summary.n_inferred else Confidence.CERTAIN,
            measured={"packs": n_packs, "tokens": n_tokens, "slots": n_packs * room},
        )
