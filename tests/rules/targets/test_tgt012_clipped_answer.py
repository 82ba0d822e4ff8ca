"""TGT012: masks of answers that are off by one."""

from __future__ import annotations

import pytest

from packlint.testing import check
from packlint_rules.targets.tgt012_clipped_answer import ClippedAnswer
from tests.rules.targets.chats import find, one, said


@pytest.mark.parametrize("example", ClippedAnswer.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(check(ClippedAnswer, example)) == 0


CHAT = [1, 4, 8, 31, 32, 7, 8, 5, 8, 51, 52, 53, 7, 8]
ANSWER = range(9, 13)


def test_begins_late() -> None:
    assert find(ClippedAnswer, one(CHAT, [10, 11, 12]))[0] == {(0, 9)}
    assert find(ClippedAnswer, one(CHAT, [11, 12]))[0] == {(0, 9), (0, 10)}


def test_more_than_two_tokens_are_no_shift() -> None:
    assert find(ClippedAnswer, one(CHAT, [12]))[0] == set()


def test_the_whole_answer_may_be_one_token() -> None:
    ids = [*CHAT[:9], 51, 7]

    assert find(ClippedAnswer, one(ids, [10]))[0] == {(0, 9)}


def test_begins_early() -> None:
    assert find(ClippedAnswer, one(CHAT, [8, *ANSWER]))[0] == {(0, 8)}


def test_a_trained_part_of_the_header_of_an_untrained_answer_is_template() -> None:
    assert find(ClippedAnswer, one(CHAT + CHAT[1:], [8, *range(22, 26)]))[0] == set()


def test_ends_late() -> None:
    """Without separators the token behind the end is the next header's first."""
    ids = [1, 4, 8, 31, 7, 5, 8, 51, 52, 7, 4, 8, 32, 7, 5, 8, 53, 7]

    assert find(ClippedAnswer, one(ids, [7, 8, 9, 10, 16, 17]))[0] == {(0, 10)}
    assert find(ClippedAnswer, one(ids, [7, 8, 9, 10, 11, 16, 17]))[0] == set()  # a whole header: TGT006


def test_a_mask_moved_left_begins_early_and_loses_the_end() -> None:
    assert said(one(CHAT, [8, 9, 10, 11])).keys() == {"TGT009", "TGT012"}


def test_a_mask_moved_right_is_one_fault_where_a_separator_follows() -> None:
    packs = one(CHAT * 2, [*ANSWER, 24, 25, 26, 27], seq_lens=[14, 14])

    assert said(packs) == {
        "TGT012": "the loss of 1 answer begins up to 2 tokens late"
        " (in first samples 0 of 1, in later ones 1 of 1); allowed: 0"
    }


def test_marks_of_thinking_that_the_prompt_writes() -> None:
    """R1: the generation prompt opens the reasoning, so its mark is no target."""
    marks = {"user": [4], "assistant": [5], "end": [7], "separator": [8]}
    ids = [1, 4, 8, 31, 7, 5, 8, 9, 61, 62, 10, 51, 7]
    chat = {"markers": {**marks, "thinking": {"start": [9], "stop": [10]}}, "train_on": {"thinking": True}}

    assert said(one(ids, range(8, 13), chat=chat)) == {}


def test_both_kinds_are_counted() -> None:
    hits = check(ClippedAnswer, one(CHAT * 2, [10, 11, 12, *range(22, 27)], seq_lens=[14, 14]))

    assert (hits.measured["clipped"], hits.measured["overrun"], hits.measured["wrong_later"]) == (1, 1, 1)


def test_an_untrained_short_answer_is_not_clipped() -> None:
    ids = [*CHAT[:9], 51, 7, 8, *CHAT[1:]]

    assert find(ClippedAnswer, one(ids, range(20, 24)))[0] == set()


def test_a_long_part_of_a_long_header_is_template() -> None:
    marks = {"user": [4], "assistant": [5, 15, 16], "end": [7], "separator": [8]}
    packs = one([1, 4, 8, 31, 7, 8, 5, 15, 16, 8, 51, 7], range(7, 12), chat={"markers": marks})

    assert said(packs).keys() == {"TGT006"}


def test_a_sample_that_begins_with_its_answer() -> None:
    """The first token is TGT007's; the rest of the header is trained with it, so nothing is off by one."""
    packs = one([5, 8, 51, 52, 7], range(5))

    assert find(ClippedAnswer, packs)[0] == set()


def test_malformed_packs_are_not_judged() -> None:
    packs = one(CHAT, [8, 10, 11, 12], seq_lens=[9, 9])

    assert find(ClippedAnswer, packs)[0] == set()
