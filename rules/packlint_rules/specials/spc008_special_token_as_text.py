"""SPC008 special-token-as-text: the text of a special token was split into ordinary tokens."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from packlint.finding import Confidence, Hits, Severity
from packlint.model.batch import PackBatch, ShardContext
from packlint.model.needs import Need
from packlint.model.spans import Spans
from packlint.model.spec import TargetPolicy
from packlint.model.spellings import find_spellings
from packlint.rule import PackRule, RuleMeta, Totals

_MARKERS = {"user": [3, 20], "assistant": [3, 21], "end": [4], "end_as_text": [[30, 31, 32]]}
_CONFIG = {"profile": "sft", "spec": {"eos_ids": [2]}, "chat": {"markers": _MARKERS}}
_PACK = {"seq_lens": [[8]], "config": _CONFIG}


class SpecialTokenAsText(PackRule):
    """The text of a special token was split like any other text, so that the model never sees the token.

    ## What it checks
    Whether the ordinary tokens that spell a special token of the chat format (or the begin or end token)
    stand in a sample, in any of the ways in which the tokenizer splits that text.

    ## Why it matters
    The model learns to type `<|im_end|>` letter by letter and not to stop, and everything that goes by ids
    (masks, scans for the end, roles) is blind to it.

    ## How to fix
    Let the tokenizer know its special tokens: in transformers and TRL do not set `split_special_tokens`, and
    use the tokenizer that has the template's tokens added; in Axolotl list them under `special_tokens`.

    ## Limits
    A text that quotes a marker (documentation, a pasted prompt) is rightly split and looks the same: likely,
    and a warning where the profile trains on plain text. Texts that look like tags of web pages (`</s>`)
    count only at the edges of a sample.

    ## Sources
    lm-sys/FastChat#488; huggingface/transformers src/transformers/tokenization_utils_base.py
    (`split_special_tokens`).
    """

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Options:
        """Say where texts that look like tags count.

        Args:
            max_edge_tokens: tokens between such a text and the edge of its sample.
        """

        max_edge_tokens: int = 2

    meta = RuleMeta(
        code="SPC008",
        name="special-token-as-text",
        severity=Severity.ERROR,
        since="0.1.0",
        needs=(Need.ROLES,),
    )
    why = "The model learns to type the marker instead of stopping, and all that goes by ids is blind to it."
    fix = "Tokenize with the tokenizer that has these tokens, and do not set split_special_tokens."
    good = ({"input_ids": [[3, 20, 51, 4, 3, 21, 61, 4]], **_PACK},)
    bad = ({"input_ids": [[3, 21, 61, 30, 31, 32, 4, 2]], **_PACK},)

    def unchecked(self, batch: PackBatch) -> str | None:
        """Say so when nobody knows how the texts are split."""
        chat = batch.shard.chat
        known = chat is not None and chat.spellings
        return None if known else "how the tokenizer splits special tokens is unknown; give --tokenizer"

    def severity(self, shard: ShardContext) -> Severity:
        """Return a warning for plain text, in which markers may be quoted."""
        plain = shard.policy.targets is TargetPolicy.ALL
        return Severity.WARNING if plain else Severity.ERROR

    def check(self, batch: PackBatch) -> Hits:
        """Return one hit per text of a special token."""
        chat = batch.shard.chat
        if chat is None or not chat.spellings:
            return Hits.none()
        starts, stops, index = find_spellings(batch.tokens, chat.spellings, batch.special_places)
        mine, slack = batch.segments_of(starts), self.options.max_edge_tokens
        kept = (mine >= 0) & (mine == batch.segments_of(stops - 1))
        for i in np.flatnonzero([spelling.is_tag for spelling in chat.spellings]) if kept.any() else ():
            at_edge = starts - batch.segments.starts[mine] <= slack
            kept &= (index != i) | at_edge | (batch.segments.stops[mine] - stops <= slack)
        texts = Counter(chat.spellings[i].text for i in index[kept].tolist())
        return Hits.of_spans(batch, Spans(starts[kept], stops[kept]), confidence=Confidence.LIKELY, **texts)

    def message(self, totals: Totals) -> str:
        """Count the texts, and name the special tokens."""
        names = ", ".join(f"{text} ({n:,})" for text, n in sorted(totals.measured.items()))
        n = totals.n_hits
        texts = "The text of 1 special token" if n == 1 else f"The texts of {n:,} special tokens"
        return f"{texts} {'stands' if n == 1 else 'stand'} as ordinary tokens: {names}; allowed: 0"
