"""Examples of rules, drawn: what must be seen at a glance, and that long ones stay short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from packlint.cli.catalogue import read_catalogue
from packlint.registry import find_rule, rule_modules
from packlint.reporters.example_view import draw_example
from packlint.reporters.paper import Paper
from packlint.reporters.rule_text import rule_text

CHAT = {"markers": {"user": [3, 20], "assistant": [[3, 21], [4]], "end": [7], "end_as_text": [[30, 31]]}}


def drawn(
    example: Mapping[str, Any], places: Sequence[tuple[int, int, int]] = (), width: int = 100
) -> list[str]:
    paper = Paper(width=width)
    draw_example(paper, example, places)
    return [line for line in paper.text().splitlines() if line.strip()]


def test_markers_stand_under_their_first_id() -> None:
    ids = [3, 20, 51, 7, 4, 30, 31, 7, 3]
    lines = drawn({"input_ids": [ids], "config": {"chat": CHAT}})

    assert lines[1:3] == [
        "  input_ids      3   20   51    7    4   30   31    7    3",
        "  chat        user            end asst            end",
    ]


@pytest.mark.parametrize("chat", [{}, {"chat": {"format": "chatml"}}, {"chat": {"markers": {"user": "<u>"}}}])
def test_no_markers_no_row(chat: dict[str, Any]) -> None:
    assert not any("chat  " in line for line in drawn({"input_ids": [[1, 2]], "config": chat})[:2])
    assert len([line for line in drawn({"input_ids": [[1, 2]]}) if line.startswith("  ")]) == 2


def test_equal_packs_are_drawn_once() -> None:
    ids = [[1, 2], [1, 2], [1, 2], [3, 4], [1, 2]]
    lines = drawn({"input_ids": ids})

    assert [line for line in lines if "pack" in line] == [
        "  packs 0 to 2, all alike",
        "  pack 3",
        "  pack 4",
    ]


def test_packs_that_are_found_are_not_like_others() -> None:
    lines = drawn({"input_ids": [[1, 2]] * 3}, [(1, 0, 2)])

    assert [line for line in lines if "pack" in line] == ["  pack 0", "  pack 1", "  pack 2"]


def test_a_few_packs_are_enough() -> None:
    lines = drawn({"input_ids": [[number] for number in range(7)]})

    assert [line for line in lines if "pack " in line] == [f"  pack {number}" for number in range(4)]
    assert lines[-1] == "  … 3 packs more"


def test_long_packs_are_drawn_at_their_ends_and_faults() -> None:
    lines = drawn(
        {"input_ids": [list(range(600))], "seq_lens": [[300, 300]]}, [(0, 299, 301), (0, 420, 421)], 80
    )

    assert len(lines) < 30
    shown = [
        int(cell) for line in lines if line.startswith("  slot") for cell in line.split() if cell.isdigit()
    ]
    assert {0, 299, 300, 420, 599} <= set(shown)
    skipped = [int(line.split()[1]) for line in lines if "slots more" in line]
    assert len(shown) + sum(skipped) == 600
    assert lines[-1].split(maxsplit=1) == ["seq_lens", "2 times 300"]


def test_settings_that_do_not_fit_have_a_line_each() -> None:
    config = {"profile": "sft", "trainer": "trl", "spec": {"bos_id": 1}}

    assert drawn({"input_ids": [[1]], "config": config})[-1].split(maxsplit=1)[1] == (
        'profile = "sft", trainer = "trl", spec = { bos_id = 1 }'
    )
    assert drawn({"input_ids": [[1]], "config": config}, width=50)[-3:] == [
        '  config    profile = "sft"',
        '            trainer = "trl"',
        "            spec = { bos_id = 1 }",
    ]


@pytest.mark.parametrize("code", list(rule_modules()))
def test_every_example_fits_a_screen(code: str) -> None:
    rule = find_rule(code)

    for example in (*rule.good, *rule.bad):
        assert len(drawn(example)) <= 40


def test_a_reference_is_drawn_above_the_packs() -> None:
    example = {
        "reference": {"input_ids": [[1, 11], [1, 12]], "metadata": {"domain": ["web", "law"]}},
        "input_ids": [[1, 11]],
        "metadata": {"domain": [["web"]]},
    }
    paper = Paper(width=80)
    draw_example(paper, example)

    assert [line.split() for line in paper.text().splitlines()] == [
        ["reference,", "before", "packing"],
        ["sample", "0"],
        ["slot", "0", "1"],
        ["input_ids", "1", "11"],
        ["domain", '"web"'],
        [],
        ["sample", "1"],
        ["slot", "0", "1"],
        ["input_ids", "1", "12"],
        ["domain", '"law"'],
        [],
        ["packs"],
        ["slot", "0", "1"],
        ["input_ids", "1", "11"],
        ["domain", '["web"]'],
    ]


def test_every_rule_can_be_explained() -> None:
    for page in read_catalogue().pages:
        assert rule_text(Paper(width=100), page, "a family").startswith(page.code)
