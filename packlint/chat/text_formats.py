"""Chat formats whose markers are ordinary text, each with where it was read.

Such text may also be what somebody says, so it counts only where the template can have put it. The
end-of-text token ends a turn.
"""

from __future__ import annotations

from packlint.chat.chat_format import ChatFormat, open_turn, pieces
from packlint.chat.token_formats import NAMES
from packlint.model.markers import Place
from packlint.model.roles import Role

__all__ = ["TEXT_FORMATS"]

_SYSTEM_IN_USER = (
    pieces("<<SYS>>", Role.SYSTEM, within=frozenset({Role.USER}), tail="\n"),
    pieces("<</SYS>>", Role.USER, within=frozenset({Role.USER}), lead="\n", tail="\n\n"),
)
_LLAMA2 = ChatFormat(
    name="llama-2",
    title="Llama 2 chat, Mistral 7B v0.1 (v1), Mixtral: [INST] as ordinary text",
    markers=(
        open_turn("[INST]", Role.USER, tail=" ", is_text=True),
        open_turn("[/INST]", Role.ASSISTANT, is_text=True),
        *_SYSTEM_IN_USER,
    ),
    signs=("[INST]",),
    needs_eos=True,
    alternates=True,
    repeats_begin=True,
    source="meta-llama/llama, llama/generation.py; mistralai/mistral-common, instruct.py (v1)",
)
_ZEPHYR = ChatFormat(
    name="zephyr",
    title="Zephyr, TinyLlama chat, Tulu: <|user|> as ordinary text, the end-of-text token ends a turn",
    markers=tuple(
        open_turn(f"<|{name}|>", role, tail="\n", is_text=True, place=Place.LINE)
        for name, role in NAMES[:4]
        if name != "developer"
    ),
    signs=("<|user|>",),
    foreign=("<|end|>", "<|observation|>", "<|im_start|>"),
    needs_eos=True,
    eos_tail="\n",
    source="HuggingFaceH4/zephyr-7b-beta, tokenizer_config.json",
)
_ALPACA = ChatFormat(
    name="alpaca",
    title="Alpaca: ### Instruction, ### Input, ### Response",
    markers=(
        open_turn(
            "Below is an instruction that describes a task", Role.SYSTEM, is_text=True, place=Place.TURN
        ),
        open_turn("### Instruction:", Role.USER, tail="\n", is_text=True, place=Place.LINE | Place.TURN),
        pieces("### Input:", Role.USER, within=frozenset({Role.USER}), lead="\n\n", tail="\n"),
        open_turn("### Response:", Role.ASSISTANT, tail="\n", is_text=True, place=Place.LINE | Place.TURN),
    ),
    signs=("### Instruction", "### Response"),
    needs_eos=True,
    source="tatsu-lab/stanford_alpaca, train.py, PROMPT_DICT",
)
_VICUNA = ChatFormat(
    name="vicuna",
    title="Vicuna 1.1 and later: USER: and ASSISTANT:",
    markers=(
        open_turn("A chat between a curious user", Role.SYSTEM, is_text=True, place=Place.TURN),
        open_turn("USER:", Role.USER, is_text=True, place=Place.TURN),
        open_turn("ASSISTANT:", Role.ASSISTANT, is_text=True, place=Place.TURN),
    ),
    signs=("USER:", "ASSISTANT:"),
    needs_eos=True,
    source="lm-sys/FastChat, fastchat/conversation.py, vicuna_v1.1",
)

TEXT_FORMATS = (_LLAMA2, _ZEPHYR, _ALPACA, _VICUNA)
