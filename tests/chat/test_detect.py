"""Which format a tokenizer belongs to: stated with its evidence, never guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from packlint.chat.detect import detect
from packlint.chat.tokenizer import load_tokenizer
from packlint.model.spec import Origin
from tests.chat.toy import save

pytest.importorskip("tokenizers")

LOOP = "{% for m in messages %}"
TEMPLATES = {
    "chatml": LOOP + "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}",
    "phi-4": LOOP + "<|im_start|>{{ m.role }}<|im_sep|>{{ m.content }}<|im_end|>{% endfor %}",
    "phi-3": LOOP + "<|user|>\n{{ m.content }}<|end|>\n<|assistant|>\n{% endfor %}",
    "llama-3": LOOP + "<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n{{ m.content }}<|eot_id|>",
    "llama-4": LOOP + "<|header_start|>{{ m.role }}<|header_end|>\n\n{{ m.content }}<|eot|>",
    "llama-2": "{{ bos_token }}[INST] <<SYS>>\n{{ system }}\n<</SYS>>\n\n{{ m.content }} [/INST]",
    "mistral": "{{ bos_token }}[INST] {{ m.content }}[/INST]{{ answer }}{{ eos_token }}",
    "gemma": LOOP + "<start_of_turn>{{ m.role }}\n{{ m.content }}<end_of_turn>\n{% endfor %}",
    "deepseek": "{{ bos_token }}<\uff5cUser\uff5c>{{ m.content }}<\uff5cAssistant\uff5c>",
    "harmony": "<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>",
    "glm": "[gMASK]<sop><|user|>\n{{ m.content }}<|assistant|>\n<|observation|>\n",
    "zephyr": "<|user|>\n{{ m.content }}{{ eos_token }}\n<|assistant|>\n",
    "alpaca": "### Instruction:\n{{ m.content }}\n\n### Response:\n",
    "vicuna": "USER: {{ m.content }} ASSISTANT:",
}


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_by_template(name: str, tmp_path: Path) -> None:
    chat, why = detect(load_tokenizer(save(name, "byte-level", tmp_path, TEMPLATES[name])))

    assert chat is not None, why
    assert chat.name == name
    assert why.endswith("in the chat template in tokenizer_config.json")
    assert chat.known is not None
    assert chat.known.origin is Origin.TOKENIZER
    assert chat.end_of_turn_ids


@pytest.mark.parametrize(
    "name",
    ["chatml", "phi-4", "phi-3", "llama-3", "llama-4", "mistral", "gemma", "deepseek", "harmony", "glm"],
)
def test_by_tokens_where_there_is_no_template(name: str, tmp_path: Path) -> None:
    chat, why = detect(load_tokenizer(save(name, "byte-level", tmp_path)))

    assert chat is not None, why
    assert chat.name == name
    assert "there is no chat template" in why


@pytest.mark.parametrize("name", ["llama-2", "zephyr", "alpaca", "vicuna"])
def test_ordinary_text_is_not_guessed(name: str, tmp_path: Path) -> None:
    chat, why = detect(load_tokenizer(save(name, "byte-level", tmp_path)))

    assert chat is None
    assert why.startswith("no known format in tokens of the vocabulary")


def test_an_unknown_template_is_not_guessed(tmp_path: Path) -> None:
    """Tokens of ChatML in the vocabulary do not make a chat of another template ChatML."""
    chat, why = detect(
        load_tokenizer(save("chatml", "byte-level", tmp_path, "{{ m.role }}> {{ m.content }}"))
    )

    assert chat is None
    assert why.startswith("no known format in the chat template")


def test_a_template_that_the_vocabulary_cannot_write(tmp_path: Path) -> None:
    chat, why = detect(load_tokenizer(save("gemma", "byte-level", tmp_path, TEMPLATES["chatml"])))

    assert chat is None
    assert why == (
        "not chatml: <|im_start|>user is no token of its own in this vocabulary;"
        " give [chat] format or [chat] markers"
    )


def test_a_template_in_a_file_of_its_own_wins(tmp_path: Path) -> None:
    save("chatml", "byte-level", tmp_path, "nothing")
    (tmp_path / "chat_template.jinja").write_text(TEMPLATES["chatml"])
    chat, why = detect(load_tokenizer(tmp_path))

    assert chat is not None
    assert why == "<|im_start|> in the chat template in chat_template.jinja"
