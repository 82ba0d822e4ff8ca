"""TGT002: prompts in the loss."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.testing import check, make_batch
from packlint_rules.targets.tgt002_loss_on_prompt import LossOnPrompt
from tests.rules.targets.chats import find, one, random_chats, said


@pytest.mark.parametrize("example", LossOnPrompt.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(check(LossOnPrompt, example)) == 0


CHAT = [1, 4, 8, 31, 32, 7, 8, 5, 8, 51, 52, 53, 7, 8]
ANSWER = range(9, 13)


def test_all_ones_mask_is_a_prompt_fault_and_a_boundary_fault_per_sample() -> None:
    """The first token of a sample is predicted from another one, or from nothing: TGT007's."""
    packs = one(CHAT * 2, range(28), "completion", seq_lens=[14, 14])

    found, hits = find(LossOnPrompt, packs)

    assert found == {(0, place) for start in (0, 14) for place in range(start + 1, start + 9)}
    assert hits.measured == {
        "wrong_first": 8,
        "wrong_later": 8,
        "judged_first": 9,
        "judged_later": 9,
        "system_tokens": 0,
        "user_tokens": 4,
        "tool_tokens": 0,
        "template_tokens": 12,
    }
    assert said(packs) == {
        "TGT002": "16 prompt tokens are targets: 4 user, 12 template (88.9 % of 18 prompt tokens;"
        " in first samples 8 of 9, in later ones 8 of 9); allowed: 0"
    }


def test_turns_after_the_first_answer_may_be_targets() -> None:
    packs = one(CHAT + CHAT[1:], [*ANSWER, *range(14, 27)], "completion")

    assert find(LossOnPrompt, packs)[0] == set()


def test_a_sample_without_answer_is_prompt() -> None:
    assert find(LossOnPrompt, one(CHAT[:7], [3], "completion"))[0] == {(0, 3)}


def test_a_sample_that_lost_its_head_has_no_prompt_that_could_be_told() -> None:
    packs = one([51, 52, 7, 8, *CHAT[1:]], range(17), "completion")

    assert find(LossOnPrompt, packs)[0] == set()


def test_earlier_answers_are_prompt_when_the_last_one_is_meant() -> None:
    """LLaMA-Factory#10827: the ends of earlier answers stayed in the loss."""
    two = CHAT + CHAT[1:]
    packs = one(two, [11, 12, *range(22, 26)], "last_assistant")

    assert find(LossOnPrompt, packs)[0] == {(0, 11), (0, 12)}
    assert said(packs)["TGT002"].startswith("2 assistant tokens are targets that the policy leaves out (")


def test_thinking_that_is_declared_out() -> None:
    ids = [1, 4, 8, 31, 7, 5, 8, 9, 61, 10, 51, 7]
    marks = {"user": [4], "assistant": [5], "end": [7], "separator": [8]}
    chat = {"markers": {**marks, "thinking": {"start": [9], "stop": [10]}}}
    left_out = {**chat, "train_on": {"thinking": False}}

    assert find(LossOnPrompt, one(ids, [8, 10, 11], chat=left_out))[0] == {(0, 8)}
    assert find(LossOnPrompt, one(ids, [8, 10, 11], chat=chat))[0] == set()


def test_ends_of_turns_are_no_boundaries() -> None:
    """Nothing but end tokens parts the samples: where a prompt begins is not known, and said so."""
    packs = one(CHAT * 2, range(28), "completion")
    del packs["seq_lens"]
    rule = LossOnPrompt()
    batch = make_batch(packs)

    assert rule.unchecked(batch) is not None
    assert rule.unchecked(make_batch(one(CHAT, ANSWER, "completion"))) is None


def test_shifted_packs_are_one_fault() -> None:
    """Labels moved left for a trainer that moves them itself: TGT010 says so, once."""
    packs = one(CHAT, ANSWER)
    packs["labels"] = [[*packs["labels"][0][1:], -100]]

    assert said(packs) == {}


def test_padding_and_malformed_packs_are_other_rules_business() -> None:
    packs = one([*CHAT, 0, 0], [*ANSWER, 14, 15], "completion", seq_lens=[14])
    packs["attention_mask"] = [[1] * 14 + [0, 0]]

    assert find(LossOnPrompt, packs)[0] == set()


@settings(max_examples=10)
@given(st.integers(0, 2**32))
def test_judged_are_answers_where_answers_are_left_out(seed: int) -> None:
    chats = random_chats(np.random.default_rng(seed), n_packs=2, policy="last_assistant")
    _, hits = find(LossOnPrompt, chats.packs)

    judged = (hits.measured["judged_first"], hits.measured["judged_later"])
    assert judged == (chats.count("a", first=True), chats.count("a", first=False))
