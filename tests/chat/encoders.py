"""What the encoders of model authors write, call by call: a second oracle for the roles of tokens.

`renderings.py` has the text that chat templates write, which is encoded as a whole. These encoders put
special tokens in by id, and encode what stands between them by itself, so that nothing is merged over an
edge, SentencePiece puts a space before each of them, and a special token that somebody quotes is ordinary
text.

Sources: llama_models 0.3.0, `llama3/chat_format.py` and `llama4/chat_format.py`; mistral_common 1.13.1,
`tokens/tokenizers/instruct.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from packlint.chat.tokenizer import Tokenizer
from packlint.model.roles import Part, Role
from tests.chat.renderings import Message, Piece
from tests.chat.toy import Labelled, join, label

__all__ = ["CALL_ID", "ENCODERS", "TOOLS", "encoded"]

S, U, A, F, T = Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.TEMPLATE
NOBODY = -1
_ROLES = {"system": S, "user": U, "assistant": A, "tool": F}
CALL_ID = "abcdefghi"
TOOLS = '[{"type": "function", "function": {"name": "look", "parameters": {}}}]'


@dataclass(frozen=True, slots=True)
class Special:
    """One special token, by id."""

    text: str
    turn: int
    role: Role = T
    part: Part = Part.TEXT


Call = Special | tuple[Piece, ...]
"""A special token, or a text that is encoded by itself."""
Encoder = Callable[[list[Message]], Iterable[Call]]


def encoded(name: str, messages: list[Message], tokenizer: Tokenizer) -> Labelled:
    """Return a conversation as an encoder writes it, with the role of every id."""
    return join([_label(call, tokenizer) for call in ENCODERS[name](messages)])


def _label(call: Call, tokenizer: Tokenizer) -> Labelled:
    if isinstance(call, Special):
        found = label([Piece(call.text, call.role, call.turn, call.part)], tokenizer)
        assert found.ids.tolist() == [tokenizer.added_tokens[call.text]]
        return found
    return label([piece for piece in call if piece.text], tokenizer, is_plain=True)


def _text(text: str, role: Role, turn: int, part: Part = Part.TEXT) -> Call:
    return (Piece(text, role, turn, part),)


def llama3(messages: list[Message]) -> Iterator[Call]:
    """Llama 3.1 and later; code is called behind its tag, and ends the message, not the turn."""
    yield Special("<|begin_of_text|>", NOBODY)
    for turn, message in enumerate(messages):
        yield from _header(message, turn, "<|start_header_id|>", "<|end_header_id|>")
        if message.call:
            yield Special("<|python_tag|>", turn, A, Part.TOOL_CALL)
        yield from _content(message, turn)
        yield Special("<|eom_id|>" if message.call else "<|eot_id|>", turn)


def llama4(messages: list[Message]) -> Iterator[Call]:
    """Llama 4; a call is text, and it is the end of message that tells it; so ends what the tool says."""
    yield Special("<|begin_of_text|>", NOBODY)
    for turn, message in enumerate(messages):
        yield from _header(message, turn, "<|header_start|>", "<|header_end|>")
        yield from _content(message, turn)
        yield Special("<|eom|>" if message.call or message.role == "tool" else "<|eot|>", turn)


def _header(message: Message, turn: int, start: str, stop: str) -> Iterator[Call]:
    yield Special(start, turn)
    yield _text("ipython" if message.role == "tool" else message.role, T, turn)
    yield Special(stop, turn)
    yield _text("\n\n", T, turn)


def _content(message: Message, turn: int) -> Iterator[Call]:
    part = Part.TOOL_CALL if message.call else Part.TEXT
    yield _text(message.call or message.content, _ROLES[message.role], turn, part)


def mistral_v1(messages: list[Message]) -> Iterator[Call]:
    """Mistral 7B v0.1: markers are text and encoded with the user's, the system text before the first."""
    yield Special("<s>", NOBODY)
    talk = [m for m in messages if m.role != "tool" and not m.call]
    system = "".join(f"{m.content}\n\n" for m in talk if m.role == "system")
    turn = NOBODY
    for message in talk:
        if message.role == "user":
            turn += 2
            said = Piece(f"{system}{message.content}", U, turn - 1)
            yield (Piece("[INST] ", T, turn - 1), said, Piece(" [/INST]", T, turn))
            system = ""
        elif message.role == "assistant":
            yield _text(message.content, A, turn)
            yield Special("</s>", turn)


def mistral_v2(messages: list[Message]) -> Iterator[Call]:
    """v2: no tools of earlier rounds."""
    last = max(at for at, m in enumerate(messages) if m.role == "user")
    kept = [m for at, m in enumerate(messages) if at > last or (m.role != "tool" and not m.call)]
    yield from _mistral(kept, lambda text: [{"name": "look", "content": text}])


def mistral_v3(messages: list[Message]) -> Iterator[Call]:
    """v3, as SentencePiece and as Tekken."""
    yield from _mistral(messages, lambda text: {"content": text, "call_id": CALL_ID})


def mistral_v7(messages: list[Message]) -> Iterator[Call]:
    """v7: the system text has tokens of its own, and the id of a call its place before the result."""
    yield from _mistral(messages, None)


def _mistral(messages: list[Message], result: Callable[[object], object] | None) -> Iterator[Call]:
    """Write v2 and later; the tools, and up to v3 the system text, go with the last user.

    Args:
        messages: the conversation.
        result: what the encoder writes for what a tool says; none for v7.
    """
    yield Special("<s>", NOBODY)
    system = "".join(f"{m.content}\n\n" for m in messages if m.role == "system" and result)
    last = max(at for at, m in enumerate(messages) if m.role == "user")
    turn = NOBODY
    for at, message in enumerate(messages):
        follows = messages[at + 1].role if at + 1 < len(messages) else ""
        if message.role == "user":
            if at == last:
                turn += 1
                yield Special("[AVAILABLE_TOOLS]", turn)
                yield _text(TOOLS, S, turn)
                yield Special("[/AVAILABLE_TOOLS]", NOBODY)
            turn += 2
            yield Special("[INST]", turn - 1)
            yield _text((system if at == last else "") + message.content, U, turn - 1)
            yield Special("[/INST]", turn)
        elif message.role == "assistant":
            if message.content:
                yield _text(message.content.rstrip(" "), A, turn)
            if message.call:
                yield Special("[TOOL_CALLS]", turn, A, Part.TOOL_CALL)
                yield _text(f"[{message.call}]", A, turn, Part.TOOL_CALL)
            yield Special("</s>", turn)
        elif message.role == "tool":
            turn += 1
            yield Special("[TOOL_RESULTS]", turn)
            if result:
                yield _text(json.dumps(result(_parsed(message.content)), ensure_ascii=False), F, turn)
            else:
                yield _text(CALL_ID, F, turn)
                yield Special("[TOOL_CONTENT]", turn)
                yield _text(message.content, F, turn)
            turn += follows == "assistant"
            yield Special("[/TOOL_RESULTS]", turn if follows == "assistant" else NOBODY)
        elif not result:
            turn += 1
            yield Special("[SYSTEM_PROMPT]", turn)
            yield _text(message.content, S, turn)
            yield Special("[/SYSTEM_PROMPT]", NOBODY)


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


ENCODERS: dict[str, Encoder] = {
    "llama3": llama3,
    "llama4": llama4,
    "mistral_v1": mistral_v1,
    "mistral_v2": mistral_v2,
    "mistral_v3": mistral_v3,
    "mistral_v7": mistral_v7,
}
