"""SPC004 doubled-end-token: two end tokens in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, PaddingEvidence
from packlint.model.contract import BoundarySource
from packlint.model.edges import doubled, is_recorded
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_CONFIG = {"profile": "sft", "trainer": "grain", "spec": {"bos_id": 1, "eos_ids": [2]}}
_SEGMENTS = [[1, 1, 1, 1, 1]]


class DoubledEndToken(PackRule):
    """A sample ends twice.

    ## What it checks
    The same end id of `eos_ids` next to itself inside one segment; `gap_ids` may stand between. Where end
    tokens are all that tells samples apart: inside one pack (likely: it may be an empty document). Runs that
    may be padding do not count.

    ## Why it matters
    The model learns to end twice. Trainers that scan for the end token get a sample of one token.

    ## How to fix
    Let either the template or the tokenizer add it: TRL adds `eos_token` unless the text ends in it, LLaMA-
    Factory takes `efficient_eos` from its template, Megatron-LM adds one with `--append-eod`.

    ## Limits
    An end of turn followed by another end id is the form of many templates and is no fault.

    ## Sources
    huggingface/trl#3318, huggingface/trl#4481, huggingface/trl#1283, hiyouga/LLaMA-Factory#420,
    hiyouga/LLaMA-Factory#8263.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """What may stand between.

        Args:
            gap_ids: ids of white space.
        """

        gap_ids: tuple[int, ...] = ()

    meta = RuleMeta(
        code="SPC004",
        name="doubled-end-token",
        severity=Severity.WARNING,
        since="0.1.0",
        needs=(Need.EOS_IDS,),
    )
    why = "The model learns to end twice, and a scan for the end token makes a sample of one token."
    fix = "Let either the template or the tokenizer add the end token, not both."
    good = ({"input_ids": [[1, 11, 12, 13, 2]], "segment_ids": _SEGMENTS, "config": _CONFIG},)
    bad = ({"input_ids": [[1, 11, 12, 2, 2]], "segment_ids": _SEGMENTS, "config": _CONFIG},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of end tokens; the amount is the surplus."""
        places, scanned = batch.eos_places, batch.segment_source is BoundarySource.BOUNDARY_TOKENS
        runs = doubled(batch, places, tuple(self.options.gap_ids), by_pack=scanned)
        runs = self._without_padding(batch, runs)
        hits = Hits.of_tokens(batch, runs.starts)
        surplus = np.searchsorted(places, runs.stops) - np.searchsorted(places, runs.starts) - 1
        counts = {"end_tokens": places.size, "surplus_end_tokens": int(surplus.sum())}
        confidence = Confidence.CERTAIN if is_recorded(batch) else Confidence.LIKELY
        return replace(hits, stops=runs.stops, amounts=surplus, measured=counts, confidence=confidence)

    def message(self, totals: Totals) -> str:
        """Give the places and the surplus."""
        n, what = totals.n_hits, "place has" if totals.n_hits == 1 else "places have"
        return (
            f"{n:,} {what} the same end token two or more times in a row ({totals.amount:,} of"
            f" {totals.measured['end_tokens']:,} end tokens too many); allowed: 0"
        )

    def unchecked(self, batch: PackBatch) -> str | None:
        """An id that begins samples too stands twice at every boundary."""
        bos, eos = batch.spec.bos_id, batch.spec.eos_ids
        if bos is not None and eos is not None and bos.value in eos.value:
            return f"id {bos.value} both begins and ends samples, so that two in a row are no fault"
        return None

    def _without_padding(self, batch: PackBatch, runs: Spans) -> Spans:
        pad, eos = batch.spec.pad_id, batch.spec.eos_ids
        told = batch.padding_evidence is not PaddingEvidence.UNKNOWN
        if len(runs) == 0 or (told and (pad is None or eos is None or pad.value not in eos.value)):
            return runs
        kept = ~np.isin(runs.stops, batch.pack_offsets)
        if batch.is_target is not None:
            kept &= batch.is_target[runs.stops - 1]
        return Spans(runs.starts[kept], runs.stops[kept])
