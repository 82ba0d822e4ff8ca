"""Markdown: parsed by CommonMark with tables, nothing of the data is markup."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from packlint.reporters.markdown import render
from packlint.reporters.markdown_text import code, prose, table
from packlint.reporters.presentation import Presentation
from packlint.reporters.untrusted import visible
from tests.reporters.reports import (
    HOSTILE,
    MARKUP,
    clean_report,
    hostile_report,
    known_report,
    large_report,
    mixed_report,
)
from tests.reporters.test_golden_formats import SHOWN

PARSER = MarkdownIt("commonmark").enable("table")
INLINE = {
    "text",
    "code_inline",
    "strong_open",
    "strong_close",
    "softbreak",
    "hardbreak",
    "em_open",
    "em_close",
}


def inline_tokens(text: str) -> list[Any]:
    return [child for token in PARSER.parse(text) for child in token.children or ()]


def cell_texts(text: str) -> list[str]:
    tokens = PARSER.parse(text)
    cells = [tokens[i + 1] for i, token in enumerate(tokens) if token.type in ("td_open", "th_open")]
    return ["".join(child.content for child in cell.children or ()) for cell in cells]


@pytest.mark.parametrize("text", [HOSTILE, MARKUP])
def test_nothing_of_the_data_is_markup(text: str) -> None:
    out = render(hostile_report(text), SHOWN)

    assert {token.type for token in inline_tokens(out)} <= INLINE
    blocks = [token.content for token in PARSER.parse(out) if token.type == "html_block"]
    assert all(block.startswith(("<details><summary>", "</details>")) for block in blocks)
    assert all("@team" not in t.content for t in inline_tokens(out) if t.type != "code_inline")


@pytest.mark.parametrize("make", [prose, code])
@given(text=st.text(st.sampled_from("\\`|*_[]()<>!&#$~@:/.w -ab\u202e\n"), max_size=30))
def test_a_cell_shows_the_text(make: Any, text: str) -> None:
    shown = cell_texts(table(["head"], [[make(text, 400)]]))

    expected = visible(text)
    if make is code:
        expected = expected.replace("|", "\\x7c")
    assert len(shown) == 2
    assert shown[1].replace("\u200b", "").strip() == expected.strip()


@given(text=st.text(st.sampled_from("\\`|*_[]()<>!&#$~@:/.w -ab"), max_size=30))
def test_text_is_no_markup(text: str) -> None:
    assert {token.type for token in inline_tokens(f"x {prose(text)} {code(text)}")} <= {"text", "code_inline"}


def test_verdict_stands_first() -> None:
    assert render(mixed_report(), SHOWN).startswith(
        "## packlint: ❌ 7 errors, 1 warning in 7 of 7 shards and over the whole data set\n"
    )
    assert render(clean_report(), SHOWN).startswith(
        "## packlint: ✅ clean: 1 rule found nothing in 1 shard, "
    )


def test_not_checked_has_its_reason() -> None:
    text = render(mixed_report(), SHOWN)

    assert "<details><summary>Not checked: 3 rules</summary>" in text
    assert "| ISO004 non-causal-attention | dense\\_mask: none is stored |" in text


def test_known_stands_apart() -> None:
    text = render(known_report(), SHOWN)

    assert "5 known from .packlint-baseline.json" in text
    assert "<details><summary>Known from the baseline: 5 findings</summary>" in text
    assert "above the baseline, so new: 9 places, 8 before" in text
    assert "no longer found: 3 places before" in text


def test_large_reports_are_bounded() -> None:
    text = render(large_report(10, 10_000), Presentation())

    assert len(text.encode()) < 200_000
    assert "and 9,980 more findings" in text
