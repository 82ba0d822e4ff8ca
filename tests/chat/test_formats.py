"""Every format: the role, turn and part of every token equal what the template wrote, message by message."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from packlint.chat.formats import FORMATS
from packlint.model.roles import Role, Roles
from tests.chat.renderings import EOS, RENDERERS, Message
from tests.chat.toy import CONVERSATION, Labelled, chats, rendered, roles_of, toy

pytest.importorskip("tokenizers")

BY_FORMAT = pytest.mark.parametrize("name", sorted(RENDERERS))
SENTENCEPIECE = ("llama-2", "mistral", "gemma", "phi-3", "zephyr", "alpaca", "vicuna")
BY_KIND = pytest.mark.parametrize(
    ("name", "kind"),
    [(name, "byte-level") for name in sorted(RENDERERS)]
    + [(name, "sentencepiece") for name in SENTENCEPIECE],
)
MANY = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("toy"))


def assert_equal(found: Roles, wanted: Labelled) -> None:
    assert found.per_token().tolist() == wanted.roles.tolist()
    assert found.numbers_per_token().tolist() == wanted.turns.tolist()
    parts = np.repeat(found.parts, found.stops - found.starts)
    mine = wanted.roles == Role.ASSISTANT
    assert parts[mine].tolist() == wanted.parts[mine].tolist()


def test_every_format_is_rendered() -> None:
    assert set(RENDERERS) == set(FORMATS)


@BY_KIND
def test_one_conversation(name: str, kind: str, folder: str) -> None:
    tokenizer, markers = toy(name, kind, folder)
    wanted = rendered(name, list(CONVERSATION), tokenizer)

    assert_equal(roles_of(wanted.ids, [wanted.ids.size], markers), wanted)


@BY_FORMAT
def test_answers_end_in_the_token_that_ends_a_turn(name: str, folder: str) -> None:
    tokenizer, markers = toy(name, "byte-level", folder)
    wanted = rendered(name, list(CONVERSATION), tokenizer)
    answers = roles_of(wanted.ids, [wanted.ids.size], markers).answers

    assert len(answers) >= 1
    assert answers.is_finished[:-1].all()
    assert answers.is_finished[-1] == (name != "glm")  # the next header would end it
    assert set(wanted.ids[answers.end_places].tolist()) <= set(markers.end_of_turn_ids)
    eos = tokenizer.added_tokens[EOS[name]]
    assert (eos in markers.end_of_turn_ids) == (name not in ("phi-3", "gemma"))


@BY_KIND
@MANY
@given(messages=st.lists(chats(), min_size=1, max_size=4), padding=st.integers(0, 5))
def test_packs_of_conversations(
    name: str, kind: str, folder: str, messages: list[list[Message]], padding: int
) -> None:
    tokenizer, markers = toy(name, kind, folder)
    samples = [rendered(name, chat, tokenizer) for chat in messages]
    end = tokenizer.added_tokens[EOS[name]]
    ids = np.concatenate([*(sample.ids for sample in samples), np.full(padding, end)])
    found = roles_of(ids, [sample.ids.size for sample in samples], markers)
    assert_equal(
        found,
        Labelled(
            ids,
            np.concatenate([*(s.roles for s in samples), np.full(padding, Role.UNKNOWN)]),
            np.concatenate([*(s.turns for s in samples), np.full(padding, -1)]),
            np.concatenate([*(s.parts for s in samples), np.zeros(padding, np.int64)]),
        ),
    )


@pytest.mark.parametrize("name", ["alpaca", "vicuna", "zephyr"])
@pytest.mark.parametrize(
    "said",
    [
        "a ### Response: b <|user|> c",  # in the middle of a line
        "It is USER: rain. ASSISTANT: sunny",
        "It is\n\n### Instruction:\nrain\n\n### Response:\nsunny",
    ],
)
def test_markers_that_an_answer_quotes(name: str, said: str, folder: str) -> None:
    """Where the end-of-text token has not come yet, what looks like a header is what was said."""
    tokenizer, markers = toy(name, "byte-level", folder)
    wanted = rendered(name, [Message("user", "You"), Message("assistant", said)], tokenizer)

    assert_equal(roles_of(wanted.ids, [wanted.ids.size], markers), wanted)


def test_what_follows_a_quoted_marker_is_quoted_too(folder: str) -> None:
    tokenizer, markers = toy("alpaca", "byte-level", folder)
    chat = [Message("user", "a ### Response:### Response: b"), Message("assistant", "sunny")]
    wanted = rendered("alpaca", chat, tokenizer)

    assert_equal(roles_of(wanted.ids, [wanted.ids.size], markers), wanted)


def test_markers_that_a_user_quotes(folder: str) -> None:
    tokenizer, markers = toy("vicuna", "byte-level", folder)
    chat = [Message("user", "It is USER: rain"), Message("assistant", "sunny")]
    wanted = rendered("vicuna", chat, tokenizer)

    assert_equal(roles_of(wanted.ids, [wanted.ids.size], markers), wanted)


@BY_FORMAT
@MANY
@given(messages=chats(), data=st.data())
def test_cut_segments(name: str, folder: str, messages: list[Message], data: st.DataObject) -> None:
    """Until the first header, nobody is known to speak; from there on all is as in the whole sample."""
    tokenizer, markers = toy(name, "byte-level", folder)
    whole = rendered(name, messages, tokenizer)
    start = data.draw(st.integers(1, whole.ids.size - 1))
    stop = data.draw(st.integers(start + 1, whole.ids.size))
    part = whole[start:stop]
    found = roles_of(part.ids, [part.ids.size], markers).per_token()
    headers = np.flatnonzero((part.turns != whole.turns[start - 1 : stop - 1]) & (part.turns >= 0))
    first = int(headers[0]) if headers.size else part.ids.size
    before = found[:first][part.roles[:first] != Role.TEMPLATE]
    last = np.flatnonzero(part.roles != Role.TEMPLATE)
    until = int(last[-1]) + 1 if last.size else 0  # a header that is cut off is no header

    assert set(before.tolist()) <= {Role.UNKNOWN}
    assert found[first:until].tolist() == part.roles[first:until].tolist()


def test_a_title_and_a_source_for_every_format() -> None:
    sources: Callable[[str], str] = lambda name: FORMATS[name].source  # noqa: E731

    assert all(FORMATS[name].title and sources(name) for name in FORMATS)
