"""Vocabularies in the forms that model authors ship them → the JSON of a tokenizer.json.

tiktoken        lines of base64 and rank: any two neighbours whose union is a token are merged, by its rank
Tekken          the same as JSON; the special tokens come first
SentencePiece   a protobuf of pieces with score and type: the same with characters, by score; a text is
                escaped first (`▁` for a space, and one before it all), and what has no piece becomes bytes

Only files are read: the packages that bring them are not needed. `test_vocabularies.py` holds what comes out
against the plain form of each algorithm, and against what others converted.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

__all__ = [
    "NORMAL",
    "SPACE",
    "Piece",
    "byte_letters",
    "byte_level",
    "read_pieces",
    "read_tekken",
    "read_tiktoken",
    "sentencepiece",
]

_Text = TypeVar("_Text", str, bytes)
Ranks = Mapping[bytes, int]
Piece = tuple[str, float, int]
"""Text, score and type."""
SPACE = "\u2581"
NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
"""Types of pieces; `sentencepiece_model.proto`, `ModelProto.SentencePiece.Type`."""


def read_tiktoken(file: Path) -> Ranks:
    """Return ranks by token."""
    lines = (line.split() for line in file.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def read_tekken(file: Path) -> tuple[Ranks, str]:
    """Return ranks by token, those that are in use, and the pattern that words are split by."""
    table = json.loads(file.read_text(encoding="utf-8"))
    config = table["config"]
    used = table["vocab"][: config["default_vocab_size"] - config["default_num_special_tokens"]]
    return {base64.b64decode(token["token_bytes"]): token["rank"] for token in used}, config["pattern"]


def read_pieces(file: Path) -> list[Piece]:
    """Return the pieces of a SentencePiece model."""
    found = [dict(_fields(value)) for number, value in _fields(file.read_bytes()) if number == 1]
    return [(p[1].decode(), struct.unpack("<f", p[2])[0], p.get(3, NORMAL)) for p in found]


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of the fields of a protobuf message: integers or bytes."""
    at = 0
    while at < len(message):
        key, at = _integer(message, at)
        kind = key & 7
        value, at = _integer(message, at) if kind in (0, 2) else ({1: 8, 5: 4}[kind], at)
        if kind == 0:
            yield key >> 3, value
        else:
            yield key >> 3, message[at : at + value]
            at += value


def _integer(message: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while message[at] >= 0x80:
        value |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | message[at] << shift, at + 1


def byte_level(
    ranks: Ranks, pattern: str, specials: Sequence[str], *, specials_first: bool = False, nfc: bool = False
) -> dict[str, Any]:
    """Return a vocabulary that merges bytes by rank.

    Args:
        ranks: ranks by token.
        pattern: what words are split by.
        specials: special tokens in the order of their ids.
        specials_first: these ids come before the ranks; else behind them.
        nfc: texts are normalised first.
    """
    letters = byte_letters()
    texts = {token: "".join(letters[byte] for byte in token) for token in ranks}
    first, n_before = (0, len(specials)) if specials_first else (len(ranks), 0)
    special_ids = {text: first + at for at, text in enumerate(specials)}
    words = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    as_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return _tokenizer(
        ids={texts[token]: rank + n_before for token, rank in ranks.items()} | special_ids,
        merges=[(texts[left], texts[right]) for left, right in _merges(sorted(ranks, key=ranks.__getitem__))],
        specials=special_ids,
        model={"ignore_merges": True},  # a word that is a token is looked up at once
        normalizer={"type": "NFC"} if nfc else None,
        pre_tokenizer={"type": "Sequence", "pretokenizers": [words, as_bytes]},
        decoder=as_bytes,
    )


def sentencepiece(pieces: Sequence[Piece]) -> dict[str, Any]:
    """Return a vocabulary that merges characters by score.

    What users defined (`[REF]` in Mistral v7) keeps its id, and no text becomes it.
    """
    ids = {text: at for at, (text, _, _) in enumerate(pieces)}
    scores = {text: score for text, score, kind in pieces if kind == NORMAL}
    replace = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    escape = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
    return _tokenizer(
        ids=ids,
        merges=list(_merges(sorted(scores, key=lambda text: -scores[text]))),
        specials={text: ids[text] for text, _, kind in pieces if kind in (_UNKNOWN, _CONTROL)},
        model={"unk_token": pieces[0][0], "fuse_unk": True, "byte_fallback": True},
        normalizer={
            "type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": SPACE}, escape],
        },
        pre_tokenizer=None,
        decoder={
            "type": "Sequence", "decoders": [replace, {"type": "ByteFallback"}, {"type": "Fuse"}, strip],
        },
    )  # fmt: skip


def _merges(tokens: Sequence[_Text]) -> Iterator[tuple[_Text, _Text]]:
    """Yield every pair whose union is a token, in the order of the tokens."""
    known = frozenset(tokens)
    for token in tokens:
        for at in range(1, len(token)):
            if token[:at] in known and token[at:] in known:
                yield token[:at], token[at:]


def _tokenizer(
    *,
    ids: dict[str, int],
    merges: list[tuple[str, str]],
    specials: Mapping[str, int],
    model: dict[str, Any],
    **stages: dict[str, Any] | None,
) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": at, "content": text, **flags} for text, at in specials.items()],
        **stages,
        "model": {"type": "BPE", "vocab": ids, "merges": merges, **model},
    }


def byte_letters() -> list[str]:
    """Return the character that byte-level vocabularies write for each byte (GPT-2, `bytes_to_unicode`)."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in shown]
    return [chr(byte if byte in shown else 256 + hidden.index(byte)) for byte in range(256)]
