"""The table [chat]: formats by name, markers of one's own as text or ids, and what makes no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from packlint.chat.declared import find_chat
from packlint.chat.tokenizer import load_tokenizer
from packlint.config import parse_config
from packlint.errors import ConfigError
from packlint.model.markers import TrainOn
from packlint.model.roles import Part, Role
from packlint.model.spec import Origin
from tests.chat.toy import roles_of

FOLDER = Path(__file__).parent.parent / "samples" / "_tokenizer"
IDS = {"user": [3, 30], "assistant": [[3, 31], [3, 32]], "end": [4], "separator": [5]}


def chat_of(table: dict[str, Any], tokenizer: bool = False) -> Any:
    pytest.importorskip("tokenizers")
    options = parse_config({"chat": table}).chat
    return find_chat(options, load_tokenizer(FOLDER) if tokenizer else None)


def test_markers_as_ids() -> None:
    chat, why = chat_of({"markers": IDS})
    ids = np.array([3, 30, 5, 40, 4, 5, 3, 31, 5, 50, 4, 3, 32, 51, 4])

    assert why == "[chat] markers"
    assert chat.known.origin is Origin.CONFIG
    assert chat.end_of_turn_ids == (4,)
    assert roles_of(ids, [15], chat).per_token().tolist() == [5, 5, 5, 2, 5, 5, 5, 5, 5, 3, 5, 5, 5, 3, 5]


def test_markers_as_text_are_those_of_the_format() -> None:
    tokenizer = load_tokenizer(FOLDER)
    text = "<|im_start|>user\nblue packed<|im_end|>\n<|im_start|>assistant\n\nstone<|im_end|>\n"
    ids = np.array(tokenizer.encode(text)[0])
    table = {
        "user": "<|im_start|>user\n",
        "assistant": "<|im_start|>assistant\n",
        "end": "<|im_end|>\n",
    }
    own, _ = chat_of({"markers": table}, tokenizer=True)
    built_in, _ = chat_of({"format": "chatml"}, tokenizer=True)
    found = [roles_of(ids, [ids.size], chat).per_token().tolist() for chat in (own, built_in)]

    assert found[0] == found[1]
    assert {Role.USER, Role.ASSISTANT, Role.TEMPLATE} == set(found[0])


def test_parts_and_results_of_tools() -> None:
    pairs = {
        "thinking": {"start": [10], "stop": [11]},
        "tool_call": {"start": [12], "stop": [13]},
        "tool_result": {"start": [14], "stop": [15]},
    }
    chat, _ = chat_of({"markers": {**IDS, **pairs}})
    ids = np.array([3, 31, 10, 50, 11, 51, 12, 52, 13, 4, 3, 30, 14, 60, 15, 4])
    found = roles_of(ids, [16], chat)

    assert found.of_part(Part.THINKING).lengths.tolist() == [3]
    assert found.of_part(Part.TOOL_CALL).lengths.tolist() == [3]
    assert found.of(Role.TOOL).starts.tolist() == [13]


def test_turns_that_the_next_header_ends() -> None:
    table = {"user": [3], "assistant": [6], "tool": [7]}
    chat, _ = chat_of({"markers": table, "ends_at_next_turn": True})

    assert chat.end_of_turn_ids == (3, 7)
    assert roles_of(np.array([3, 30, 6, 40, 7, 50, 6, 41]), [8], chat).answers.ends.tolist() == [4, -1]


def test_what_to_train_on() -> None:
    chat, _ = chat_of({"markers": IDS, "train_on": {"thinking": False}})

    assert chat.train_on == TrainOn(thinking=False, tool_calls=None)


def test_no_chat_at_all() -> None:
    assert chat_of({}) == (None, "no tokenizer and no [chat]")
    assert chat_of({"format": "none"}, tokenizer=True) == (None, "[chat] format = none")


def test_the_tokenizer_tells_by_itself() -> None:
    chat, why = chat_of({}, tokenizer=True)

    assert chat.name == "chatml"
    assert why == "<|im_start|> in the chat template in chat_template.jinja"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"format": "chatlm"}, "did you mean chatml?"),
        ({"format": "other"}, "there are chatml, "),
        ({"format": "chatml"}, "needs a tokenizer"),
        ({"format": "chatml", "markers": IDS}, "not both"),
        ({"markers": {"user": [3], "assistant": [6]}}, r"\[chat.markers\] needs end"),
        ({"markers": {"user": [], "assistant": [6], "end": [4]}}, r"\[chat.markers\] needs user"),
        ({"markers": {**IDS, "user": "User:"}}, "user is a text: that needs a tokenizer"),
        ({"markers": {**IDS, "separator": "\n"}}, "separator is a text"),
        ({"markers": {**IDS, "usr": [3]}}, "unknown key chat.markers.usr, did you mean user?"),
        ({"train_on": {"thoughts": True}}, "unknown key chat.train_on.thoughts"),
        ({"formt": "chatml"}, "unknown key chat.formt, did you mean format?"),
        ({"markers": {"assistant": [6], "end": [4]}}, "chat.markers.user"),
    ],
)
def test_what_makes_no_sense_says_so(table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chat_of(table)


def test_a_format_that_the_vocabulary_cannot_write() -> None:
    with pytest.raises(ConfigError, match="<start_of_turn>user is no token of its own"):
        chat_of({"format": "gemma"}, tokenizer=True)


def test_a_text_of_white_space_is_no_marker() -> None:
    with pytest.raises(ConfigError, match="nothing but white space"):
        chat_of({"markers": {**IDS, "user": "\n"}}, tokenizer=True)
