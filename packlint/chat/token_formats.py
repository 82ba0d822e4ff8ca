"""Chat formats whose markers are tokens of their own, each with where it was read.

What the assistant itself writes (`<think>`, `<tool_call>`) is the assistant's; what the template writes
around a message (headers, end markers, the wrapping of tool results) is template.
"""

from __future__ import annotations

from packlint.chat.chat_format import ChatFormat, TextMarker, begin, close, open_turn, part, pieces
from packlint.model.markers import Effect
from packlint.model.roles import Part, Role

__all__ = ["NAMES", "TOKEN_FORMATS"]

NAMES: tuple[tuple[str, Role], ...] = (
    ("system", Role.SYSTEM),
    ("developer", Role.SYSTEM),
    ("user", Role.USER),
    ("assistant", Role.ASSISTANT),
    ("tool", Role.TOOL),
    ("function", Role.TOOL),
    ("observation", Role.TOOL),
    ("ipython", Role.TOOL),
)
_ALL_CLOSED = frozenset({Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL})
_HEARD = frozenset({Role.USER, Role.TOOL})

_THINKING = (
    part("<think>", becomes=Part.THINKING, own=Part.THINKING),
    part("</think>", own=Part.THINKING),
)
_TOOL_CALL_TAGS = (
    part("<tool_call>", becomes=Part.TOOL_CALL, own=Part.TOOL_CALL),
    part("</tool_call>", own=Part.TOOL_CALL),
)
_TOOL_RESPONSE_TAGS = (
    pieces("<tool_response>", Role.TOOL, within=_HEARD, lead="\n", tail="\n"),
    pieces("</tool_response>", Role.UNKNOWN, within=_HEARD, lead="\n", tail="\n"),
)


def _named(before: str, after: str = "", *, tail: str = "") -> tuple[TextMarker, ...]:
    """Return the headers `before` + name + `after` for all names, and one for names that nobody knows."""
    known = tuple(
        open_turn(before + name + after, role, tail=tail, is_needed=name in ("user", "assistant"))
        for name, role in NAMES
    )
    return (*known, open_turn(before, Role.UNKNOWN))


def _ends_header(text: str, within: frozenset[Role], tail: str = "") -> TextMarker:
    return TextMarker(
        text=text,
        effect=Effect.PART,
        own_role=Role.TEMPLATE,
        within=within,
        ends_header=True,
        tail=tail,
    )


_CHATML = ChatFormat(
    name="chatml",
    title="ChatML: Qwen 1.5 to 3, Yi, Hermes, SmolLM and many others",
    markers=(
        *_named("<|im_start|>", tail="\n"),
        close("<|im_end|>", tail="\n"),
        *_THINKING,
        *_TOOL_CALL_TAGS,
        *_TOOL_RESPONSE_TAGS,
    ),
    signs=("<|im_start|>",),
    foreign=("<|im_sep|>",),
    tokens=("<|im_start|>", "<|im_end|>"),
    closed_roles=_ALL_CLOSED,
    source="Qwen/Qwen3-8B and Qwen/Qwen2.5-7B-Instruct, tokenizer_config.json",
)
_PHI4 = ChatFormat(
    name="phi-4",
    title="Phi-4: ChatML with a separator token instead of the line breaks",
    markers=(
        *_named("<|im_start|>", "<|im_sep|>"),
        close("<|im_end|>"),
        *_THINKING,
    ),
    signs=("<|im_start|>", "<|im_sep|>"),
    tokens=("<|im_start|>", "<|im_sep|>", "<|im_end|>"),
    closed_roles=_ALL_CLOSED,
    source="microsoft/phi-4, tokenizer_config.json",
)
_PHI3 = ChatFormat(
    name="phi-3",
    title="Phi-3, Phi-3.5 and Phi-4-mini",
    markers=(
        open_turn("<|system|>", Role.SYSTEM, tail="\n"),
        open_turn("<|user|>", Role.USER, tail="\n"),
        open_turn("<|assistant|>", Role.ASSISTANT, tail="\n"),
        open_turn("<|tool_response|>", Role.TOOL, tail="\n"),
        close("<|end|>", tail="\n"),
        part("<|tool_call|>", becomes=Part.TOOL_CALL, own=Part.TOOL_CALL, is_text=False),
        part("<|/tool_call|>", own=Part.TOOL_CALL, is_text=False),
    ),
    signs=("<|user|>", "<|end|>"),
    foreign=("<|start|>", "<|observation|>"),
    tokens=("<|user|>", "<|assistant|>", "<|end|>"),
    closed_roles=_ALL_CLOSED,
    source="microsoft/Phi-3.5-mini-instruct and microsoft/Phi-4-mini-instruct, tokenizer_config.json",
)
_LLAMA3 = ChatFormat(
    name="llama-3",
    title="Llama 3 to 3.3",
    markers=(
        *_named("<|start_header_id|>", "<|end_header_id|>", tail="\n\n")[:-1],
        open_turn("<|start_header_id|>", Role.UNKNOWN, header_goes_on=True),
        _ends_header("<|end_header_id|>", frozenset({Role.UNKNOWN}), tail="\n\n"),
        close("<|eot_id|>"),
        close("<|eom_id|>", part=Part.TOOL_CALL, is_needed=False),
        part("<|python_tag|>", becomes=Part.TOOL_CALL, own=Part.TOOL_CALL, is_text=False),
    ),
    signs=("<|start_header_id|>",),
    tokens=("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
    closed_roles=_ALL_CLOSED,
    source="meta-llama/llama-models, models/llama3/chat_format.py and prompt_format.md",
)
_LLAMA4 = ChatFormat(
    name="llama-4",
    title="Llama 4",
    markers=(
        *_named("<|header_start|>", "<|header_end|>", tail="\n\n")[:-1],
        open_turn("<|header_start|>", Role.UNKNOWN, header_goes_on=True),
        _ends_header("<|header_end|>", frozenset({Role.UNKNOWN}), tail="\n\n"),
        close("<|eot|>"),
        close("<|eom|>", part=Part.TOOL_CALL, is_needed=False),
        part("<|python_start|>", becomes=Part.TOOL_CALL, own=Part.TOOL_CALL, is_text=False),
        part("<|python_end|>", own=Part.TOOL_CALL, is_text=False),
    ),
    signs=("<|header_start|>",),
    tokens=("<|header_start|>", "<|header_end|>", "<|eot|>"),
    closed_roles=_ALL_CLOSED,
    source="meta-llama/llama-models, models/llama4/chat_format.py and prompt_format.md",
)
_MISTRAL = ChatFormat(
    name="mistral",
    title="Mistral v2, v3, tekken and later: [INST] as a token of its own",
    markers=(
        open_turn("[INST]", Role.USER, tail=" "),
        open_turn("[/INST]", Role.ASSISTANT),
        open_turn("[SYSTEM_PROMPT]", Role.SYSTEM, tail=" "),
        begin("[/SYSTEM_PROMPT]"),
        open_turn("[AVAILABLE_TOOLS]", Role.SYSTEM, tail=" "),
        begin("[/AVAILABLE_TOOLS]"),
        open_turn("[TOOL_RESULTS]", Role.TOOL, tail=" "),
        pieces("[TOOL_CONTENT]", Role.TOOL, within=frozenset({Role.TOOL}), is_text=False),
        open_turn("[/TOOL_RESULTS]", Role.ASSISTANT, may_be_empty=True, is_needed=False),
        part("[TOOL_CALLS]", becomes=Part.TOOL_CALL, own=Part.TOOL_CALL, is_text=False),
        part("[THINK]", becomes=Part.THINKING, own=Part.THINKING, is_text=False),
        part("[/THINK]", own=Part.THINKING, is_text=False),
    ),
    signs=("[INST]",),
    tokens=("[INST]", "[/INST]"),
    needs_eos=True,
    alternates=True,
    source="mistralai/mistral-common, tokens/tokenizers/instruct.py (v2, v3, v7, v11, v13)",
)
_GEMMA = ChatFormat(
    name="gemma",
    title="Gemma 1 to 3; a system text stands in the first turn of the user",
    markers=(
        open_turn("<start_of_turn>user", Role.USER, tail="\n"),
        open_turn("<start_of_turn>model", Role.ASSISTANT, tail="\n"),
        open_turn("<start_of_turn>system", Role.SYSTEM, tail="\n"),
        open_turn("<start_of_turn>developer", Role.SYSTEM, tail="\n"),
        open_turn("<start_of_turn>tool", Role.TOOL, tail="\n"),
        open_turn("<start_of_turn>", Role.UNKNOWN),
        close("<end_of_turn>", tail="\n"),
    ),
    signs=("<start_of_turn>",),
    tokens=("<start_of_turn>", "<end_of_turn>"),
    closed_roles=_ALL_CLOSED,
    source="google/gemma-3-4b-it, tokenizer_config.json",
)


def _wide(name: str) -> str:
    """Return a token of DeepSeek: full-width bars, and the sign that SentencePiece uses for a space."""
    return f"<\uff5c{name.replace(' ', chr(0x2581))}\uff5c>"


_DEEPSEEK = ChatFormat(
    name="deepseek",
    title="DeepSeek V3, V3.1 and R1; a system text stands between the begin token and the first user",
    markers=(
        open_turn(_wide("begin of sentence"), Role.SYSTEM, may_be_empty=True),
        open_turn(_wide("User"), Role.USER),
        open_turn(_wide("Assistant"), Role.ASSISTANT),
        open_turn(_wide("tool outputs begin"), Role.TOOL),
        pieces(_wide("tool output begin"), Role.TOOL, within=frozenset({Role.TOOL}), lead="\n"),
        pieces(_wide("tool output end"), Role.UNKNOWN, within=frozenset({Role.TOOL})),
        open_turn(
            _wide("tool outputs end"),
            Role.ASSISTANT,
            may_be_empty=True,
            is_needed=False,
        ),
        part(_wide("tool calls begin"), becomes=Part.TOOL_CALL, own=Part.TOOL_CALL),
        part(_wide("tool calls end"), own=Part.TOOL_CALL),
        close(_wide("end of sentence")),
        *_THINKING,
    ),
    signs=(_wide("User"),),
    tokens=(_wide("User"), _wide("Assistant")),
    opens_calls=True,  # the template of V3 ends a single call with neither `tool calls end` nor the end token
    source="deepseek-ai/DeepSeek-V3 and DeepSeek-R1, tokenizer_config.json",
)
_SPEAKERS = frozenset({Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL})
_HARMONY = ChatFormat(
    name="harmony",
    title="Harmony: gpt-oss",
    markers=(
        open_turn("<|start|>system", Role.SYSTEM, header_goes_on=True),
        open_turn("<|start|>developer", Role.SYSTEM, header_goes_on=True),
        open_turn("<|start|>user", Role.USER, header_goes_on=True),
        open_turn("<|start|>assistant", Role.ASSISTANT, header_goes_on=True),
        open_turn("<|start|>", Role.TOOL, header_goes_on=True),
        TextMarker(
            text="<|channel|>analysis<|message|>",
            effect=Effect.PART,
            part=Part.THINKING,
            own_role=Role.TEMPLATE,
            within=frozenset({Role.ASSISTANT}),
            ends_header=True,
        ),
        _ends_header("<|message|>", _SPEAKERS),
        close("<|end|>"),
        close("<|return|>", is_needed=False),
        close("<|call|>", part=Part.TOOL_CALL, is_needed=False),
    ),
    signs=("<|start|>", "<|message|>"),
    tokens=("<|start|>", "<|channel|>", "<|message|>", "<|end|>"),
    closed_roles=_ALL_CLOSED,
    source="openai/harmony, docs/format.md",
)
_GLM = ChatFormat(
    name="glm",
    title="GLM-4 and later: the next header ends an answer",
    markers=(
        begin("[gMASK]<sop>"),
        open_turn("<|system|>", Role.SYSTEM, tail="\n"),
        open_turn("<|user|>", Role.USER, tail="\n"),
        open_turn("<|assistant|>", Role.ASSISTANT, tail="\n"),
        open_turn("<|observation|>", Role.TOOL, tail="\n"),
        pieces("<tool_response>", Role.TOOL, within=frozenset({Role.TOOL}), lead="\n", tail="\n"),
        pieces("</tool_response>", Role.TOOL, within=frozenset({Role.TOOL}), lead="\n", tail="\n"),
        *_THINKING,
        *_TOOL_CALL_TAGS,
    ),
    signs=("<|user|>", "<|observation|>"),
    tokens=("<|user|>", "<|assistant|>", "<|observation|>"),
    ends_at_next_header=True,
    closed_roles=frozenset(),
    stops=("<|user|>", "<|observation|>"),
    source="zai-org/GLM-4-9B-0414 and zai-org/GLM-4.5, chat_template.jinja and generation_config.json",
)

TOKEN_FORMATS = (
    _CHATML, _PHI4, _PHI3, _LLAMA3, _LLAMA4, _MISTRAL, _GEMMA, _DEEPSEEK, _HARMONY, _GLM,
)  # fmt: skip
