"""TGT005: results of tools in the loss."""

from __future__ import annotations

import pytest

from packlint.testing import check
from packlint_rules.targets.tgt005_loss_on_tool import LossOnTool
from tests.rules.targets.chats import find, one, said


@pytest.mark.parametrize("example", LossOnTool.good)
def test_good_gives_nothing(example: dict[str, object]) -> None:
    assert len(check(LossOnTool, example)) == 0


ALL_ROLES = [1, 3, 8, 21, 7, 8, 4, 8, 31, 32, 7, 8, 5, 8, 51, 7, 8, 6, 8, 61, 62, 7, 8, 5, 8, 52, 7, 8]
RIGHT = {14, 15, 25, 26}


def test_all_ones_mask() -> None:
    """Each token is one rule's; the first of the pack is nobody's."""
    packs = one(ALL_ROLES, range(28))

    assert find(LossOnTool, packs)[0] == {(0, place) for place in [19, 20]}
    assert said(packs).keys() == {"TGT003", "TGT004", "TGT005", "TGT006"}


@pytest.mark.parametrize("policy", ["completion", "all"])
def test_other_policies_have_other_rules(policy: str) -> None:
    assert find(LossOnTool, one(ALL_ROLES, range(28), policy))[0] == set()


def test_message_gives_the_places() -> None:
    packs = one(ALL_ROLES * 2, RIGHT | {28 + 19} | {28 + i for i in RIGHT}, seq_lens=[28, 28])

    assert said(packs) == {
        "TGT005": "1 tool token is a target (25 % of 4 tool tokens; in first samples 0 of 2,"
        " in later ones 1 of 2); allowed: 0"
    }
