"""What chat templates write, message by message: the oracle for the roles of tokens.

Written from the templates themselves and not from `packlint.chat.formats`: every piece of text is given its
role, part and turn here, by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from packlint.model.roles import Part, Role

__all__ = ["BOS", "EOS", "RENDERERS", "SPECIALS", "Message", "Piece", "render"]

S, U, A, F, T = Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.TEMPLATE
NOBODY = -1
_ROLES = {"system": S, "user": U, "assistant": A, "tool": F}


@dataclass(frozen=True, slots=True)
class Message:
    """One message; a call of a tool is an assistant's, its result a tool's."""

    role: str
    content: str
    thinking: str = ""
    call: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of the rendered text."""

    text: str
    role: Role
    turn: int
    part: Part = Part.TEXT


Renderer = Callable[[list[Message]], Iterable[Piece]]


def render(name: str, messages: list[Message]) -> list[Piece]:
    """Return the pieces of a conversation in a format."""
    return [piece for piece in RENDERERS[name](messages) if piece.text]


def _assistant(message: Message, turn: int, call: tuple[str, str] = ("", "")) -> Iterable[Piece]:
    if message.thinking:
        yield Piece(f"<think>\n{message.thinking}\n</think>", A, turn, Part.THINKING)
        yield Piece("\n\n", A, turn)
    yield Piece(message.content, A, turn)
    if message.call:
        yield Piece(call[0] + message.call + call[1], A, turn, Part.TOOL_CALL)


def chatml(messages: list[Message]) -> Iterable[Piece]:
    """Qwen3."""
    turn = NOBODY
    for at, message in enumerate(messages):
        if message.role == "tool":
            if messages[at - 1].role != "tool":
                turn += 1
                yield Piece("<|im_start|>user", T, turn)
            yield Piece("\n<tool_response>\n", T, turn)
            yield Piece(message.content, F, turn)
            yield Piece("\n</tool_response>", T, turn)
            if at + 1 == len(messages) or messages[at + 1].role != "tool":
                yield Piece("<|im_end|>\n", T, turn)
            continue
        turn += 1
        yield Piece(f"<|im_start|>{message.role}\n", T, turn)
        if message.role == "assistant":
            for piece in _assistant(message, turn, ("<tool_call>\n", "\n</tool_call>")):
                if piece.part is Part.TOOL_CALL and message.content:
                    yield Piece("\n", A, turn)
                yield piece
        else:
            yield Piece(message.content, S if message.role == "system" else U, turn)
        yield Piece("<|im_end|>\n", T, turn)


def _talk(messages: list[Message]) -> list[Message]:
    """Leave out tools and their calls, in formats that have none."""
    return [m for m in messages if m.role != "tool" and not m.call]


def _plain(
    header: Callable[[str], str], end: str, message: Message, turn: int, names: dict[str, str]
) -> Iterable[Piece]:
    yield Piece(header(names.get(message.role, message.role)), T, turn)
    yield Piece(message.content or message.call, _ROLES[message.role], turn)
    yield Piece(end, T, turn)


def phi4(messages: list[Message]) -> Iterable[Piece]:
    for turn, message in enumerate(_talk(messages)):
        yield from _plain(lambda n: f"<|im_start|>{n}<|im_sep|>", "<|im_end|>", message, turn, {})


def phi3(messages: list[Message]) -> Iterable[Piece]:
    for turn, message in enumerate(messages):
        yield from _plain(lambda n: f"<|{n}|>\n", "<|end|>\n", message, turn, {"tool": "tool_response"})


def llama3(messages: list[Message]) -> Iterable[Piece]:
    yield Piece("<|begin_of_text|>", T, NOBODY)
    marks = ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>")
    yield from _llama(messages, *marks, call=("<|python_tag|>", ""))


def llama4(messages: list[Message]) -> Iterable[Piece]:
    """Llama 4: a call is told by its marks alone."""
    yield Piece("<|begin_of_text|>", T, NOBODY)
    marks = ("<|header_start|>", "<|header_end|>", "<|eot|>", "<|eot|>")
    yield from _llama(messages, *marks, call=("<|python_start|>", "<|python_end|>"))


def _llama(
    messages: list[Message], start: str, stop: str, end: str, call_end: str, *, call: tuple[str, str]
) -> Iterable[Piece]:
    for turn, message in enumerate(messages):
        name = "ipython" if message.role == "tool" else message.role
        yield Piece(f"{start}{name}{stop}\n\n", T, turn)
        if message.call:
            yield Piece(call[0] + message.call + call[1], A, turn, Part.TOOL_CALL)
            yield Piece(call_end, T, turn)
        else:
            yield Piece(message.content, _ROLES[message.role], turn)
            yield Piece(end, T, turn)


def llama2(messages: list[Message]) -> Iterable[Piece]:
    """Llama 2: a system text stands in the first turn of the user."""
    system, turn = "", NOBODY
    for message in _talk(messages):
        if message.role == "system":
            system = message.content
            continue
        turn += 1
        if message.role == "user":
            yield Piece("<s>", T, NOBODY)
            yield Piece("[INST] ", T, turn)
            if system:
                yield Piece("<<SYS>>\n", T, turn)
                yield Piece(system, S, turn)
                yield Piece("\n<</SYS>>\n\n", T, turn)
                system = ""
            yield Piece(f"{message.content} ", U, turn)
        else:
            yield Piece("[/INST]", T, turn)
            yield Piece(f" {message.content} ", A, turn)
            yield Piece("</s>", T, turn)


def mistral(messages: list[Message]) -> Iterable[Piece]:
    """v7: tools are called and answered with tokens of their own."""
    yield Piece("<s>", T, NOBODY)
    turn = NOBODY
    for at, message in enumerate(messages):
        before = messages[at - 1].role if at else ""
        turn += 1
        if message.role == "system":
            yield Piece("[SYSTEM_PROMPT] ", T, turn)
            yield Piece(message.content, S, turn)
            yield Piece("[/SYSTEM_PROMPT]", T, NOBODY)
        elif message.role == "user":
            yield Piece("[INST] ", T, turn)
            yield Piece(message.content, U, turn)
        elif message.role == "tool":
            yield Piece("[TOOL_RESULTS] ", T, turn)
            yield Piece(message.content, F, turn)
        else:
            yield Piece("[/TOOL_RESULTS]" if before == "tool" else "[/INST]", T, turn)
            yield Piece(f" {message.content}" if message.content else "", A, turn)
            if message.call:
                yield Piece(f"[TOOL_CALLS] {message.call}", A, turn, Part.TOOL_CALL)
            yield Piece("</s>", T, turn)


def gemma(messages: list[Message]) -> Iterable[Piece]:
    """Gemma 3: a system text is the beginning of what the user says."""
    yield Piece("<bos>", T, NOBODY)
    talk, names = _talk(messages), {"assistant": "model"}
    if talk[0].role == "system":
        talk[:2] = [Message("user", f"{talk[0].content}\n\n{talk[1].content}")]
    for turn, message in enumerate(talk):
        yield from _plain(lambda n: f"<start_of_turn>{n}\n", "<end_of_turn>\n", message, turn, names)


def _wide(name: str) -> str:
    return f"<\uff5c{name.replace(' ', chr(0x2581))}\uff5c>"


def deepseek(messages: list[Message]) -> Iterable[Piece]:
    """V3; results of several tools are one turn."""
    turn = NOBODY
    first = messages[0]
    if first.role == "system":
        turn += 1
    yield Piece(_wide("begin of sentence"), T, turn)
    for at, message in enumerate(messages):
        before = messages[at - 1].role if at else ""
        if message.role == "system":
            yield Piece(message.content, S, turn)
            continue
        turn += 0 if message.role == before == "tool" else 1
        if message.role == "user":
            yield Piece(_wide("User"), T, turn)
            yield Piece(message.content, U, turn)
        elif message.role == "tool":
            yield Piece("\n" if before == "tool" else _wide("tool outputs begin"), T, turn)
            yield Piece(_wide("tool output begin"), T, turn)
            yield Piece(message.content, F, turn)
            yield Piece(_wide("tool output end"), T, turn)
        else:
            yield Piece(_wide("tool outputs end") if before == "tool" else _wide("Assistant"), T, turn)
            begins = _wide("tool calls begin") + _wide("tool call begin")
            call = (begins, _wide("tool call end") + _wide("tool calls end"))
            yield from _assistant(message, turn, call)
            yield Piece(_wide("end of sentence"), T, turn)


def harmony(messages: list[Message]) -> Iterable[Piece]:
    turn = NOBODY
    for message in messages:
        turn += 1
        if message.role == "tool":
            yield Piece("<|start|>functions.look to=assistant<|channel|>commentary<|message|>", T, turn)
            yield Piece(message.content, F, turn)
            yield Piece("<|end|>", T, turn)
            continue
        if message.role != "assistant":
            yield Piece(f"<|start|>{message.role}<|message|>", T, turn)
            yield Piece(message.content, S if message.role == "system" else U, turn)
            yield Piece("<|end|>", T, turn)
            continue
        if message.thinking:
            yield Piece("<|start|>assistant<|channel|>analysis<|message|>", T, turn)
            yield Piece(message.thinking, A, turn, Part.THINKING)
            yield Piece("<|end|>", T, turn)
            turn += 1
        if message.call:
            header = "<|start|>assistant<|channel|>commentary to=functions.look <|constrain|>json<|message|>"
            yield Piece(header, T, turn)
            yield Piece(message.call, A, turn, Part.TOOL_CALL)
            yield Piece("<|call|>", T, turn)
        else:
            yield Piece("<|start|>assistant<|channel|>final<|message|>", T, turn)
            yield Piece(message.content, A, turn)
            yield Piece("<|return|>" if message is messages[-1] else "<|end|>", T, turn)


def glm(messages: list[Message]) -> Iterable[Piece]:
    """GLM-4.5."""
    yield Piece("[gMASK]<sop>", T, NOBODY)
    turn = NOBODY
    for at, message in enumerate(messages):
        if message.role == "tool":
            if messages[at - 1].role != "tool":
                turn += 1
                yield Piece("<|observation|>", T, turn)
            yield Piece("\n<tool_response>\n", T, turn)
            yield Piece(message.content, F, turn)
            yield Piece("\n</tool_response>", T, turn)
            continue
        turn += 1
        yield Piece(f"<|{message.role}|>\n", T, turn)
        if message.role == "assistant":
            yield from _assistant(message, turn, ("<tool_call>", "</tool_call>"))
        else:
            yield Piece(message.content, S if message.role == "system" else U, turn)


def zephyr(messages: list[Message]) -> Iterable[Piece]:
    for turn, message in enumerate(_talk(messages)):
        yield from _plain(lambda n: f"<|{n}|>\n", "</s>\n", message, turn, {})


def alpaca(messages: list[Message]) -> Iterable[Piece]:
    """One round."""
    user = next(m for m in messages if m.role == "user")
    answer = next(m for m in messages if m.role == "assistant" and not m.call)
    yield Piece("Below is an instruction that describes a task", T, 0)
    yield Piece(". Write a response that appropriately completes the request.\n\n", S, 0)
    yield Piece("### Instruction:\n", T, 1)
    yield Piece(f"{user.content}\n\n", U, 1)
    yield Piece("### Response:\n", T, 2)
    yield Piece(answer.content, A, 2)
    yield Piece("</s>", T, 2)


def vicuna(messages: list[Message]) -> Iterable[Piece]:
    yield Piece("A chat between a curious user", T, 0)
    yield Piece(" and an artificial intelligence assistant. ", S, 0)
    turn = 0
    for message in _talk(messages):
        if message.role == "system":
            continue
        turn += 1
        if message.role == "user":
            yield Piece("USER:", T, turn)
            yield Piece(f" {message.content} ", U, turn)
        else:
            yield Piece("ASSISTANT:", T, turn)
            yield Piece(f" {message.content}", A, turn)
            yield Piece("</s>", T, turn)


RENDERERS: dict[str, Renderer] = {
    "chatml": chatml,
    "phi-4": phi4,
    "phi-3": phi3,
    "llama-3": llama3,
    "llama-4": llama4,
    "llama-2": llama2,
    "mistral": mistral,
    "gemma": gemma,
    "deepseek": deepseek,
    "harmony": harmony,
    "glm": glm,
    "zephyr": zephyr,
    "alpaca": alpaca,
    "vicuna": vicuna,
}

_DEEP = (
    "begin of sentence", "end of sentence", "User", "Assistant", "tool calls begin", "tool calls end",
    "tool call begin", "tool call end", "tool outputs begin", "tool outputs end", "tool output begin",
    "tool output end",
)  # fmt: skip
_MISTRAL = (
    "<s> </s> [INST] [/INST] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] "
    "[TOOL_CALLS] [TOOL_RESULTS] [/TOOL_RESULTS]"
)
SPECIALS: dict[str, tuple[str, ...]] = {
    name: tuple(tokens.split())
    for name, tokens in {
        "chatml": "<|endoftext|> <|im_start|> <|im_end|> <tool_call> </tool_call> <tool_response> "
        "</tool_response> <think> </think>",
        "phi-4": "<|endoftext|> <|im_start|> <|im_end|> <|im_sep|>",
        "phi-3": "<|endoftext|> <|system|> <|user|> <|assistant|> <|end|> <|tool_response|>",
        "llama-3": "<|begin_of_text|> <|end_of_text|> <|start_header_id|> <|end_header_id|> <|eot_id|> "
        "<|eom_id|> <|python_tag|>",
        "llama-4": "<|begin_of_text|> <|end_of_text|> <|header_start|> <|header_end|> <|eot|> <|eom|> "
        "<|python_start|> <|python_end|>",
        "llama-2": "<s> </s>",
        "mistral": _MISTRAL,
        "gemma": "<bos> <eos> <start_of_turn> <end_of_turn>",
        "deepseek": " ".join(_wide(name) for name in _DEEP),
        "harmony": "<|endoftext|> <|start|> <|end|> <|message|> <|channel|> <|constrain|> <|return|> "
        "<|call|>",
        "glm": "<|endoftext|> [gMASK] <sop> <|system|> <|user|> <|assistant|> <|observation|>",
        "zephyr": "<s> </s>",
        "alpaca": "<s> </s>",
        "vicuna": "<s> </s>",
    }.items()
}
EOS = {
    "chatml": "<|im_end|>", "phi-4": "<|im_end|>", "phi-3": "<|endoftext|>", "llama-3": "<|eot_id|>",
    "llama-4": "<|eot|>", "gemma": "<eos>", "deepseek": _wide("end of sentence"), "harmony": "<|return|>",
    "glm": "<|endoftext|>", "llama-2": "</s>", "mistral": "</s>", "zephyr": "</s>", "alpaca": "</s>",
    "vicuna": "</s>",
}  # fmt: skip
BOS = {
    "llama-3": "<|begin_of_text|>", "llama-4": "<|begin_of_text|>", "gemma": "<bos>", "llama-2": "<s>",
    "deepseek": _wide("begin of sentence"), "mistral": "<s>", "zephyr": "<s>", "alpaca": "<s>",
    "vicuna": "<s>",
}  # fmt: skip
