"""A tokenizer.json and its special tokens; needs the extra `tokenizers`, imported on first use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from packlint.errors import UsageError
from packlint.model.spec import DatasetSpec, Known, Origin

__all__ = ["Tokenizer", "load_tokenizer"]

_CONFIG_FILES = ("tokenizer_config.json", "special_tokens_map.json")
_ANCHOR = "a"


@dataclass(frozen=True, slots=True, eq=False)
class Tokenizer:
    """Turn ids into text.

    Args:
        spec: what the tokenizer says of the conventions.
        n_ids: ids run from 0 to this, exclusive.
        template: text of the chat template, or empty.
        template_source: name of the file that it stands in.
        added_tokens: ids of tokens that are never split, by their text.
        special_texts: special tokens by the names under which templates ask for them, such as `bos_token`.
    """

    spec: DatasetSpec
    n_ids: int
    template: str
    template_source: str
    added_tokens: Mapping[str, int] = field(repr=False)
    _inner: Any = field(repr=False)
    special_texts: Mapping[str, str] = field(default_factory=dict, repr=False)
    _pieces: dict[int, str] = field(default_factory=dict, repr=False)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens kept; an unknown id reads `<id 99999>`."""
        runs = groupby(ids, key=self._is_known)
        return "".join(self._known(list(run)) if known else _unknown(run) for known, run in runs)

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each id by itself, its leading space kept."""
        return [self._piece(i) for i in ids]

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return ids and the characters `[start, stop)` that each stands for; nothing is added."""
        encoding = self._inner.encode(text, add_special_tokens=False)
        return list(encoding.ids), list(encoding.offsets)

    def encode_all(self, texts: Sequence[str], *, adds_specials: bool) -> list[list[int]]:
        """Return the ids of many texts, with the tokens that the tokenizer puts around a text or without."""
        return [found.ids for found in self._inner.encode_batch_fast(texts, add_special_tokens=adds_specials)]

    def encode_placed(
        self, texts: Sequence[str], *, adds_specials: bool
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Return the same, each with the characters `[start, stop)` that its ids stand for.

        A token that the tokenizer adds stands for none: `(0, 0)`.
        """
        found = self._inner.encode_batch(texts, add_special_tokens=adds_specials)
        return [(encoding.ids, encoding.offsets) for encoding in found]

    def encode_plain(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the same, with special tokens split like any other text."""
        self._inner.encode_special_tokens = True
        try:
            return self.encode(text)
        finally:
            self._inner.encode_special_tokens = False

    def vocabulary(self) -> dict[str, int]:
        """Return all ids by the token as the vocabulary writes it (`Ċ` or `<0x0A>` for a line break)."""
        return dict(self._inner.get_vocab(with_added_tokens=True))

    def _is_known(self, token_id: int) -> bool:
        return 0 <= token_id < self.n_ids and self._inner.id_to_token(token_id) is not None

    def _known(self, ids: list[int]) -> str:
        return str(self._inner.decode(ids, skip_special_tokens=False))

    def _piece(self, token_id: int) -> str:
        if token_id not in self._pieces:
            self._pieces[token_id] = self._decode_alone(token_id)
        return self._pieces[token_id]

    def _decode_alone(self, token_id: int) -> str:
        """Decode behind an anchor, as decoders drop the space that a text begins with."""
        if not self._is_known(token_id):
            return _unknown([token_id])
        anchor = self._inner.encode(_ANCHOR, add_special_tokens=False).ids
        before, both = self._known(anchor), self._known([*anchor, token_id])
        return both[len(before) :] if both.startswith(before) else self._known([token_id])


def load_tokenizer(path: str | Path) -> Tokenizer:
    """Return the tokenizer of a tokenizer.json, or of the folder that holds it.

    Raises:
        UsageError: the package `tokenizers` is missing, or the file is.
    """
    return _load(str(path))


@lru_cache(maxsize=4)
def _load(path: str) -> Tokenizer:
    try:
        from tokenizers import Tokenizer as Inner
    except ImportError:
        raise UsageError(
            "--tokenizer needs the package tokenizers: run pip install 'packlint[tokenizers]'"
        ) from None
    file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
    if not file.is_file():
        raise UsageError(f"tokenizer {path}: no tokenizer.json here")
    try:
        inner = Inner.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:  # `tokenizers` raises plain Exception for a file it cannot parse
        raise UsageError(f"tokenizer {path}: cannot be read: {error}") from None
    n_ids = max(inner.get_vocab(with_added_tokens=True).values(), default=-1) + 1
    template, source = _template(file.parent)
    added = {token.content: i for i, token in inner.get_added_tokens_decoder().items()}
    inner.no_truncation()  # a length that training was to keep to says nothing of what is read here
    inner.no_padding()
    texts = dict(_special_texts(file.parent))
    return Tokenizer(_spec(file.parent, inner, n_ids), n_ids, template, source, added, inner, texts)


def _template(folder: Path) -> tuple[str, str]:
    """Return the chat template and where it stands; a file of its own wins, as in transformers."""
    file = folder / "chat_template.jinja"
    if file.is_file():
        try:
            return file.read_text(encoding="utf-8"), file.name
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{file.name}: cannot be read: {error}") from None
    stored = _table(folder / "tokenizer_config.json").get("chat_template")
    if isinstance(stored, list):  # several templates by name; the one called default is the chat
        named = {entry.get("name"): entry.get("template") for entry in stored if isinstance(entry, dict)}
        stored = named.get("default")
    return (stored, "tokenizer_config.json") if isinstance(stored, str) else ("", "")


def _spec(folder: Path, inner: Any, n_ids: int) -> DatasetSpec:
    named = dict(_special_ids(folder, inner))
    eos = named.get("eos_token")
    return DatasetSpec(
        vocab_size=Known(n_ids, Origin.TOKENIZER, "tokenizer.json, added tokens included"),
        pad_id=named.get("pad_token"),
        bos_id=named.get("bos_token"),
        eos_ids=None if eos is None else Known((eos.value,), eos.origin, eos.why),
    )


def _special_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield special tokens by name; what tokenizer_config.json says comes last and so wins."""
    for name in reversed(_CONFIG_FILES):
        for key, value in _table(folder / name).items():
            content = _content(value)
            if content is not None and key.endswith("_token"):
                yield key, content


def _special_ids(folder: Path, inner: Any) -> Iterator[tuple[str, Known[int]]]:
    """Yield the special ids; what tokenizer_config.json says comes last and so wins."""
    for name in reversed(_CONFIG_FILES):
        table = _table(folder / name)
        for key in ("pad_token", "bos_token", "eos_token"):
            content = _content(table.get(key))
            token_id = None if content is None else inner.token_to_id(content)
            if token_id is not None:
                yield key, Known(token_id, Origin.TOKENIZER, f"{name}: {key} is {content}")


def _table(file: Path) -> Mapping[str, Any]:
    try:
        table = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{file.name}: cannot be read: {error}") from None
    return table if isinstance(table, dict) else {}


def _content(token: object) -> str | None:
    """Return the text of a special token, which is a string or an AddedToken as a table."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def _unknown(ids: Sequence[int] | Iterator[int]) -> str:
    return "".join(f"<id {token_id}>" for token_id in ids)
