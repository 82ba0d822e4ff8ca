"""Converted vocabularies write the ids that the plain form of each algorithm does; see vocabularies.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest

from packlint.chat.tokenizer import Tokenizer
from tests.chat.conversions import NORMAL, SPACE, byte_letters, read_pieces, read_tekken, read_tiktoken
from tests.chat.vocabularies import CONVERTED, folder_of, source_of, vocabulary

pytest.importorskip("tokenizers")

OTHERS = {"llama3": "llama3_1", "qwen": "qwen3", "tekken_240718": "mistral_nemo"}
"""Vocabularies that come as a tokenizer.json too, but for some special tokens."""
_Text = TypeVar("_Text", str, bytes)
ROOT = Path(__file__).parents[2]
TEXTS = (
    *(ROOT / "README.md").read_text(encoding="utf-8").splitlines(keepends=True),
    *Path(__file__).read_text(encoding="utf-8").splitlines(keepends=True),
    "  two  spaces,\ttabs\t\tand\r\nline  ends\n\n\n  \n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ======================= ______________",
    "It's 12345678 + 3.14e-10 = ½; WE'LL see, naïve café",
    "Grüße: 你好世界。ありがとう مرحبا नमस्ते 👋🏽👩\u200d👩\u200d👧 \x00\x7f\ufeff",
)


def merged(parts: list[_Text], rank: Callable[[_Text], float | None]) -> list[_Text]:
    """Merge neighbours, the pair of the lowest rank first and of these the leftmost, until none is left."""
    while True:
        ranks = [(rank(left + right), at) for at, (left, right) in enumerate(pairwise(parts))]
        ranked = [(found, at) for found, at in ranks if found is not None]
        if not ranked:
            return parts
        at = min(ranked)[1]
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


def words(tokenizer: Tokenizer, text: str) -> list[str]:
    """Return a text as its vocabulary splits it before anything is merged."""
    inner: Any = tokenizer._inner
    normal = inner.normalizer.normalize_str(text) if inner.normalizer else text
    return [word for word, _ in inner.pre_tokenizer.pre_tokenize_str(normal)]


def by_bytes(source: Path, tokenizer: Tokenizer, text: str) -> list[int]:
    """Return ids as tiktoken makes them, word by word."""
    ranks, first = (read_tekken(source)[0], 1000) if source.suffix == ".json" else (read_tiktoken(source), 0)
    as_byte = {letter: byte for byte, letter in enumerate(byte_letters())}
    found: list[int] = []
    for word in words(tokenizer, text):
        raw = bytes(as_byte[letter] for letter in word)
        parts = [raw] if raw in ranks else merged([raw[i : i + 1] for i in range(len(raw))], ranks.get)
        found += [ranks[part] + first for part in parts]
    return found


def by_pieces(source: Path, texts: Iterable[str]) -> Iterator[list[int]]:
    """Yield ids of each text as SentencePiece makes them."""
    pieces = read_pieces(source)
    ids = {piece: at for at, (piece, _, _) in enumerate(pieces)}
    costs = {piece: -score for piece, score, kind in pieces if kind == NORMAL}
    for text in texts:
        parts = merged(list(SPACE + text.replace(" ", SPACE)), costs.get)
        yield [
            i
            for part in parts
            for i in ([ids[part]] if part in costs else [ids[f"<0x{byte:02X}>"] for byte in part.encode()])
        ]


def grouped(names: Iterable[str]) -> pytest.MarkDecorator:
    """Run all tests of a vocabulary one after the other, so that it is loaded once."""
    return pytest.mark.parametrize("name", list(names), scope="module")


@grouped(name for name, source in CONVERTED.items() if source.specials)
def test_bytes_are_merged_as_tiktoken_does(name: str) -> None:
    tokenizer, text = vocabulary(name), "".join(TEXTS)
    wanted = by_bytes(source_of(name), tokenizer, text)

    assert tokenizer.encode_plain(text)[0] == wanted
    assert tokenizer.decode(wanted) == text


@grouped(name for name, source in CONVERTED.items() if not source.specials)
def test_characters_are_merged_as_sentencepiece_does(name: str) -> None:
    tokenizer = vocabulary(name)
    for text, wanted in zip(TEXTS, by_pieces(source_of(name), TEXTS), strict=True):
        assert tokenizer.encode_plain(text)[0] == wanted
        assert tokenizer.decode(wanted) == text


@grouped(OTHERS)
def test_others_converted_the_same(name: str) -> None:
    ours, theirs, text = vocabulary(name), vocabulary(OTHERS[name]), "".join(TEXTS)

    assert ours.encode_plain(text) == theirs.encode_plain(text)
    assert (ours.vocabulary().items() - theirs.vocabulary().items()) == {
        (token, i) for token, i in ours.added_tokens.items() if theirs.added_tokens.get(token) != i
    }


def test_the_pattern_of_llama_4_is_that_of_gpt() -> None:
    file = folder_of("gptoss") / "tokenizer.json"

    assert json.dumps(CONVERTED["llama4"].pattern) in file.read_text(encoding="utf-8")
