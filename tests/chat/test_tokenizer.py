"""Tokenizers: ids to text, special ids, and files that are wrong."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from packlint.chat.tokenizer import load_tokenizer
from packlint.errors import UsageError
from packlint.model.spec import Origin

pytest.importorskip("tokenizers")

FOLDER = Path(__file__).parent.parent / "samples" / "_tokenizer"


def test_folder_and_file_are_the_same() -> None:
    assert load_tokenizer(FOLDER).spec == load_tokenizer(FOLDER / "tokenizer.json").spec


def test_spec_comes_from_the_files_beside() -> None:
    spec = load_tokenizer(FOLDER).spec

    assert spec.pad_id is not None
    assert spec.bos_id is not None
    assert spec.eos_ids is not None
    assert spec.vocab_size is not None
    assert (spec.pad_id.value, spec.bos_id.value, spec.eos_ids.value) == (0, 1, (2,))
    assert spec.vocab_size.value == load_tokenizer(FOLDER).n_ids
    assert spec.vocab_size.origin is Origin.TOKENIZER


def test_special_tokens_are_kept() -> None:
    assert load_tokenizer(FOLDER).decode((1, 3, 4, 2)) == "<s><|im_start|><|im_end|></s>"


def test_text_to_ids_and_back() -> None:
    tokenizer = load_tokenizer(FOLDER)
    ids, offsets = tokenizer.encode("<|im_start|>user\n")

    assert ids[0] == tokenizer.added_tokens["<|im_start|>"] == 3
    assert tokenizer.decode(ids) == "<|im_start|>user\n"
    assert offsets[0] == (0, 12)
    assert offsets[-1][1] == 17


def test_chat_template_of_its_own_file() -> None:
    tokenizer = load_tokenizer(FOLDER)

    assert "<|im_start|>" in tokenizer.template
    assert tokenizer.template_source == "chat_template.jinja"


@pytest.mark.parametrize(
    ("stored", "template"),
    [
        ("one", "one"),
        ([{"name": "tool_use", "template": "two"}, {"name": "default", "template": "one"}], "one"),
        ([{"name": "rag", "template": "two"}], ""),
        (None, ""),
        (7, ""),
    ],
)
def test_chat_template_in_the_config(tmp_path: Path, stored: object, template: str) -> None:
    shutil.copy(FOLDER / "tokenizer.json", tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": stored}))

    assert load_tokenizer(tmp_path).template == template


def test_unknown_ids_never_raise() -> None:
    tokenizer = load_tokenizer(FOLDER)

    assert tokenizer.decode((-1, 1, 10**12)) == "<id -1><s><id 1000000000000>"
    assert tokenizer.pieces((-1, 1)) == ["<id -1>", "<s>"]
    assert tokenizer.decode(()) == ""


def test_pieces_put_together_are_the_text() -> None:
    tokenizer = load_tokenizer(FOLDER)
    ids = (3, 368, 203, 88, 376, 369, 4, 2)

    assert "".join(tokenizer.pieces(ids)) == tokenizer.decode(ids)


@pytest.mark.parametrize(
    "token", ["</s>", {"content": "</s>", "lstrip": False}, {"__type": "AddedToken", "content": "</s>"}]
)
def test_special_tokens_may_be_strings_or_tables(tmp_path: Path, token: object) -> None:
    shutil.copy(FOLDER / "tokenizer.json", tmp_path)
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": token}))
    spec = load_tokenizer(tmp_path).spec

    assert spec.eos_ids is not None
    assert spec.eos_ids.value == (2,)
    assert spec.pad_id is None


def test_tokenizer_config_wins_over_special_tokens_map(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "tokenizer.json", tmp_path)
    (tmp_path / "special_tokens_map.json").write_text('{"eos_token": "</s>"}')
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>"}')
    spec = load_tokenizer(tmp_path).spec

    assert spec.eos_ids is not None
    assert spec.eos_ids.value == (4,)


def test_no_files_beside_leaves_special_ids_unknown(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "tokenizer.json", tmp_path)
    spec = load_tokenizer(tmp_path).spec

    assert spec.eos_ids is None
    assert spec.pad_id is None
    assert spec.vocab_size is not None


def test_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no tokenizer\.json here"):
        load_tokenizer(tmp_path)


def test_damaged_files_say_so(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(UsageError, match="cannot be read"):
        load_tokenizer(tmp_path)


def test_damaged_file_beside_says_so(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "tokenizer.json", tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("[")
    with pytest.raises(UsageError, match=r"tokenizer_config\.json"):
        load_tokenizer(tmp_path)


def test_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UsageError, match=r"pip install 'packlint\[tokenizers\]'"):
        load_tokenizer(tmp_path / "other")
