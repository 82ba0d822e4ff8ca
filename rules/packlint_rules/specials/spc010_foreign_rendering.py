"""SPC010 foreign-rendering: what stands around the turns is not what the chat template writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.model.template import bare_gaps, bare_headers, template_ids
from packlint.rule import Dataset, Judgement, PackRule, RuleMeta, Totals
from packlint.summaries.reconciliation import Reconciliation

_NEEDS = (Need.SEGMENTS, Need.ROLES)
_MARKERS = {"user": [5, 20], "assistant": [5, 21], "end": [7], "separator": [9]}
_CHAT = {"markers": _MARKERS, "separator_is_due": True}
_PACK = {
    "seq_lens": [[10]],
    "config": {"profile": "sft", "trainer": "trl", "spec": {"eos_ids": [7]}, "chat": _CHAT},
}  # fmt: skip


class ForeignRendering(PackRule):
    """A line break that the chat template writes around every turn is missing, or is something else.

    ## What it checks
    Where the chat format has a line break after the role and after the end marker, and the tokenizer's own
    template (if it has one) never omits it: whether it stands there.
    With a reference of messages: whether each conversation is packed as the template writes it.

    ## Why it matters
    At inference the template writes other ids than the model was trained on, in every turn.

    ## How to fix
    Render with the model's own template: `apply_chat_template` (TRL, Axolotl `type: chat_template`), not by
    joining strings; in LLaMA-Factory take the `template` that belongs to the model.

    ## Limits
    Without messages only line breaks are seen; with them, other tools or another date than the template is
    told are a difference too. Without the model's template those that its chat format usually has are due.

    ## Sources
    huggingface/trl#6361, hiyouga/LLaMA-Factory#10773, AI-Hypercomputer/maxtext#1746.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Tell white space from text that nobody says.

        Args:
            max_separator_tokens: tokens between two turns beyond which they are text (SPC007).
        """

        max_separator_tokens: int = 2

    meta = RuleMeta(
        code="SPC010", name="foreign-rendering", severity=Severity.WARNING, since="0.1.0", needs=_NEEDS
    )
    why = "At inference the template writes other ids than the model was trained on, in every turn."
    fix = "Render with the model's own chat template (TRL, Axolotl: chat_template), not by joining strings."
    good = ({"input_ids": [[5, 20, 9, 51, 7, 9, 5, 21, 9, 7]], **_PACK},)
    bad = ({"input_ids": [[5, 20, 9, 51, 7, 9, 5, 21, 61, 7]], **_PACK},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say so where the format has no line break of its own around turns."""
        chat = batch.shard.chat
        ids = template_ids(chat) if chat else None
        known = ids is not None and (ids.header_ends.size or ids.closing.size)
        return None if known else "the chat format has no line break around turns that could be missing"

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per header and one per gap between turns that lacks its line break."""
        roles, chat = batch.roles, batch.shard.chat
        if roles is None or chat is None or len(roles.turns) == 0:
            return Hits.none()
        turns = roles.turns
        headers = bare_headers(batch, roles, chat)
        gaps = bare_gaps(batch, roles, chat, self.options.max_separator_tokens)
        counts = {"headers": int(headers.sum()), "gaps": int(gaps.sum()), "turns": len(turns)}
        at_header, at_gap = np.flatnonzero(headers), np.flatnonzero(gaps)
        starts = np.concatenate([turns.headers[at_header], turns.ends[at_gap]])
        stops = np.concatenate([turns.header_stops[at_header], turns.headers[at_gap + 1]])
        places = Spans(np.sort(starts), np.sort(stops))
        return Hits.of_spans(batch, places, confidence=Confidence.LIKELY, **counts)

    def message(self, totals: Totals) -> str:
        """Count what lacks its line break."""
        counts = totals.measured
        kinds = (("header", counts["headers"]), ("end marker", counts["gaps"]))
        said = " and ".join(f"{n:,} {kind}{'s' if n > 1 else ''}" for kind, n in kinds if n)
        lack = "lacks" if totals.n_hits == 1 else "lack"
        name = totals.shard.chat.name if totals.shard.chat else "the chat format"
        return f"{said} of {counts['turns']:,} turns {lack} the line break that {name} writes; allowed: 0"

    def judge_found(self, found: Reconciliation, dataset: Dataset) -> Iterable[Judgement] | None:
        """Compare with what the template writes for the messages of the reference."""
        if found.why_not or not found.samples.are_rendered:
            return None
        differ = np.where(found.is_altered, found.altered, 0)
        n, n_all, n_tokens = int(np.count_nonzero(differ)), len(found.samples), int(differ.sum())
        text = (
            f"{n:,} of {n_all:,} conversations are not as the chat template writes them: {n_tokens:,} tokens"
        )
        places = found.worst_places(differ, "tokens differ from the template's")
        return (Judgement(message=f"{text} differ", n_hits=n, n_tokens=n_tokens, locations=places),) * (n > 0)
