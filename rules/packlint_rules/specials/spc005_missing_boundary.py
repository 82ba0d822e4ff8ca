"""SPC005 missing-boundary: two documents with no token between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, Unit
from packlint.model.contract import BoundarySource, BoundaryToken
from packlint.model.edges import ends_are_sure, follows_another, open_boundaries
from packlint.model.needs import Need, missing
from packlint.model.recorded import sound_segments
from packlint.rule import Dataset, Judgement, PackRule, RuleMeta, Totals
from packlint.summaries.reconciliation import Reconciliation

_PACK = {
    "segment_ids": [[1, 1, 2, 2, 2, 2, 0, 0]],
    "config": {"profile": "pretrain", "trainer": "grain", "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]}},
}


class MissingBoundary(PackRule):
    """One document runs into the next: no token says where.

    ## What it checks
    At every recorded boundary: an end id before it, or a begin (or end) id after it; in rows that are
    documents their own, unless the loader puts tokens in. Only where a boundary token is wanted.

    ## Why it matters
    Nothing tells the model that the subject changes, and no later tool can find the boundary again.

    ## How to fix
    Megatron-LM: `preprocess_data.py --append-eod`; datatrove: `eos_token`; transformers' `group_texts`:
    add the end token to every text before joining.

    ## Limits
    Needs another record of boundaries than end tokens, or a reference. Padding between two parts them too.

    ## Sources
    huggingface/transformers#23198, Lightning-AI/lit-llama#482, Lightning-AI/litgpt#706.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Where an end may stand.

        Args:
            max_separator_tokens: tokens that may follow it.
        """

        max_separator_tokens: int = 2

    meta = RuleMeta(code="SPC005", name="missing-boundary", severity=Severity.ERROR, since="0.1.0")
    why = "Nothing tells the model that a new document begins, and no tool can find the boundary again."
    fix = "Append the end token to every document (Megatron-LM: preprocess_data.py --append-eod)."
    good = ({**_PACK, "input_ids": [[11, 2, 21, 22, 23, 2, 0, 0]]},)
    bad = ({**_PACK, "input_ids": [[11, 12, 21, 22, 23, 2, 0, 0]]},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit without tokens per boundary, at the end of the document before it."""
        contract = batch.shard.contract
        from_loader = contract is not None and contract.boundary_token is BoundaryToken.LOADER
        if not batch.policy.wants_boundary_token or from_loader:
            return Hits.none()
        sound = sound_segments(batch)
        ends = np.flatnonzero(open_boundaries(batch, self.options.max_separator_tokens) & sound)
        counted = follows_another(batch) & sound if batch.shard.unit is Unit.PACK else sound
        counts = {"boundaries": int(np.count_nonzero(counted)), "open_boundaries": ends.size}
        confidence = Confidence.CERTAIN if ends_are_sure(batch) else Confidence.LIKELY
        hits = Hits.of_segments(batch, ends, amounts=np.ones_like(ends), confidence=confidence)
        return replace(hits, starts=hits.stops, measured=counts)

    def message(self, totals: Totals) -> str:
        """Give the boundaries without token, and say if no id ends the documents."""
        n, n_all, eos = totals.n_hits, totals.measured["boundaries"], totals.shard.spec.eos_ids
        places = f"{n_all:,} {'boundary' if n_all == 1 else 'boundaries'} {'has' if n == 1 else 'have'}"
        text = f"{n:,} of {places} neither an end token before nor a begin token after; allowed: 0"
        if eos is None or eos.value:
            return text
        why = eos.why or "no id ends the documents"
        return f"{text} ({why}), as when preprocess_data.py runs without --append-eod"

    def judge_found(self, found: Reconciliation, dataset: Dataset) -> Iterable[Judgement] | None:
        """Look at the places inside segments where, by the reference, one sample ends and another begins."""
        if found.why_not or found.n_meetings == 0 or not dataset.policy.wants_boundary_token:
            return None
        n, n_all = int(found.open_meetings.size), found.n_meetings
        text = f"{n:,} of {n_all:,} places where, by the reference, samples meet have no token between"
        found_open = Judgement(message=f"{text}; allowed: 0", n_hits=n, locations=found.open_places())
        return (found_open,) if n else ()

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for what is needed only where a boundary token is wanted."""
        if not batch.policy.wants_boundary_token:
            return None
        if batch.segment_source is BoundarySource.BOUNDARY_TOKENS:
            return "documents were told apart by end tokens only, so that none can be seen to be missing"
        if batch.spec.eos_ids is None and batch.spec.bos_id is None and not batch.spec.end_ids:
            return "no end or begin token is known; give [spec] eos_ids or --tokenizer"
        return missing(batch, Need.SEGMENTS)
