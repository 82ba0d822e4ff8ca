"""Small tokenizers with the real special tokens of each format, and conversations with known roles."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from packlint.chat.compile import compile_format
from packlint.chat.formats import FORMATS
from packlint.chat.tokenizer import Tokenizer, load_tokenizer
from packlint.model.arrays import Int64Array, IntArray
from packlint.model.id_places import IdPlaces, find_ids
from packlint.model.marker_table import table_of
from packlint.model.markers import ChatMarkers
from packlint.model.roles import Roles
from packlint.model.spec import Known, Origin
from packlint.model.turns import find_roles
from tests.chat.renderings import BOS, EOS, SPECIALS, Message, Piece, render

__all__ = [
    "CONVERSATION",
    "Labelled",
    "anchors_in",
    "chats",
    "join",
    "label",
    "rendered",
    "roles_of",
    "save",
    "toy",
    "with_ends",
]

CONVERSATION = (
    Message("system", "You are helpful.\nBe  brief."),
    Message("user", "What is the weather?"),
    Message("assistant", "", call='{"name": "look", "arguments": {"x": 1}}'),
    Message("tool", '{"sun": 3}'),
    Message("assistant", "It is sunny.", thinking="Hm, let me see."),
    Message("user", "And\n\ntomorrow: why? "),
    Message("assistant", "Rain. ### done"),
)
_CORPUS = (
    "You are helpful. What is the weather? It is sunny, and rain tomorrow: why? let me see.\n\n",
    "Below is an instruction that describes a task. Write a response.\n\n### Instruction:\nuser\n\n",
    "### Response:\nassistant\nA chat between a curious user and an artificial assistant. USER: ASSISTANT:",
    'system developer tool functions.look to=assistant commentary analysis final {"name": "look"} [x] <b/>\n',
)


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Ids of a text, and what each is.

    Args:
        ids: `int64[token]`.
        roles: `int64[token]`.
        turns: `int64[token]`, -1 outside any.
        parts: `int64[token]`.
    """

    ids: Int64Array
    roles: Int64Array
    turns: Int64Array
    parts: Int64Array

    def __getitem__(self, at: slice) -> Labelled:
        return Labelled(self.ids[at], self.roles[at], self.turns[at], self.parts[at])


def label(pieces: list[Piece], tokenizer: Tokenizer, *, is_plain: bool = False) -> Labelled:
    """Encode a rendered text; a token is whose its first character is that is no white space.

    Args:
        pieces: the text.
        tokenizer: encodes it.
        is_plain: special tokens in the text are ordinary text.
    """
    text = "".join(piece.text for piece in pieces)
    owners = [at for at, piece in enumerate(pieces) for _ in piece.text]
    ids, offsets = tokenizer.encode_plain(text) if is_plain else tokenizer.encode(text)
    mine = [pieces[owners[_first(text, start, stop)]] for start, stop in offsets]
    return Labelled(
        np.array(ids, np.int64),
        np.array([p.role for p in mine], np.int64),
        np.array([p.turn for p in mine], np.int64),
        np.array([p.part for p in mine], np.int64),
    )


def join(parts: Sequence[Labelled]) -> Labelled:
    """Lay what was encoded end to end."""
    fields = ("ids", "roles", "turns", "parts")
    return Labelled(*(np.concatenate([getattr(part, name) for part in parts]) for name in fields))


def _first(text: str, start: int, stop: int) -> int:
    return next((at for at in range(start, stop) if not text[at].isspace()), start)


def save(name: str, kind: str, folder: Path, template: str = "") -> Path:
    """Write a tokenizer with the special tokens of a format, and the file beside it; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    build(name, kind).save(str(folder / "tokenizer.json"))
    config = {"eos_token": EOS[name], "bos_token": BOS.get(name), "chat_template": template or None}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def build(name: str, kind: str) -> Any:
    """Return a tokenizer of the package `tokenizers`."""
    return (_byte_level if kind == "byte-level" else _sentencepiece)(name)


def _byte_level(name: str) -> Any:
    from tokenizers import Tokenizer as Inner
    from tokenizers import decoders, models, pre_tokenizers, trainers

    inner = Inner(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=alphabet, show_progress=False)
    inner.train_from_iterator(_CORPUS * 3, trainer)
    inner.add_special_tokens(list(SPECIALS[name]))
    return inner


def _sentencepiece(name: str) -> Any:
    """Return characters, bytes for the rest, and a space before every text: as Llama 2 has it."""
    from tokenizers import AddedToken, decoders, models, normalizers
    from tokenizers import Tokenizer as Inner

    space = "\u2581"
    characters = [*sorted(set("".join(_CORPUS)) - {"\n", " "}), space]
    words = [space + c for c in characters if c != space]
    vocabulary = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), *characters, *words]
    merges = [(space, word[1:]) for word in words]
    ids = {token: at for at, token in enumerate(vocabulary)}
    inner = Inner(models.BPE(vocab=ids, merges=merges, unk_token="<unk>", byte_fallback=True))
    inner.normalizer = normalizers.Sequence([normalizers.Prepend(space), normalizers.Replace(" ", space)])
    inner.decoder = decoders.Sequence(
        [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    inner.add_special_tokens([AddedToken(t, normalized=False) for t in SPECIALS[name]])
    return inner


@cache
def toy(name: str, kind: str, folder: str) -> tuple[Tokenizer, ChatMarkers]:
    """Return a toy tokenizer and the markers of the format, made once for each folder."""
    tokenizer = load_tokenizer(save(name, kind, Path(folder) / f"{name}-{kind}"))
    markers = compile_format(FORMATS[name], tokenizer, Known(name, Origin.CONFIG))
    return tokenizer, with_ends(markers, tokenizer)


def with_ends(markers: ChatMarkers, tokenizer: Tokenizer) -> ChatMarkers:
    """Let the tokenizer's own begin and end tokens count, as `readers.settle` does."""
    spec = tokenizer.spec
    bos = spec.bos_id.value if spec.bos_id else None
    return markers.with_text_ends(spec.eos_ids.value if spec.eos_ids else (), bos)


def roles_of(ids: Int64Array, lengths: list[int], markers: ChatMarkers) -> Roles:
    """Return the roles of segments laid end to end; ids after the last one are padding."""
    stops = np.cumsum(np.array(lengths, np.int64))
    starts = stops - np.array(lengths, np.int64)
    return find_roles(ids, starts, stops, markers, anchors_in(ids, markers))


def anchors_in(ids: IntArray, markers: ChatMarkers) -> IdPlaces:
    """Return where the ids stand that markers are searched by."""
    return find_ids(ids, table_of(markers).anchors)


_TEXTS = st.lists(
    st.sampled_from(
        ["You", " are", " helpful", "\n", " rain", ": why?", " {x}", "3", " <b>", "\n\n- let", " "]
    ),
    min_size=1,
    max_size=6,
).map(lambda words: "It" + "".join(words))
_CALLS = st.just('{"name": "look"}')


@st.composite
def chats(draw: st.DrawFn) -> list[Message]:
    """Draw a conversation: a system text or none, then rounds of user, calls of tools, and answers."""
    messages = [Message("system", draw(_TEXTS))] if draw(st.booleans()) else []
    for _ in range(draw(st.integers(1, 3))):
        messages.append(Message("user", draw(_TEXTS)))
        for _ in range(draw(st.integers(0, 2))):
            messages.append(Message("assistant", "", call=draw(_CALLS)))
            messages += [Message("tool", draw(_TEXTS)) for _ in range(draw(st.integers(1, 2)))]
        thinking = draw(_TEXTS) if draw(st.booleans()) else ""
        messages.append(Message("assistant", draw(_TEXTS), thinking=thinking))
    return messages


def rendered(name: str, messages: list[Message], tokenizer: Tokenizer) -> Labelled:
    """Return a conversation in a format, with the role of every id."""
    return label(render(name, messages), tokenizer)
