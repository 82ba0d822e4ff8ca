"""SPC002 missing-begin-token: a whole sample does not begin with the begin token."""

from __future__ import annotations

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.contract import BoundarySource
from packlint.model.edges import fillers, fragment_starts, is_recorded
from packlint.model.needs import Need, missing
from packlint.model.recorded import sound_segments
from packlint.rule import PackRule, RuleMeta, Totals

_CONFIG = {
    "profile": {"extends": "sft", "wants_begin_token": True},
    "trainer": "grain",
    "spec": {"pad_id": 0, "bos_id": 1, "eos_ids": [2]},
}
_SEGMENTS = [[1, 1, 1, 1, 2, 2, 2, 2, 0, 0]]


class MissingBeginToken(PackRule):
    """A sample starts without the begin token that the policy asks for.

    ## What it checks
    Whether the first token of every segment is `bos_id`, where the policy says `wants_begin_token`. At a
    pack's start, segments of packers that cut samples may be continuations and are not counted.

    ## Why it matters
    Models trained with a begin token lean on it as the place to attend to. A tokenizer that stops adding it
    changes every sample, and old and new shards no longer match.

    ## How to fix
    Compare the tokenizer's `add_bos_token` and its post-processor with those of an older shard: fast
    tokenizers of transformers ignore changes to the flag. TRL and Axolotl take what the tokenizer gives.

    ## Limits
    Off unless the policy asks for it. Tails of split samples in mid-pack (TRL bfd_split) look like faults.

    ## Sources
    marin-community/marin#5034, marin-community/marin#5149, huggingface/transformers#16702.
    """

    meta = RuleMeta(code="SPC002", name="missing-begin-token", severity=Severity.ERROR, since="0.1.0")
    why = "Models lean on the begin token; shards with and without it do not match."
    fix = "Make the tokenizer add its begin token (add_bos_token, post-processor) and tokenize again."
    good = ({"input_ids": [[1, 11, 12, 2, 1, 21, 22, 2, 0, 0]], "segment_ids": _SEGMENTS, "config": _CONFIG},)
    bad = ({"input_ids": [[1, 11, 12, 2, 20, 21, 22, 2, 0, 0]], "segment_ids": _SEGMENTS, "config": _CONFIG},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per whole sample without begin."""
        bos = batch.spec.bos_id
        if not batch.policy.wants_begin_token or bos is None:
            return Hits.none()
        whole = sound_segments(batch) & ~fragment_starts(batch, if_unknown=True)
        lacking = whole & (batch.tokens[batch.segments.starts] != bos.value)
        if lacking.any():
            lacking &= ~fillers(batch)
        segments = np.flatnonzero(lacking)
        return Hits.of_segments(
            batch,
            segments,
            confidence=Confidence.CERTAIN if is_recorded(batch) else Confidence.LIKELY,
            whole_samples=int(np.count_nonzero(whole)),
        )

    def message(self, totals: Totals) -> str:
        """Give the samples without begin."""
        n, n_all, bos = totals.n_hits, totals.measured["whole_samples"], totals.shard.spec.bos_id
        samples = f"{n_all:,} whole {'sample' if n_all == 1 else 'samples'} {'does' if n == 1 else 'do'}"
        return f"{n:,} of {samples} not begin with id {bos.value if bos else '?'}; allowed: 0"

    def unchecked(self, batch: PackBatch) -> str | None:
        """Ask for what is needed only where a begin token is wanted."""
        if not batch.policy.wants_begin_token:
            return None
        if batch.segment_source is BoundarySource.BOUNDARY_TOKENS:
            return "samples were told apart by end tokens only"
        return missing(batch, Need.SEGMENTS) or missing(batch, Need.BOS_ID)
