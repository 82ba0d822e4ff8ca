"""The comparison on a terminal: fits every width, says the numbers, obeys nothing that the data says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from packlint.finding import Confidence, Finding, Severity
from packlint.report import Report, RuleReport, RuleStatus
from packlint.reporters import render
from packlint.reporters.presentation import Presentation
from packlint.reporters.terminal.drift import draw_drift
from packlint.summaries.drift.tables import drift_table
from packlint.testing import composition_of
from tests.reporters.reports import HOSTILE, clean_report
from tests.rules.drift.samples import Drawn, composition, draw

BOOKS = {
    "reference_tokens": 1000,
    "lost_tokens": 100,
    "repeated_tokens": 0,
    "special_tokens_added": -20,
    "packed_tokens": 880,
}


def two_sides(name: str = "books") -> dict[str, Any]:
    """Return the comparison of two sides of which one lost long samples; with labels, ids and specials."""
    drawn = draw(0, 4000, n_categories=3)
    drawn = replace(drawn, names=("web", name, "code"))
    packed: Drawn = drawn.take(drawn.lengths < 600)
    sides = composition(drawn), composition(packed)
    spec = {"config": {"spec": {"eos_ids": [2]}}}
    for side, ids in zip(sides, ([11, 12, 13], [11, 11, 14, 2]), strict=True):
        rows = {"input_ids": [ids] * 50, "seq_lens": [[len(ids)]] * 50, **spec}
        side.tokens = composition_of(rows).tokens
        side.name_specials("eos", [2])
    table = drift_table(*sides, reference_name="tokenized/", packed_name="packed/")
    lost = [{"shard": name, "row": i, "n_tokens": 700} for i in range(9)]
    return {
        **table,
        "conservation": BOOKS,
        "lost_samples": lost,
        "order": {"n_packs": 9, f"{name} alike in neighbours": 0.123456},
    }


def drawn_text(drift: dict[str, Any], **how: Any) -> str:
    presentation = Presentation(**how)
    paper = presentation.paper()
    draw_drift(paper, replace(clean_report(), drift=drift), presentation)
    return paper.text()


@pytest.mark.parametrize("width", [60, 72, 80, 100, 140, 200])
@pytest.mark.parametrize("unicode", [True, False])
def test_fits(width: int, unicode: bool) -> None:
    text = drawn_text(two_sides("a-rather-long-name-of-one-category"), width=width, unicode=unicode)

    assert max(map(len, text.splitlines())) <= width
    assert unicode or text.isascii()


def test_says_what_was_kept_and_what_moved() -> None:
    text = drawn_text(two_sides())

    assert "packed/ against tokenized/" in text
    assert [line.split() for line in text.splitlines()[2:6]] == [
        ["reference", "tokens", "1,000"],
        ["-", "lost", "tokens", "100"],
        ["-", "special", "tokens", "added", "20"],
        ["=", "packed", "tokens", "880"],
    ]
    for words in (
        "Lost samples",
        "and 4 more",
        "Shares by domain",
        "stability index",
        "Lengths of samples",
        "Jensen-Shannon",
        "2 eos",
        "per sample",
        "mean over packs",
        "alike they are: 0 shuffled, 1 sorted",
        "0.12",
        "at least so many tokens of their own sample",
    ):
        assert words in text
    assert "\n\n\n" not in text


def test_bars_stand_beside_their_numbers() -> None:
    table = two_sides()
    lines = drawn_text(table).splitlines()
    place = next(i for i, line in enumerate(lines) if line.split()[:2] == ["books", "reference"])

    column = table["columns"]["domain"]
    i = column["categories"].index("books")
    before, now = (column[side]["tokens"][i] for side in ("reference", "packed"))
    assert f"{before:.1%}" in lines[place]
    assert f"{now:.1%}" in lines[place + 1]
    assert lines[place + 1].endswith(f"{100 * (now - before):+.1f}")
    assert (lines[place].count("█") > lines[place + 1].count("█")) == (before > now)


def test_nothing_without_a_comparison() -> None:
    assert drawn_text({}) == ""
    assert "Drift" not in render("terminal", clean_report(), Presentation())


def test_only_the_books() -> None:
    assert drawn_text({"conservation": BOOKS}).splitlines()[0] == "Drift"


def test_parts_that_could_not_be_compared_are_left_out() -> None:
    table = two_sides() | dict.fromkeys(("lengths", "tokens", "positions", "context", "weights", "order"))
    text = drawn_text(table | {"columns": {}, "lost_samples": []})

    assert "Lengths" not in text
    assert "4,000" in text


def test_rules_mark_the_part_that_they_judge() -> None:
    finding = Finding(
        code="DRF001",
        name="category-drift",
        severity=Severity.WARNING,
        confidence=Confidence.CERTAIN,
        shard="",
        message="moved",
        n_hits=1,
        measured={"domain_js": 0.1},
    )
    rules = tuple(
        RuleReport(code=code, name="n", severity=Severity.WARNING, status=status)
        for code, status in (("DRF001", RuleStatus.FOUND), ("DRF002", RuleStatus.CLEAN))
    )
    table = two_sides()
    table["columns"]["language"] = table["columns"]["domain"]
    report: Report = replace(clean_report(), findings=(finding,), rules=rules, drift=table)
    paper = Presentation().paper()
    draw_drift(paper, report, Presentation())
    text = paper.text()

    assert "Shares by domain  ! DRF001 category-drift" in text
    assert "Shares by language  ✓ within limits" in text
    assert "Lengths of samples in tokens  ✓ within limits" in text
    assert "\n  Positions in samples\n" in text


def test_ids_are_decoded() -> None:
    text = drawn_text(two_sides(), decode=lambda ids: f"<{ids[0]}\n>")

    assert '"<14\\n>"' in text


def test_hostile_names_stay_text() -> None:
    table = two_sides(HOSTILE[:40])
    table["packed"]["name"] = HOSTILE
    text = drawn_text(table, decode=lambda ids: HOSTILE)

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\x07" not in text


def test_many_categories_show_those_that_moved() -> None:
    drawn = draw(0, 30_000, n_categories=40)
    kept = drawn.take((drawn.codes != 37) | (np.arange(30_000) % 9 == 0))
    table = drift_table(composition(drawn), composition(kept), reference_name="before", packed_name="now")

    short = drawn_text(table)
    assert "domain-37" in short
    assert "and 30 more values that moved less" in short
    assert "more values" not in drawn_text(table, verbose=True)
