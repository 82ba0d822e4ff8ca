"""SPC007 broken-turns: markers of turns do not pair up as the chat template writes them."""

from __future__ import annotations

from dataclasses import dataclass

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.broken_turns import find_broken_turns
from packlint.model.contract import BoundarySource
from packlint.model.edges import is_recorded
from packlint.model.needs import Need
from packlint.model.recorded import sound_segments
from packlint.model.spans import Spans
from packlint.rule import PackRule, RuleMeta, Totals

_CHAT = {"markers": {"user": [5, 20], "assistant": [5, 21], "end": [7]}}
_CONFIG = {"profile": "sft", "trainer": "trl", "spec": {"eos_ids": [7]}, "chat": _CHAT}
_PACK = {"seq_lens": [[14]], "config": _CONFIG}
_NAMES = {
    "unclosed": "not closed before the next one begins",
    "repeated": "of the same role as the turn before, which the template refuses",
    "nameless": "without the name of a role",
    "unwrapped": "of a tool whose wrapping has no end",
    "stray": "without a header: text right behind a closed turn",
}


class BrokenTurns(PackRule):
    """A turn is not closed, or its header or the marker that pairs with it is missing.

    ## What it checks
    Inside every sample: turns that the template closes and that are still open when the next one begins;
    text behind a closed turn that has no header; headers that name nobody; results of tools whose wrapping
    does not end; and two turns of one role in a row where the template refuses them.

    ## Why it matters
    Who speaks is wrong from there on: the loss mask and the model take the user's words for the answer's.

    ## How to fix
    Render whole conversations with `apply_chat_template` (TRL; Axolotl `type: chat_template`) instead of
    joining strings turn by turn, and cut samples at a limit only at their end.

    ## Limits
    The last turn of a sample may be cut, and is SPC001's; so is the head. Several turns of one role in a row
    are a fault only where the template says so, and a role of one's own (`<|im_start|>critic`) is none. In
    formats of plain text (Alpaca, Vicuna, Zephyr) text without a header is not seen. An answer before the
    results of a tool may stay open in DeepSeek's format: the template of V3 leaves it so.

    ## Sources
    lm-sys/FastChat#470, OpenRLHF/OpenRLHF#591, verl-project/verl#7322.
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Tolerate white space.

        Args:
            max_separator_tokens: tokens that may follow an end marker and its separator.
        """

        max_separator_tokens: int = 2

    meta = RuleMeta(
        code="SPC007",
        name="broken-turns",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.SEGMENTS, Need.ROLES),
    )
    why = "Who speaks is wrong from there on: the user's words are taken for the answer's."
    fix = "Render whole conversations with the chat template (TRL, Axolotl), not turn by turn."
    good = ({"input_ids": [[5, 20, 51, 52, 53, 7, 5, 21, 61, 7, 5, 20, 54, 7]], **_PACK},)
    bad = ({"input_ids": [[5, 20, 51, 7, 5, 21, 61, 62, 5, 20, 54, 55, 56, 7]], **_PACK},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say so where samples were told apart by end tokens, which end turns too."""
        inferred = batch.segment_source is BoundarySource.BOUNDARY_TOKENS
        return "samples were told apart by end tokens only" if inferred else None

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per broken turn, up to the next header, and one per text without a header."""
        roles, chat = batch.roles, batch.shard.chat
        if roles is None or chat is None or len(roles.turns) == 0:
            return Hits.none()
        found = find_broken_turns(batch, roles, chat, self.options.max_separator_tokens)
        places = found.places(batch, roles)
        sound = sound_segments(batch)[batch.segments_of(places.starts)]
        return Hits.of_spans(
            batch,
            Spans(places.starts[sound], places.stops[sound]),
            confidence=Confidence.CERTAIN if is_recorded(batch) else Confidence.LIKELY,
            turns=len(roles.turns),
            **found.counts(),
        )

    def message(self, totals: Totals) -> str:
        """Count the turns by what is wrong with them."""
        counts = totals.measured
        kinds = "; ".join(f"{counts[name]:,} {text}" for name, text in _NAMES.items() if counts[name])
        return f"{totals.n_hits:,} broken among {counts['turns']:,} turns: {kinds}; allowed: 0"
