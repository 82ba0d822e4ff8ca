"""Which chat format a tokenizer belongs to: from its template, or from tokens that only one format has."""

from __future__ import annotations

from packlint.chat.chat_format import ChatFormat
from packlint.chat.compile import NotInVocabulary, compile_format
from packlint.chat.formats import FORMATS
from packlint.chat.tokenizer import Tokenizer
from packlint.model.markers import UNDECLARED, ChatMarkers, TrainOn
from packlint.model.spec import Known, Origin

__all__ = ["detect"]


def detect(tokenizer: Tokenizer, train_on: TrainOn = UNDECLARED) -> tuple[ChatMarkers | None, str]:
    """Return the chat format with the evidence for it, or none with the reason.

    Two formats that fit equally well are none: nothing is guessed.
    """
    if tokenizer.template:
        found, evidence = _by_template(tokenizer), f"the chat template in {tokenizer.template_source}"
    else:
        found, evidence = _by_tokens(tokenizer), "tokens of the vocabulary; there is no chat template"
    fitting: list[ChatMarkers] = []
    reasons: list[str] = []
    for chat in found:
        signs = chat.signs if tokenizer.template else chat.tokens
        known = Known(chat.name, Origin.TOKENIZER, f"{', '.join(signs)} in {evidence}")
        try:
            fitting.append(compile_format(chat, tokenizer, known, train_on))
        except NotInVocabulary as error:
            reasons.append(f"not {chat.name}: {error}")
    if len(fitting) == 1:
        return fitting[0], fitting[0].known.why if fitting[0].known else ""
    if fitting:
        names = ", ".join(chat.name for chat in fitting)
        return None, f"{evidence} fits several formats: {names}; give [chat] format"
    told = "; ".join(reasons) or f"no known format in {evidence}"
    return None, f"{told}; give [chat] format or [chat] markers"


def _by_template(tokenizer: Tokenizer) -> list[ChatFormat]:
    """Return the formats whose signs the template has, but for those that a more special one covers."""
    text = tokenizer.template
    found = [
        chat
        for chat in FORMATS.values()
        if all(sign in text for sign in chat.signs) and not any(sign in text for sign in chat.foreign)
    ]
    return _most_special(_one_of_twins(found, tokenizer))


def _by_tokens(tokenizer: Tokenizer) -> list[ChatFormat]:
    added = tokenizer.added_tokens
    found = [
        chat for chat in FORMATS.values() if chat.tokens and all(token in added for token in chat.tokens)
    ]
    return _most_special(found)


def _one_of_twins(found: list[ChatFormat], tokenizer: Tokenizer) -> list[ChatFormat]:
    """Of formats with the same signs, keep those that this vocabulary writes as tokens, or else as text.

    `[INST]` is ordinary text for Llama 2, and a token of its own for later Mistrals.
    """
    kept = []
    for chat in found:
        twins = [other for other in found if other.signs == chat.signs]
        as_tokens = [t for t in twins if t.tokens and all(x in tokenizer.added_tokens for x in t.tokens)]
        as_text = [t for t in twins if not t.tokens]
        if chat in (as_tokens or as_text or twins):
            kept.append(chat)
    return kept


def _most_special(found: list[ChatFormat]) -> list[ChatFormat]:
    """Drop formats all of whose signs and tokens another one has too, and more."""

    def marks(chat: ChatFormat) -> frozenset[str]:
        return frozenset(chat.signs + chat.tokens)

    return [chat for chat in found if not any(marks(chat) < marks(other) for other in found)]
