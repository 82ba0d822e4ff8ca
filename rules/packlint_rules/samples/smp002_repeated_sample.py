"""SMP002 repeated-sample: a sample was packed more often than it occurs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from packlint.finding import Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.edges import is_recorded
from packlint.model.needs import Need
from packlint.model.recorded import sound_segments
from packlint.rule import Dataset, DatasetRule, Judgement, RuleMeta
from packlint.summaries.packs import PackKeys
from packlint.summaries.reconciliation import Reconciliation
from packlint.summaries.wording import number_of_copies, share_of

_ERROR, _NEEDS = Severity.ERROR, (Need.EXPLICIT_BOUNDARIES,)
_IDS, _OTHER = list(range(10, 50)), list(range(60, 100))


class RepeatedSample(DatasetRule[PackKeys]):
    """The same sample is in the packs more than once.

    ## What it checks
    With a reference: how often each sample was packed against how often it occurs there, pieces counted too
    (error). Without: recorded segments of equal ids, by hash and length (warning), short ones left out.

    ## Why it matters
    Repeated samples weigh more than the mixture says and are learnt by heart.

    ## How to fix
    Remove duplicates before packing; look for overlapping workers, a resume without state (torchtitan,
    streaming), or an epoch packed twice.

    ## Limits
    Equal ids only. Without a reference the source itself may have had the duplicates, and of pairs in columns
    whole rows are compared: one answer may stand in several pairs.

    ## Sources
    huggingface/datasets#3423, mosaicml/streaming#324; Lee et al., arXiv:2107.06499 (deduplication).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Which segments are compared without a reference.

        Args:
            min_sample_tokens: tokens of a segment.
        """

        min_sample_tokens: int = 32

    meta = RuleMeta(code="SMP002", name="repeated-sample", severity=_ERROR, since="0.1.0", needs=_NEEDS)
    why = "Repeated samples weigh more than the mixture says, and are learnt by heart."
    fix = "Remove duplicates before packing; look for overlapping workers or a resume without state."
    good = ({"input_ids": [_IDS + _OTHER], "seq_lens": [[40, 40]]},)
    bad = ({"input_ids": [_IDS + _IDS], "seq_lens": [[40, 40]]},)

    def zero(self) -> PackKeys:
        """Return no segments."""
        return PackKeys()

    def observe(self, summary: PackKeys, batch: PackBatch) -> PackKeys:
        """Add hash, length and place of the segments that count; a reference knows them already."""
        if batch.sources is None and batch.shard.unit is Unit.PAIR:
            summary.add_rows(batch, self.options.min_sample_tokens)
        elif batch.sources is None and is_recorded(batch):
            is_long = batch.segments.lengths >= self.options.min_sample_tokens
            summary.add_segments(batch, np.flatnonzero(is_long & sound_segments(batch)))
        return summary

    def judge(self, summary: PackKeys, dataset: Dataset) -> Iterator[Judgement]:
        """Report segments of equal ids, where there is no reference to count with."""
        copies = summary.repeats()
        if dataset.found is not None or len(copies) == 0:
            return
        yield Judgement(
            message=f"{number_of_copies(len(copies), 'sample')} of an earlier one ({copies.n_contents:,}"
            f" different, {copies.n_tokens:,} tokens again) of {summary.n_packs:,} compared",
            n_hits=len(copies),
            n_tokens=copies.n_tokens,
            severity=Severity.WARNING,
            measured={"repeated_contents": copies.n_contents, "segments_compared": summary.n_packs},
            locations=copies.worst(dataset.shards),
        )

    def unfound(self, found: Reconciliation) -> str | None:
        """Nothing can be counted where nothing at all was found."""
        return found.why_not

    def judge_found(self, found: Reconciliation, dataset: Dataset) -> Iterable[Judgement] | None:
        """Count with the reference."""
        n, n_tokens = int(np.count_nonzero(found.repeated)), int(found.repeated.sum())
        if n == 0 or found.why_not:
            return None if found.why_not else ()
        told = Judgement(
            message=f"{n:,} of {len(found.samples):,} samples {'was' if n == 1 else 'were'} packed too often:"
            f" {n_tokens:,} tokens again ({share_of(n_tokens, found.balance.packed)} of the packed tokens)",
            n_hits=n,
            n_tokens=n_tokens,
            measured={"repeated_samples": n, "repeated_tokens": n_tokens},
            locations=found.worst_places(found.repeated, "tokens again"),
        )
        return (told,)
