"""SPC001 missing-end-token: a whole sample does not end in an end token."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource, BoundaryToken
from packlint.model.edges import begins_with_end, closed, ends_are_sure, fillers, open_boundaries, unfinished
from packlint.model.needs import Need
from packlint.model.recorded import sound_segments
from packlint.rule import PackRule, RuleMeta, Totals

_CONFIG = {"profile": "sft", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}}
_SEGMENTS = [[1, 1, 1, 1, 2, 2, 2, 2, 0, 0]]

_WITHOUT_END = (BoundaryToken.BEGIN, BoundaryToken.LOADER)


class MissingEndToken(PackRule):
    """A sample stops without the token that says so.

    ## What it checks
    Whether an end id is among the last tokens of every whole segment, or among its labels only (pre-shifted
    formats). Samples that may be cut do not count: at the end of a pack, filling a pack, or at a limit.

    ## Why it matters
    A model that never sees an end does not stop, and trainers that scan for ends join two samples.

    ## How to fix
    Append the end token when tokenizing: TRL with `eos_token`, Axolotl by its template, Megatron-LM
    `preprocess_data.py --append-eod`. If answers end in another token, declare `end_of_turn_ids`.

    ## Limits
    Declare `[spec] max_sample_len` where samples were cut to a limit. Where a boundary token is wanted, a
    boundary without any token is SPC005's. Segments of one repeated id are taken for padding.

    ## Sources
    marin-community/marin#577, huggingface/trl#931, hiyouga/LLaMA-Factory#2411, huggingface/trl#1623.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Where an end may stand.

        Args:
            max_separator_tokens: tokens of the template that may follow the end id.
        """

        max_separator_tokens: int = 2

    meta = RuleMeta(
        code="SPC001",
        name="missing-end-token",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.SEGMENTS, Need.END_IDS),
    )
    why = "A model that never sees an end does not stop, and scans for ends join two samples."
    fix = "Append the end token when tokenizing, or declare end_of_turn_ids if answers end in another one."
    good = ({"input_ids": [[1, 11, 12, 2, 1, 21, 2, 13, 0, 0]], "segment_ids": _SEGMENTS, "config": _CONFIG},)
    bad = ({"input_ids": [[1, 11, 12, 13, 1, 21, 22, 2, 0, 0]], "segment_ids": _SEGMENTS, "config": _CONFIG},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per whole sample without end."""
        policy, contract = batch.policy, batch.shard.contract
        if not policy.wants_end_token or (contract and contract.boundary_token in _WITHOUT_END):
            return Hits.none()
        cut = unfinished(batch, at_pack_ends=policy.wants_boundary_token)
        whole = sound_segments(batch) & ~cut
        spaces = self.options.max_separator_tokens
        lacking = whole & ~closed(batch, spaces)
        if lacking.any():
            lacking &= ~(begins_with_end(batch) | fillers(batch))
            if policy.wants_boundary_token:
                lacking &= ~open_boundaries(batch, spaces)
        confidence = Confidence.CERTAIN if ends_are_sure(batch) else Confidence.LIKELY
        counts = {"whole_samples": int(np.count_nonzero(whole)), "end_tokens": batch.end_places.size}
        hits = Hits.of_segments(batch, np.flatnonzero(lacking), confidence=confidence)
        return replace(hits, measured=counts)

    def message(self, totals: Totals) -> str:
        """Give the samples without end, and say if there is no end token at all."""
        n, n_all = totals.n_hits, totals.measured["whole_samples"]
        ids = ", ".join(map(str, totals.shard.spec.end_ids))
        samples = f"{n_all:,} whole {'sample' if n_all == 1 else 'samples'} {'does' if n == 1 else 'do'}"
        never = "" if totals.measured["end_tokens"] else ", which never occurs"
        return f"{n:,} of {samples} not end in an end token ({ids}){never}; allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Segments that were cut at end tokens cannot tell whether those are missing."""
        if batch.segment_source is BoundarySource.BOUNDARY_TOKENS:
            return "samples were told apart by end tokens only, so that none can be seen to be missing"
        return None
