"""A chat format as text → its markers as ids, with a tokenizer.

A text is not always the same ids: what stands before and after it may be merged into its first and last token
(`:` and a line break into one). So a marker is encoded in many surroundings, and every outcome is a variant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache

from packlint.chat.chat_format import ChatFormat, TextMarker, close
from packlint.chat.examples import written_examples
from packlint.chat.spelling import spellings_of
from packlint.chat.tokenizer import Tokenizer
from packlint.model.markers import UNDECLARED, ChatMarkers, Effect, Ids, Marker, Place, Tail, TrainOn
from packlint.model.roles import Role
from packlint.model.spec import Known

__all__ = ["NotInVocabulary", "WhiteSpace", "compile_format", "compile_marker"]

_BEFORE = ("", "\n", "a", "a ", "a\n", ".\n\n")
_AFTER = ("", "a", " a", *("\n" * n for n in range(1, 7)), "\na", "\n\na", "{")
"""No vocabulary that is known has a sign and more than six line breaks in one token."""
_COPIED = [
    f.name for f in fields(Marker) if f.name in {g.name for g in fields(TextMarker)} - {"lead", "tail"}
]
_MUST_ALTERNATE = "must alternate"
"""What templates say that refuse two turns of one role in a row."""
_SPACES = {"Ċ": "\n", "Ġ": " ", "ĉ": "\t", "č": "\r", "▁": " ", "\n": "\n", "\t": "\t", "\r": "\r", " ": " "}
"""How vocabularies write white space: byte-level BPE, SentencePiece, and plain."""


class NotInVocabulary(Exception):
    """The vocabulary lacks a token without which the format cannot be read."""


@dataclass(frozen=True, slots=True)
class WhiteSpace:
    """Say which ids are white space.

    Args:
        texts: text by id, of ids that are nothing but white space.
        line_ends: ids whose text ends in a line break, rising.
    """

    texts: dict[int, str]
    line_ends: Ids

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> WhiteSpace:
        """Look through a vocabulary, once for each."""
        return _white_space(tokenizer)

    def beginning_with(self, text: str) -> Ids:
        """Return the ids whose text begins with some white space, rising."""
        return tuple(sorted(i for i, space in self.texts.items() if space.startswith(text)))

    def equal_to(self, text: str) -> Ids:
        """Return the ids of this very text, rising."""
        return tuple(sorted(i for i, space in self.texts.items() if space == text))


@lru_cache(maxsize=4)
def _white_space(tokenizer: Tokenizer) -> WhiteSpace:
    vocabulary = tokenizer.vocabulary()
    texts = {
        i: _as_space(token) for token, i in vocabulary.items() if token[:1] in _SPACES or token[:1] == "<"
    }
    ends = [i for token, i in vocabulary.items() if token.endswith(("Ċ", "\n", "<0x0A>"))]
    return WhiteSpace({i: text for i, text in texts.items() if text}, tuple(sorted(ends)))


def _as_space(token: str) -> str:
    if token == "<0x0A>":
        return "\n"
    return "".join(_SPACES[c] for c in token) if all(c in _SPACES for c in token) else ""


def compile_format(
    chat: ChatFormat, tokenizer: Tokenizer, known: Known[str], train_on: TrainOn = UNDECLARED
) -> ChatMarkers:
    """Return the markers of a format as ids.

    Raises:
        NotInVocabulary: with the token that is missing.
    """
    space = WhiteSpace.of(tokenizer)
    texts = chat.markers
    eos = tokenizer.spec.eos_ids
    if chat.needs_eos:
        if eos is None:
            raise NotInVocabulary("the tokenizer names no eos_token, which ends an answer")
        texts += tuple(close(name, tail=chat.eos_tail) for name in _texts_of(tokenizer, eos.value))
    examples = [e for e in written_examples(tokenizer) if _is_written_so(e, texts)]
    omitting = _without_tails(texts, examples)
    markers = tuple(m for text in texts for m in compile_marker(text, tokenizer, space, omitting))
    ends = [m.ids[0] for m in markers if m.effect is Effect.CLOSE]
    ends += [tokenizer.added_tokens[stop] for stop in chat.stops if stop in tokenizer.added_tokens]
    if chat.ends_at_next_header and eos is not None:
        ends += eos.value
    return ChatMarkers(
        name=chat.name,
        markers=markers,
        end_of_turn_ids=tuple(dict.fromkeys(ends)),
        ends_at_next_header=chat.ends_at_next_header,
        closed_roles=chat.closed_roles,
        alternates=chat.alternates or _MUST_ALTERNATE in tokenizer.template,
        repeats_begin=_repeats_begin(tokenizer, examples) if examples else chat.repeats_begin,
        opens_calls=chat.opens_calls,
        line_end_ids=space.line_ends if any(m.place & Place.LINE for m in markers) else (),
        train_on=train_on,
        spellings=spellings_of(markers, tokenizer),
        known=known,
    )


def _is_written_so(example: str, markers: Sequence[TextMarker]) -> bool:
    """Tell whether a chat has headers of this format: its name may be given for the template of another."""
    headers = [m for m in markers if m.effect is Effect.OPEN and m.text in example]
    return {Role.USER, Role.ASSISTANT} <= {m.role for m in headers}


def _repeats_begin(tokenizer: Tokenizer, examples: Sequence[str]) -> bool:
    """Tell whether chats hold the begin token again behind their beginning."""
    begin = tokenizer.special_texts.get("bos_token", "")
    return begin != "" and any(begin in example[1:] for example in examples)


def _texts_of(tokenizer: Tokenizer, ids: Ids) -> list[str]:
    return [text for text, i in tokenizer.added_tokens.items() if i in ids]


def compile_marker(
    text: TextMarker, tokenizer: Tokenizer, space: WhiteSpace, omitting: frozenset[Effect] = frozenset()
) -> tuple[Marker, ...]:
    """Return the variants of one marker; none when the vocabulary lacks it and it is not needed.

    Args:
        text: the marker.
        tokenizer: whose ids.
        space: white space of its vocabulary.
        omitting: kinds of markers behind which the tokenizer's own template omits tails.

    Raises:
        NotInVocabulary: it is needed.
    """
    added = set(tokenizer.added_tokens.values())
    variants = dict(_variants(text, tokenizer))
    if not text.is_text:
        variants = {ids: has_tail for ids, has_tail in variants.items() if not added.isdisjoint(ids)}
    if not variants and text.is_needed:
        raise NotInVocabulary(f"{text.text} is no token of its own in this vocabulary")
    tail = _tail(text, tokenizer, space, is_due="\n" in text.tail and text.effect not in omitting)
    return tuple(
        Marker(
            ids=ids,
            anchor=max(range(len(ids)), key=lambda at, ids=ids: (ids[at] in added, ids[at])),  # type: ignore[misc]
            lead=space.equal_to(text.lead) if text.lead else (),
            tail=Tail() if has_tail else tail,
            **{name: getattr(text, name) for name in _COPIED},
        )
        for ids, has_tail in variants.items()
    )


def _variants(marker: TextMarker, tokenizer: Tokenizer) -> Iterator[tuple[Ids, bool]]:
    """Yield the ids of a text in many surroundings, and whether white space behind it is among them."""
    before: tuple[str, ...] = _BEFORE
    if marker.is_text:
        before += tuple(text for text, i in tokenizer.added_tokens.items() if i in _text_ends(tokenizer))
    for left in before:
        for right in (*_AFTER, marker.tail, marker.tail + "a"):
            found = _ids_of(tokenizer, left, marker.text, right)
            if found is not None:
                yield found


def _text_ends(tokenizer: Tokenizer) -> Ids:
    spec = tokenizer.spec
    return (spec.eos_ids.value if spec.eos_ids else ()) + ((spec.bos_id.value,) if spec.bos_id else ())


def _ids_of(tokenizer: Tokenizer, left: str, text: str, right: str) -> tuple[Ids, bool] | None:
    """Return the ids of `text` between its neighbours; none where they share a token that says something."""
    whole = left + text + right
    start, stop = len(left), len(left) + len(text)
    ids, offsets = tokenizer.encode(whole)
    inside = [(i, a, b) for i, (a, b) in zip(ids, offsets, strict=True) if b > a and b > start and a < stop]
    if not inside or whole[inside[0][1] : start].strip() or whole[stop : inside[-1][2]].strip():
        return None
    return tuple(i for i, _, _ in inside), inside[-1][2] > stop


def _tail(marker: TextMarker, tokenizer: Tokenizer, space: WhiteSpace, *, is_due: bool) -> Tail:
    """Return what belongs to a marker if it follows."""
    if not marker.tail:
        return Tail()
    whole = marker.text + marker.tail + "a"
    start, stop = len(marker.text), len(marker.text) + len(marker.tail)
    ids, offsets = tokenizer.encode(whole)
    inside = ((i, whole[a:b]) for i, (a, b) in zip(ids, offsets, strict=True) if start <= a < stop)
    run = tuple(i for i, text in inside if text.isspace())
    return Tail(space.beginning_with(marker.tail), (run,) if len(run) > 1 else (), is_due)


def _without_tails(markers: Sequence[TextMarker], examples: Sequence[str]) -> frozenset[Effect]:
    """Return the kinds of markers behind which chats go on with something else than the marker's tail."""
    return frozenset(m.effect for m in markers for example in examples if _omits(example, m))


def _omits(example: str, marker: TextMarker) -> bool:
    """Tell whether a chat does; behind the end of the last turn templates write what ends the chat."""
    behind = example.split(marker.text)[1:]
    if marker.effect is Effect.CLOSE:
        behind = behind[:-1]
    return any(text and not text.startswith(marker.tail) for text in behind)
