"""TGT006: headers and ends of other speakers in the loss."""

from __future__ import annotations

import pytest

from packlint.testing import check
from packlint_rules.targets.tgt006_loss_on_template import LossOnTemplate
from tests.rules.targets.chats import find, one, said


@pytest.mark.parametrize("example", LossOnTemplate.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(check(LossOnTemplate, example)) == 0


ALL_ROLES = [1, 3, 8, 21, 7, 8, 4, 8, 31, 32, 7, 8, 5, 8, 51, 7, 8, 6, 8, 61, 62, 7, 8, 5, 8, 52, 7, 8]
TEMPLATE = [1, 2, 4, 5, 6, 7, 10, 11, 12, 13, 17, 18, 21, 22, 23, 24]
RIGHT = {14, 15, 25, 26}


def test_all_ones_mask() -> None:
    """Each token is one rule's; the first of the pack is nobody's."""
    packs = one(ALL_ROLES, range(28))

    assert find(LossOnTemplate, packs)[0] == {
        (0, place) for place in [1, 2, 4, 5, 6, 7, 10, 11, 12, 13, 17, 18, 21, 22, 23, 24]
    }
    assert said(packs).keys() == {"TGT003", "TGT004", "TGT005", "TGT006"}


@pytest.mark.parametrize("policy", ["completion", "all"])
def test_other_policies_have_other_rules(policy: str) -> None:
    assert find(LossOnTemplate, one(ALL_ROLES, range(28), policy))[0] == set()


def test_message_gives_the_places() -> None:
    packs = one(ALL_ROLES * 2, RIGHT | {28 + 4} | {28 + i for i in RIGHT}, seq_lens=[28, 28])

    assert said(packs) == {
        "TGT006": "1 template token is a target (2.38 % of 42 template tokens; in first samples 0 of 21,"
        " in later ones 1 of 21); allowed: 0"
    }


def test_separator_behind_a_learnt_answer_may_be_trained() -> None:
    assert find(LossOnTemplate, one(ALL_ROLES, RIGHT | {16, 27}))[0] == set()


def test_a_whole_header_is_template_and_a_part_of_it_a_mask_that_begins_early() -> None:
    assert find(LossOnTemplate, one(ALL_ROLES, RIGHT | {12, 13}))[0] == {(0, 12), (0, 13)}
    assert find(LossOnTemplate, one(ALL_ROLES, RIGHT | {13}))[0] == set()


def test_end_of_a_turn_that_began_in_another_pack() -> None:
    """XTuner cuts samples anywhere: the end marker belongs to an answer whose header is elsewhere."""
    ids = [52, 7, 8, *ALL_ROLES[6:16]]
    packs = one(ids, [0, 1, 11, 12], trainer="xtuner")

    assert find(LossOnTemplate, packs)[0] == set()
