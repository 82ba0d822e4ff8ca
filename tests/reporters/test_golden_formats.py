"""Every format of two small reports, byte for byte; and what all formats have in common.

`PACKLINT_WRITE_GOLDEN=1 pytest tests/reporters` writes the golden files anew.
"""

from __future__ import annotations

import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from packlint.reporters import REPORTERS, render
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.rule_page import RulePage
from tests.reporters.reports import HOSTILE, MARKUP, clean_report, hostile_report, known_report, mixed_report

GOLDEN = Path(__file__).parent / "golden"
FORMATS = sorted({*REPORTERS} - {"terminal", "json", "html"})
ENDINGS = {"junit": "junit.xml", "gitlab": "gitlab.json", "markdown": "md", "github": "github.txt"}
PAGE = RulePage(
    code="TGT001",
    name="loss-on-padding",
    severity="error",
    since="0.1.0",
    says="The loss asks for padding",
    why="The model learns to write padding.",
    sections={"What it checks": "Targets `j` that are padding.", "How to fix": "Mask them."},
)
SHOWN = Presentation(
    advice={"TGT001": Advice("The model learns to write padding.", "Set labels to -100 after padding.")},
    pages={"TGT001": PAGE},
)


@pytest.mark.parametrize("format_name", FORMATS)
def test_golden(format_name: str) -> None:
    text = render(format_name, known_report(), SHOWN)
    file = GOLDEN / f"known.{ENDINGS.get(format_name, format_name)}"
    if os.environ.get("PACKLINT_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")

    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("format_name", FORMATS)
def test_same_report_same_bytes(format_name: str) -> None:
    assert render(format_name, mixed_report(), SHOWN) == render(format_name, mixed_report(), SHOWN)


@pytest.mark.parametrize("format_name", FORMATS)
def test_width_and_color_are_for_terminals(format_name: str) -> None:
    narrow = replace(SHOWN, width=40, color=True, unicode=False)

    assert render(format_name, mixed_report(), narrow) == render(format_name, mixed_report(), SHOWN)


@pytest.mark.parametrize("text", [HOSTILE, MARKUP])
@pytest.mark.parametrize("format_name", FORMATS)
def test_no_character_of_the_data_is_obeyed(format_name: str, text: str) -> None:
    out = render(format_name, hostile_report(text), SHOWN)

    wild = {c for c in out if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}
    assert wild == set()
    out.encode("utf-8")


@pytest.mark.parametrize("format_name", FORMATS)
def test_clean_report(format_name: str) -> None:
    text = render(format_name, clean_report(), SHOWN)

    assert text.endswith("\n") or format_name in ("github", "jsonl")
    assert "TGT001" not in text or format_name in ("junit", "sarif")
