"""TGT009: answers whose end is not learnt."""

from __future__ import annotations

import pytest

from packlint.testing import check
from packlint_rules.targets.tgt009_untrained_end_of_turn import UntrainedEndOfTurn
from tests.rules.targets.chats import find, one, said


@pytest.mark.parametrize("example", UntrainedEndOfTurn.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(check(UntrainedEndOfTurn, example)) == 0


CHAT = [1, 4, 8, 31, 32, 7, 8, 5, 8, 51, 52, 53, 7, 8]
ANSWER = range(9, 13)


def test_message_counts_answers_and_terminators() -> None:
    packs = one(CHAT * 2, [*ANSWER, 23, 24, 25], seq_lens=[14, 14])

    assert said(packs) == {
        "TGT009": "2 finished answers, 1 trained terminator (untrained in first samples 0 of 1,"
        " in later ones 1 of 1); allowed: 0 untrained"
    }


@pytest.mark.parametrize("policy", ["all", "completion", "assistant", "last_assistant", "flagged"])
def test_under_every_policy(policy: str) -> None:
    assert find(UntrainedEndOfTurn, one(CHAT, [9, 10, 11], policy))[0] == {(0, 12)}
    assert find(UntrainedEndOfTurn, one(CHAT, ANSWER, policy))[0] == set()


def test_what_ends_the_text_may_be_masked() -> None:
    """torchtune#949: the end of turn is learnt, the end of text behind it is not."""
    packs = one([*CHAT[:13], 2], ANSWER, spec={"bos_id": 1, "eos_ids": [2]})

    assert find(UntrainedEndOfTurn, packs)[0] == set()


def test_end_of_text_does_not_stand_for_the_end_of_turn() -> None:
    """Gemma: the code looks for the end of text, the template ends turns with another token."""
    packs = one([*CHAT[:13], 2], [9, 10, 11, 13], spec={"bos_id": 1, "eos_ids": [2]})

    assert find(UntrainedEndOfTurn, packs)[0] == {(0, 12)}


def test_turns_that_the_next_header_ends() -> None:
    """GLM: the model stops at the marker of the next speaker."""
    ids = [1, 4, 31, 5, 51, 52, 4, 32, 5, 53]
    chat = {"markers": {"user": [4], "assistant": [5]}, "ends_at_next_turn": True}

    assert find(UntrainedEndOfTurn, one(ids, [4, 5, 9], chat=chat))[0] == {(0, 6)}
    assert find(UntrainedEndOfTurn, one(ids, [4, 5, 6, 9], chat=chat))[0] == set()


def test_a_cut_answer_is_not_finished() -> None:
    found, hits = find(UntrainedEndOfTurn, one(CHAT[:11], [9, 10]))

    assert found == set()
    assert hits.measured["judged_first"] == 0


def test_an_answer_that_is_not_learnt_needs_no_end() -> None:
    """TGT013 or TGT008 report it."""
    assert find(UntrainedEndOfTurn, one(CHAT + CHAT[1:], ANSWER))[0] == set()


def test_a_call_that_is_learnt_needs_its_end() -> None:
    """prime-rl#2644: whether calls are targets is open, but a learnt call must stop."""
    marks = {"user": [4], "assistant": [5], "end": [7], "separator": [8]}
    chat = {"markers": {**marks, "tool_call": {"start": [9], "stop": [10]}}}
    ids = [1, 4, 8, 31, 7, 5, 8, 9, 61, 10, 7]

    assert find(UntrainedEndOfTurn, one(ids, [7, 8, 9], chat=chat))[0] == {(0, 10)}
    assert find(UntrainedEndOfTurn, one(ids, [], chat=chat))[0] == set()
