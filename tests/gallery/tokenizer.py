r"""A toy tokenizer with a word for a token, that writes text back as it was: spaces belong to the words.

    The old river\n        The · ␠old · ␠river · \n

It splits as GPT-2 does, so that decoded places read like text, and holds just the words of `texts.py`.
"""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from tests.gallery import texts

__all__ = ["BEGIN", "END", "PAD", "TURN_END", "TURN_START", "encode", "vocabulary_size", "write_tokenizer"]

PAD, BEGIN, END, TURN_START, TURN_END = range(5)
SPECIALS = ("<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>")
_N_DRAWN = 800
_TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)


def encode(text: str) -> list[int]:
    """Return the ids of a text; special tokens in it count as such.

    Raises:
        ValueError: a word that the tokenizer does not hold.
    """
    ids: list[int] = _tokenizer().encode(text, add_special_tokens=False).ids
    if PAD in ids:
        raise ValueError(f"a word is missing in the vocabulary: {text!r}")
    return ids


def vocabulary_size() -> int:
    """Return the number of ids."""
    return len(_vocabulary())


def write_tokenizer(folder: Path, *, is_chat: bool) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`.

    Args:
        folder: where to; it is made.
        is_chat: with a chat template, whose end of turn is the end token.
    """
    folder.mkdir(parents=True, exist_ok=True)
    end = SPECIALS[TURN_END if is_chat else END]
    names = {"pad_token": SPECIALS[PAD], "bos_token": SPECIALS[BEGIN], "eos_token": end}
    config = {**names, "chat_template": _TEMPLATE} if is_chat else names
    (folder / "tokenizer.json").write_text(_table(), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_str(_table())


@cache
def _table() -> str:
    """Return the tokenizer as JSON, written by hand."""
    bytes_of = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [
        {"id": i, "content": word, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for i, word in enumerate(SPECIALS)
    ]
    table = {
        "version": "1.0",
        **dict.fromkeys(("truncation", "padding", "normalizer", "post_processor")),
        "pre_tokenizer": {"type": "ByteLevel", **bytes_of},
        "decoder": {"type": "ByteLevel", **bytes_of},
        "added_tokens": added,
        "model": {"type": "WordLevel", "vocab": _vocabulary(), "unk_token": SPECIALS[PAD]},
    }
    return json.dumps(table)


@cache
def _vocabulary() -> dict[str, int]:
    """Return all words, with and without a space before them, and what stands in many drawn texts."""
    from tokenizers import pre_tokenizers

    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words = [word for listed in texts.WORDS.values() for text in listed for word in text.split("~")]
    spelled = [form for word in words for form in (word, word.capitalize(), f"{word}s")]
    drawn = " ".join(f"{word} _{word} {word}" for word in spelled)
    pieces = {piece for text in (*_drawn(), drawn) for piece, _ in split.pre_tokenize_str(text)}
    return {word: i for i, word in enumerate((*SPECIALS, *sorted(pieces)))}


def _drawn() -> list[str]:
    rng = random.Random(0)
    found = ["system\nuser\nassistant\ntool\n", "An an an"]
    for _ in range(_N_DRAWN):
        found += [texts.prose(rng, 2, language) for language in texts.LANGUAGES]
        found += [texts.code(rng, 2), f"{texts.system(rng)}\n{texts.question(rng)}", texts.answer(rng, 2)]
    return found
