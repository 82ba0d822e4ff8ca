"""TGT004: the user's text in the loss."""

from __future__ import annotations

import pytest

from packlint.testing import check
from packlint_rules.targets.tgt004_loss_on_user import LossOnUser
from tests.rules.targets.chats import find, one, said


@pytest.mark.parametrize("example", LossOnUser.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(check(LossOnUser, example)) == 0


ALL_ROLES = [1, 3, 8, 21, 7, 8, 4, 8, 31, 32, 7, 8, 5, 8, 51, 7, 8, 6, 8, 61, 62, 7, 8, 5, 8, 52, 7, 8]
RIGHT = {14, 15, 25, 26}


def test_all_ones_mask() -> None:
    """Each token is one rule's; the first of the pack is nobody's."""
    packs = one(ALL_ROLES, range(28))

    assert find(LossOnUser, packs)[0] == {(0, place) for place in [8, 9]}
    assert said(packs).keys() == {"TGT003", "TGT004", "TGT005", "TGT006"}


@pytest.mark.parametrize("policy", ["completion", "all"])
def test_other_policies_have_other_rules(policy: str) -> None:
    assert find(LossOnUser, one(ALL_ROLES, range(28), policy))[0] == set()


def test_message_gives_the_places() -> None:
    packs = one(ALL_ROLES * 2, RIGHT | {28 + 8} | {28 + i for i in RIGHT}, seq_lens=[28, 28])

    assert said(packs) == {
        "TGT004": "1 user token is a target (25 % of 4 user tokens; in first samples 0 of 2,"
        " in later ones 1 of 2); allowed: 0"
    }


def test_a_user_after_the_answer() -> None:
    """prime-rl#978: only the first prompt was masked."""
    ids = ALL_ROLES + ALL_ROLES[6:16]
    assert find(LossOnUser, one(ids, [*RIGHT, 30, 31, 36, 37]))[0] == {(0, 30), (0, 31)}


def test_text_whose_speaker_is_cut_off_is_nobodys() -> None:
    ids = ALL_ROLES[8:]

    assert find(LossOnUser, one(ids, range(4)))[0] == set()
