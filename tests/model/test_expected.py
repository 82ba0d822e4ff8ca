"""What each loss policy wants of a conversation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from packlint.model.expected import Expected, expected_targets
from packlint.model.markers import Effect, Marker, Tail, TrainOn
from packlint.model.roles import Roles
from packlint.model.spans import Spans
from packlint.model.spec import TargetPolicy
from tests.model.test_turns import AST, CALL, CHANNELS, CHAT, END, EOS, NAME, SEP, THINK, UNTHINK, USR, scan

ROUND = [USR, NAME, 30, END, AST, NAME, 40, 41, END, SEP]
TWO = ROUND + ROUND


def marks(expected: Expected, n: int) -> str:
    """Return one character per token: wanted, allowed or not."""
    wanted, allowed = expected.wanted.to_mask(n), expected.allowed.to_mask(n)
    assert not (wanted & ~allowed).any()
    return "".join("w" if w else "a" if a else "." for w, a in zip(wanted, allowed, strict=True))


def judge(
    ids: list[int], policy: str, train_on: TrainOn | None = None, targets: list[int] | None = None
) -> str:
    roles = scan(ids)
    return marks(ask(roles, policy, train_on, targets), len(ids))


def ask(
    roles: Roles, policy: str, train_on: TrainOn | None = None, targets: list[int] | None = None
) -> Expected:
    n = roles.n_tokens
    return expected_targets(
        roles,
        TargetPolicy(policy),
        train_on or TrainOn(),
        real=Spans(np.array([0]), np.array([n])),
        targets=Spans.from_indices(np.array(targets or [], np.int64)),
        segment_stops=np.array([n]),
    )


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        ("all", "wwwwwwwwww" * 2),
        ("assistant", "......wwwa" * 2),
        ("last_assistant", ".........." + "......wwwa"),
        ("completion", "......aaaa" + "aaaaaawwwa"),
    ],
)
def test_two_rounds(policy: str, wanted: str) -> None:
    assert judge(TWO, policy) == wanted


def test_answers_after_the_last_user_may_be_learnt_with_the_last_one() -> None:
    assert judge([*ROUND, AST, NAME, 42, END], "last_assistant") == "......aaaa" + "..ww"


def test_flagged_answers_are_learnt_whole_or_not_at_all() -> None:
    assert judge(TWO, "flagged", targets=[17]) == ".........." + "......wwwa"
    assert judge(TWO, "flagged", targets=[]) == "." * 20


@pytest.mark.parametrize(("thinking", "wanted"), [(None, "..aaaww"), (True, "..wwwww"), (False, ".....ww")])
def test_thinking(thinking: bool | None, wanted: str) -> None:
    ids = [AST, NAME, THINK, 50, UNTHINK, 40, END]

    assert judge(ids, "assistant", TrainOn(thinking=thinking)) == wanted


@pytest.mark.parametrize(("calls", "wanted"), [(None, "..aa"), (True, "..ww"), (False, "...a")])
def test_calls_of_tools(calls: bool | None, wanted: str) -> None:
    assert judge([AST, NAME, 40, CALL], "assistant", TrainOn(tool_calls=calls)) == wanted


def test_the_end_of_a_call_that_need_not_be_learnt_need_not_be_either() -> None:
    roles = scan([AST, NAME, 40, CALL, AST, NAME, 41, END])

    assert ask(roles, "assistant").ends.tolist() == [1]
    assert ask(roles, "assistant", TrainOn(tool_calls=True)).ends.tolist() == [0, 1]


def test_what_follows_the_end_is_allowed() -> None:
    assert judge([AST, NAME, 40, END, SEP, EOS], "assistant") == "..wwaa"


def test_an_unfinished_answer_has_no_end() -> None:
    expected = ask(scan([AST, NAME, 40]), "assistant")

    assert marks(expected, 3) == "..w"
    assert expected.ends.size == 0
    assert expected.answers.tolist() == [0]


def test_nothing_is_said_of_tokens_whose_speaker_is_unknown() -> None:
    assert judge([40, 41, END, USR, NAME, 30, END], "assistant") == "aa....."


def test_an_empty_answer_has_an_end() -> None:
    assert judge([AST, NAME, END], "assistant") == "..w"


def test_an_empty_answer_has_an_end_whatever_parts_others_have() -> None:
    roles = scan([AST, NAME, END, AST, NAME, THINK, 50, UNTHINK, END, AST, NAME, 40, END])

    assert ask(roles, "assistant").ends.tolist() == [0, 2]


@pytest.mark.parametrize("policy", ["assistant", "completion"])
def test_what_the_speaker_writes_of_a_header_may_be_learnt(policy: str) -> None:
    """Harmony: the channel."""
    roles = scan([USR, NAME, 30, 70, 60, 61, 71, 40, END], chat=CHANNELS)

    assert marks(ask(roles, policy), 9) == "....aaaww"


def test_where_the_next_header_ends_an_answer_its_first_token_is_wanted() -> None:
    roles = scan([AST, NAME, 40, USR, NAME, 30, AST, NAME, 41], chat=replace(CHAT, ends_at_next_header=True))

    assert marks(ask(roles, "assistant"), 9) == "..ww....w"


def test_an_end_marker_of_two_tokens_is_wanted_whole() -> None:
    end = Marker(ids=(60, 61), effect=Effect.CLOSE, tail=Tail((SEP,)))
    roles = scan([AST, NAME, 40, 60, 61, SEP, 30], chat=replace(CHAT, markers=(*CHAT.markers, end)))

    assert marks(ask(roles, "assistant"), 7) == "..wwwaa"


def test_under_completion_all_that_the_first_speaker_writes_may_be_learnt() -> None:
    ids = [USR, NAME, 30, END, 70, 60, 71, 40, END, USR, NAME, 31, END, 70, 61, 71, 41, END]

    assert marks(ask(scan(ids, chat=CHANNELS), "completion"), 18) == "....." + "a" * 11 + "ww"
