"""TGT013: answers that are not learnt, or with holes."""

from __future__ import annotations

import pytest

from packlint.testing import check
from packlint_rules.targets.tgt013_untrained_answer import UntrainedAnswer
from tests.rules.targets.chats import find, one, said


@pytest.mark.parametrize("example", UntrainedAnswer.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(check(UntrainedAnswer, example)) == 0


CHAT = [1, 4, 8, 31, 32, 7, 8, 5, 8, 51, 52, 53, 7, 8]
ANSWER = range(9, 13)
TWO = CHAT + CHAT[1:]
LAST = range(22, 26)


def test_a_hole() -> None:
    packs = one(CHAT, [9, 11, 12])

    assert said(packs) == {
        "TGT013": "1 answer token is no target (25 % of 4 answer tokens;"
        " in first samples 1 of 4, in later ones 0 of 0); allowed: 0"
    }


def test_an_answer_without_target_counts_with_its_end() -> None:
    assert find(UntrainedAnswer, one(TWO, LAST))[0] == {(0, place) for place in ANSWER}


@pytest.mark.parametrize("policy", ["completion", "last_assistant", "flagged"])
def test_earlier_answers_need_not_be_learnt(policy: str) -> None:
    assert find(UntrainedAnswer, one(TWO, LAST, policy))[0] == set()


@pytest.mark.parametrize("policy", ["completion", "last_assistant"])
def test_the_last_answer_must_be(policy: str) -> None:
    assert find(UntrainedAnswer, one(TWO, ANSWER, policy))[0] == {(0, place) for place in LAST}


def test_a_flagged_answer_is_learnt_whole() -> None:
    assert find(UntrainedAnswer, one(TWO, [*ANSWER, 22, 25], "flagged"))[0] == {(0, 23), (0, 24)}


def test_a_sample_without_target_is_not_counted_again() -> None:
    """TGT008 reports it."""
    assert find(UntrainedAnswer, one(CHAT * 2, ANSWER, seq_lens=[14, 14]))[0] == set()


def test_prompts_need_not_be_learnt_where_all_may() -> None:
    assert find(UntrainedAnswer, one(CHAT, ANSWER, "all"))[0] == set()
    assert find(UntrainedAnswer, one(CHAT, [9, 11, 12], "all"))[0] == {(0, 10)}


def test_thinking_and_calls_are_open_unless_declared() -> None:
    marks = {"user": [4], "assistant": [5], "end": [7], "separator": [8]}
    ids = [1, 4, 8, 31, 7, 5, 8, 9, 61, 62, 63, 64, 10, 51, 7]
    chat = {"markers": {**marks, "thinking": {"start": [9], "stop": [10]}}}
    declared = {**chat, "train_on": {"thinking": True}}

    assert find(UntrainedAnswer, one(ids, [13, 14], chat=chat))[0] == set()
    assert find(UntrainedAnswer, one(ids, [13, 14], chat=declared))[0] == {(0, i) for i in range(7, 13)}


def test_ends_that_only_labels_hold() -> None:
    """NeMo Automodel: the end of a sample is a label without a token; the answer counts as cut."""
    packs = one(CHAT[:12], [9, 10, 11], trainer="automodel", spec={"label_alignment": "preshifted"})
    packs["labels"] = [[-100] * 8 + [51, 52, 53, 7]]

    assert said(packs) == {}
