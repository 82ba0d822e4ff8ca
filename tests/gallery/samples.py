"""Samples in tokens: documents, and conversations whose parts know who speaks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tests.gallery import texts
from tests.gallery.tokenizer import END, encode

__all__ = ["IGNORED", "Part", "Sample", "chats", "document", "trained"]

IGNORED = -100


@dataclass(frozen=True, slots=True)
class Part:
    """Hold a run of tokens of one kind.

    Args:
        kind: `text`, or of a chat `header`, `system`, `user`, `assistant`, `end`, `break`; the header and the
            end of a turn also say whose, as in `assistant end`.
        ids: its tokens.
        is_target: whether the loss asks for them.
    """

    kind: str
    ids: tuple[int, ...]
    is_target: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """Hold one sample before packing.

    Args:
        number: id of the sample.
        parts: its tokens, in order.
        domain: where it comes from.
        language: what it is written in.
    """

    number: int
    parts: tuple[Part, ...]
    domain: str = ""
    language: str = ""

    def __len__(self) -> int:
        return sum(len(part.ids) for part in self.parts)

    @property
    def ids(self) -> list[int]:
        """Its tokens."""
        return [i for part in self.parts for i in part.ids]

    @property
    def labels(self) -> list[int]:
        """Its labels, each at its own token."""
        return [i if part.is_target else IGNORED for part in self.parts for i in part.ids]


def document(number: int, text: str, *, domain: str = "", language: str = "en") -> Sample:
    """Return a text and the token that ends it; the loss asks for all of it."""
    return Sample(number, (Part("text", (*encode(text), END), True),), domain, language)


def chats(rng: random.Random, n: int, *, first: int = 0, longest: int = 5) -> list[Sample]:
    """Return conversations of one or two rounds, in ChatML; the loss asks for answers and their ends.

    Args:
        rng: where chance comes from.
        n: how many.
        first: number of the first.
        longest: sentences of the longest answer.
    """
    return [Sample(first + i, tuple(_rounds(rng, longest)), "chat", "en") for i in range(n)]


def trained(sample: Sample, *kinds: str, by: Callable[[Part], bool] | None = None) -> Sample:
    """Return the sample with other targets: just the parts of some kinds, or those that `by` chooses."""
    wants = by or (lambda part: part.kind in kinds)
    return replace(sample, parts=tuple(replace(part, is_target=wants(part)) for part in sample.parts))


def _rounds(rng: random.Random, longest: int) -> Iterable[Part]:
    if rng.random() < 0.5:
        yield from _turn("system", texts.system(rng))
    for _ in range(rng.choice((1, 1, 2))):
        yield from _turn("user", texts.question(rng))
        yield from _turn("assistant", texts.answer(rng, rng.randint(2, longest)))


def _turn(role: str, text: str) -> Sequence[Part]:
    is_target = role == "assistant"
    return (
        Part(f"{role} header", tuple(encode(f"<|im_start|>{role}\n")), False),
        Part(role, tuple(encode(text)), is_target),
        Part(f"{role} end", tuple(encode("<|im_end|>")), is_target),
        Part("break", tuple(encode("\n")), False),
    )
