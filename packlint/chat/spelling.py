"""How a tokenizer writes the text of its special tokens where it splits them like any other text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packlint.chat.tokenizer import Tokenizer
from packlint.model.markers import Ids, Marker, Spelling

__all__ = ["spellings_of"]

_BEFORE = ("", "\n", "a", "a ", "a\n", ".", "?", ")", "}", '"')
_AFTER = ("", "a", " a", "\n", "\n\n", "\na", "<", "{")
_TAG = re.compile(r"</?[a-z]{1,5}>")
_MIN_TEXT = 8
"""Characters of a text that is recognised without its first or its last one."""


def spellings_of(markers: Sequence[Marker], tokenizer: Tokenizer) -> tuple[Spelling, ...]:
    """Return the spellings of the special tokens that a chat is written with, in many surroundings."""
    spec = tokenizer.spec
    used = {i for marker in markers for i in marker.ids}
    used |= set(spec.eos_ids.value) if spec.eos_ids else set()
    used |= {spec.bos_id.value} if spec.bos_id else set()
    special = {i: text for text, i in tokenizer.added_tokens.items() if i in used}
    return tuple(
        Spelling(token_id=i, text=text, ids=ids, is_tag=_TAG.fullmatch(text) is not None)
        for i, text in special.items()
        for ids in dict.fromkeys(_variants(text, tokenizer))
        if len(ids) > 1
    )


def _variants(text: str, tokenizer: Tokenizer) -> Iterator[Ids]:
    """Yield the ids of a text in many surroundings.

    The first or last character of a long text may share a token with its neighbour (`.<`), and is left out:
    what remains (`|im_end|>`) says enough.
    """
    lost = 1 if len(text) >= _MIN_TEXT and not _TAG.fullmatch(text) else 0
    for left in _BEFORE:
        for right in _AFTER:
            whole, start, stop = left + text + right, len(left), len(left) + len(text)
            ids, offsets = tokenizer.encode_plain(whole)
            spans = list(zip(ids, offsets, strict=True))
            own = [(i, a, b) for i, (a, b) in spans if b > a and b > start and a < stop]
            kept = [i for i, a, b in own if not (whole[a:start] + whole[stop:b]).strip()]
            shared = "".join(whole[max(a, start) : min(b, stop)] for i, a, b in own if i not in kept)
            if len(shared) <= 2 * lost and (not shared or _says_enough(text, shared)):
                yield tuple(kept)


def _says_enough(text: str, shared: str) -> bool:
    """Tell whether a text without the shared brackets is still no word (`|im_end|`, `start_of_turn>`)."""
    rest = text[1:] if shared[0] == text[0] else text
    rest = rest[:-1] if shared[-1] == text[-1] else rest
    return not rest.isidentifier()
