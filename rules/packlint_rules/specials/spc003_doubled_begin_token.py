"""SPC003 doubled-begin-token: two begin tokens in a row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.edges import doubled, is_recorded
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_CONFIG = {"profile": "sft", "trainer": "grain", "spec": {"bos_id": 1, "eos_ids": [2]}}
_SEGMENTS = [[1, 1, 1, 1, 1]]


class DoubledBeginToken(PackRule):
    """A sample has its begin token twice.

    ## What it checks
    Begin ids that stand next to each other inside one segment. `gap_ids` names ids of white space that may
    stand between. Runs that end their segment begin nothing: they are filling (litgpt) and do not count.

    ## Why it matters
    The chat template writes one and the tokenizer adds another: the model is trained on a start that it never
    meets again, or meets only in training.

    ## How to fix
    Tokenize rendered chats with `add_special_tokens=False`, as TRL and Unsloth do for templates that write
    the begin token (Llama 3).

    ## Limits
    White space cannot be told from text without a tokenizer: list its ids in `gap_ids`. Not checked where
    the begin id is an end or padding id too.

    ## Sources
    OpenRLHF/OpenRLHF#393, huggingface/trl#1400, unslothai/unsloth-zoo#959, marin-community/levanter#574,
    MakazhanAlpamys/Soup#788.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """What may stand between.

        Args:
            gap_ids: ids of white space.
        """

        gap_ids: tuple[int, ...] = ()

    meta = RuleMeta(
        code="SPC003",
        name="doubled-begin-token",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.BOS_ID,),
    )
    why = "Template and tokenizer both add one: the model is trained on a start it will not meet."
    fix = "Tokenize rendered chats with add_special_tokens=False."
    good = ({"input_ids": [[1, 11, 12, 13, 2]], "segment_ids": _SEGMENTS, "config": _CONFIG},)
    bad = ({"input_ids": [[1, 1, 11, 12, 2]], "segment_ids": _SEGMENTS, "config": _CONFIG},)

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per run of begin tokens; the amount is the surplus."""
        places = batch.bos_places
        runs = doubled(batch, places, tuple(self.options.gap_ids), by_pack=False)
        begins = ~np.isin(runs.stops, batch.edges)
        runs = Spans(runs.starts[begins], runs.stops[begins])
        hits = Hits.of_tokens(batch, runs.starts)
        surplus = np.searchsorted(places, runs.stops) - np.searchsorted(places, runs.starts) - 1
        counts = {"begin_tokens": places.size, "surplus_begin_tokens": int(surplus.sum())}
        confidence = Confidence.CERTAIN if is_recorded(batch) else Confidence.LIKELY
        return replace(hits, stops=runs.stops, amounts=surplus, measured=counts, confidence=confidence)

    def message(self, totals: Totals) -> str:
        """Give the places and the surplus."""
        n, bos = totals.n_hits, totals.shard.spec.bos_id
        what = "place has" if n == 1 else "places have"
        return (
            f"{n:,} {what} the begin token ({bos.value if bos else '?'}) two or more times in a row"
            f" ({totals.amount:,} of {totals.measured['begin_tokens']:,} begin tokens too many); allowed: 0"
        )

    def unchecked(self, batch: PackBatch) -> str | None:
        """An id with two meanings may stand twice for good reason."""
        bos, pad = batch.spec.bos_id, batch.spec.pad_id
        if bos is None:
            return None
        if bos.value in batch.spec.end_ids:
            return f"id {bos.value} both begins and ends samples, so that two in a row are no fault"
        if pad is not None and bos.value == pad.value:
            return f"id {bos.value} is both begin and padding id"
        return None
