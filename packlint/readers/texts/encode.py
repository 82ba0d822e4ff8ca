"""Rows of text → token ids, and labels where prompt and answer can be told apart.

    text        <s> a b c                        no labels: every token is learnt
    prompt      <s> a b | c d </s>               a token that begins before the end of the prompt is prompt
    labels       -   -  -   c d </s>
    messages    <|user|> a <|assistant|> b c     what {% generation %} encloses, as transformers masks it
    labels         -     -      -        b c

Source: `SFTTrainer._prepare_dataset` in `trl/trainer/sft_trainer.py` (trl 1.16.0); `apply_chat_template` in
`transformers/tokenization_utils_base.py` (transformers 4.57). TRL finds the prompt's end by tokenizing it
once more; the two differ where a token spans the end of the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np

from packlint.chat.render import ChatTemplate, LimitError, RenderError
from packlint.chat.tokenizer import Tokenizer
from packlint.errors import UnreadableError
from packlint.model.arrays import IntArray
from packlint.model.labels import IGNORE_INDEX
from packlint.readers.shard import Role
from packlint.readers.texts.columns import TextColumns, TextKind
from packlint.readers.texts.tables import Row
from packlint.readers.values import BadRowError

__all__ = ["Encoded", "Encoder", "Prepared", "Text", "batches"]

MAX_CHARS = 1 << 24
"""Characters of one row; a tokenizer takes about 100 bytes of memory for each token."""
BATCH_CHARS, _BATCH_ROWS = 1 << 20, 1 << 10
"""What is tokenized at a time."""
_MOST_RUNAWAYS = 3
"""Rows after which a template that ran into its limits each time is not tried again."""

_ALWAYS = frozenset({"role", "content"})
_OURS = frozenset({"messages", "is_prompt", "add_generation_prompt"})

_T = TypeVar("_T")
_Spans = tuple[tuple[int, int], ...]

Encoded: TypeAlias = Mapping[Role, IntArray] | BadRowError
"""A row's columns, or why there are none."""


@dataclass(frozen=True, slots=True)
class Text:
    """Hold a row that is ready to be tokenized.

    Args:
        text: the whole text.
        is_chat: a template wrote it, special tokens and all.
        answers: characters `[start, stop)` that are learnt; none when all are.
        prompt_stop: where the prompt ends, none when there is none.
    """

    text: str
    is_chat: bool
    answers: _Spans | None = None
    prompt_stop: int | None = None

    def labels(self, ids: IntArray, places: Sequence[tuple[int, int]]) -> IntArray:
        """Return `int32[token]`, the ids that are learnt and the ignored label elsewhere."""
        starts, stops = np.array(places, np.int64).reshape(-1, 2).T
        is_learnt = np.ones(ids.size, np.bool_)
        if self.prompt_stop is not None:
            is_learnt = starts >= self.prompt_stop
            # What the tokenizer adds at the end stands for no characters, and ends the answer.
            real = np.flatnonzero(stops > starts)
            is_learnt[real[-1] + 1 if real.size else ids.size :] = True
        elif self.answers is not None:
            is_learnt[:] = False
            for start, stop in self.answers:
                is_learnt |= (starts < stop) & (stops > start)
        return np.where(is_learnt, ids, np.int32(IGNORE_INDEX)).astype(np.int32)


Prepared: TypeAlias = Text | BadRowError
"""A row that is ready to be tokenized, or why there is none."""


class Encoder:
    """Turn rows into token ids; several threads may use it."""

    def __init__(self, tokenizer: Tokenizer, columns: TextColumns, template: ChatTemplate | None) -> None:
        """Take what encodes.

        Args:
            tokenizer: turns text into ids.
            columns: where the text stands.
            template: writes messages; none where no row holds any.
        """
        self._tokenizer, self._columns, self._template = tokenizer, columns, template
        marks_answers = template is not None and template.marks_generation
        is_told = {TextKind.PROMPT: True, TextKind.MESSAGES: marks_answers, TextKind.TEXT: False}
        self.has_labels = is_told[columns.kind]

    def prepared(self, rows: Iterable[tuple[int, Row]]) -> Iterator[tuple[int, Prepared]]:
        """Yield rows with their messages written out, or why that cannot be.

        Raises:
            UnreadableError: the chat template runs away on one row after the other.
        """
        n_runaways = 0
        for number, row in rows:
            try:
                if isinstance(row, BadRowError):
                    raise row
                yield number, self._checked(self._written(row))
            except BadRowError as bad:
                yield number, bad
            except RenderError as error:
                yield number, BadRowError("SHD001", f"chat template: {error}")
            except LimitError as error:
                n_runaways += 1
                yield number, BadRowError("SHD001", f"chat template: {error}")
                if n_runaways >= _MOST_RUNAWAYS:
                    raise UnreadableError(f"row {number}: the chat template runs away: {error}") from None

    def encode(self, texts: Sequence[Prepared], *, with_labels: bool) -> list[Encoded]:
        """Return the columns of rows in the same order.

        Args:
            texts: rows as `prepared` gives them.
            with_labels: labels are wanted, if there are any.
        """
        found: list[Encoded] = [text if isinstance(text, BadRowError) else {} for text in texts]
        for is_chat in (False, True):
            places = [
                at for at, text in enumerate(texts) if isinstance(text, Text) and text.is_chat is is_chat
            ]
            chosen = [text for text in texts if isinstance(text, Text) and text.is_chat is is_chat]
            encoded = self._encoded(chosen, not is_chat, with_labels and self.has_labels)
            for at, columns in zip(places, encoded, strict=True):
                found[at] = columns
        return found

    def _encoded(self, texts: Sequence[Text], adds_specials: bool, with_labels: bool) -> list[Encoded]:
        """Tokenize all at once; where the tokenizer refuses, one by one, to tell which row it is."""
        if not texts:
            return []
        try:
            return self._tokenized(texts, adds_specials, with_labels)
        except Exception as error:  # `tokenizers` raises plain Exception for a text that it cannot encode
            if len(texts) == 1:
                return [BadRowError("SHD001", f"tokenizer: {(str(error).splitlines() or ['fails'])[0]}")]
            return [one for text in texts for one in self._encoded([text], adds_specials, with_labels)]

    def _tokenized(self, texts: Sequence[Text], adds_specials: bool, with_labels: bool) -> list[Encoded]:
        plain = [text.text for text in texts]
        if not with_labels:
            encoded = self._tokenizer.encode_all(plain, adds_specials=adds_specials)
            return [{Role.INPUT_IDS: np.array(ids, np.int32)} for ids in encoded]
        found: list[Encoded] = []
        for text, (listed, places) in zip(
            texts, self._tokenizer.encode_placed(plain, adds_specials=adds_specials), strict=True
        ):
            ids = np.array(listed, np.int32)
            found.append({Role.INPUT_IDS: ids, Role.LABELS: text.labels(ids, places)})
        return found

    def _written(self, row: Mapping[str, Any]) -> Text:
        first = _stored(row, self._columns.names[0])
        if self._columns.kind is TextKind.TEXT:
            return Text(_demanded(first, str, "text"), is_chat=False)
        if self._columns.kind is TextKind.MESSAGES:
            return self._chat(row, _demanded(first, list, "messages"))
        completion = _stored(row, self._columns.names[1])
        if not self._columns.is_chat:
            prompt = _demanded(first, str, "prompt")
            return Text(
                prompt + _demanded(completion, str, "completion"), is_chat=False, prompt_stop=len(prompt)
            )
        messages = _demanded(first, list, "prompt")
        whole = self._chat(row, messages + _demanded(completion, list, "completion")).text
        before = self._chat(row, messages, is_prompt=True).text
        stop = len(before) if whole.startswith(before) else _n_alike(before, whole)
        return Text(whole, is_chat=True, prompt_stop=stop)

    def _chat(self, row: Mapping[str, Any], messages: list[Any], is_prompt: bool = False) -> Text:
        assert self._template is not None, "columns of messages come with a template"
        written = self._template.render(
            [_without_nulls(message) for message in messages], is_prompt=is_prompt, **self._told(row)
        )
        answers = written.spans if self._template.marks_generation else None
        return Text(written.text, is_chat=True, answers=answers)

    def _told(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the template is told beside the messages, as TRL tells it."""
        told: dict[str, Any] = {}
        if row.get("tools"):
            told["tools"] = _from_json(row["tools"])
        more = _from_json(row.get("chat_template_kwargs"))
        if "chat_template_kwargs" in self._columns.extras and isinstance(more, Mapping):
            told |= {str(name): value for name, value in more.items() if value is not None}
        return {name: value for name, value in told.items() if name not in _OURS}

    @staticmethod
    def _checked(text: Text) -> Text:
        if len(text.text) > MAX_CHARS:
            raise BadRowError(
                "SHD001", f"the row holds {len(text.text)} characters, at most {MAX_CHARS} are read"
            )
        try:
            text.text.encode()
        except UnicodeEncodeError as error:
            raise BadRowError("SHD001", f"character {error.start} is half of a surrogate pair") from None
        return text


def batches(texts: Iterable[tuple[int, Prepared]]) -> Iterator[list[tuple[int, Prepared]]]:
    """Yield rows as many at a time as are tokenized together.

    Raises:
        UnreadableError: of the rows, after those before it.
    """
    batch: list[tuple[int, Prepared]] = []
    n_chars = 0
    try:
        for number, text in texts:
            batch.append((number, text))
            n_chars += len(text.text) if isinstance(text, Text) else 0
            if n_chars >= BATCH_CHARS or len(batch) >= _BATCH_ROWS:
                yield batch
                batch, n_chars = [], 0
    except UnreadableError:
        yield batch
        raise
    if batch:
        yield batch


def _stored(row: Mapping[str, Any], name: str) -> Any:
    if row.get(name) is None:
        raise BadRowError("SHD005", f"{name} is {'null' if name in row else 'missing'}")
    return row[name]


def _demanded(value: Any, kind: type[_T], name: str) -> _T:
    if not isinstance(value, kind):
        raise BadRowError("SHD001", f"{name} is a {type(value).__name__}, expected a {kind.__name__}")
    return value


def _n_alike(before: str, whole: str) -> int:
    """Return how many characters two texts begin alike: a template may write a prompt in two ways."""
    pairs = enumerate(zip(before, whole, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(before), len(whole)))


def _without_nulls(message: object) -> object:
    """Leave out keys that only other messages have: a table has all keys in all of them."""
    if isinstance(message, Mapping):
        kept = ((key, value) for key, value in message.items() if value is not None or key in _ALWAYS)
        return {key: _without_nulls(value) for key, value in kept}
    return [_without_nulls(entry) for entry in message] if isinstance(message, list) else message


def _from_json(value: Any) -> Any:
    """Return what a text of JSON says; tables keep lists of unlike objects so."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
