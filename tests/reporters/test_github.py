"""GitHub Actions: annotations as the runner reads them, and the job summary within its limit."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from packlint.reporters.github import MAX_SUMMARY_BYTES, render, shielded, summary
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

Command = tuple[str, dict[str, str], str]


def parse(line: str) -> Command:
    """Read a command as actions/runner does (src/Runner.Common/ActionCommand.cs)."""
    found = re.fullmatch(r"::(\w+)((?: [^:]*)?)::(.*)", line)
    assert found, line
    name, listed, message = found.groups()
    properties = dict(pair.split("=", 1) for pair in listed.strip().split(","))
    unescaped = {key: unescape(value, {"%3A": ":", "%2C": ","}) for key, value in properties.items()}
    return name, unescaped, unescape(message, {})


def unescape(text: str, more: dict[str, str]) -> str:
    for code, character in ({"%0D": "\r", "%0A": "\n"} | more).items():
        text = text.replace(code, character)
    return text.replace("%25", "%")


def commands(text: str) -> list[Command]:
    return [parse(line) for line in text.splitlines()]


def test_one_annotation_per_rule() -> None:
    found = commands(render(mixed_report(), SHOWN))

    assert [(name, properties["title"]) for name, properties, _ in found] == [
        ("error", "TGT001 loss-on-padding"),
        ("error", "SHD001 unreadable-shard"),
        ("warning", "FIL001 padding-waste"),
    ]
    assert found[0][1]["file"] == "packed/train-00000-of-00007.parquet"
    assert found[0][2].split("\n") == [
        "the loss asks for 9 padding tokens of 4,096 (24.4 %); allowed: 0",
        "6 shards: " + ", ".join(f"packed/train-{i:05d}-of-00007.parquet" for i in range(6)),
        "Fix: Set labels to -100 after padding.",
        "packlint explain TGT001",
    ]


def test_known_findings_are_not_annotated() -> None:
    (tgt, shd) = commands(render(known_report(), SHOWN))

    assert "the loss asks for 9" in tgt[2]
    assert "2 shards: " in tgt[2]
    assert shd[1]["title"] == "SHD001 unreadable-shard"


def test_clean_has_no_annotations() -> None:
    assert render(clean_report(), SHOWN) == ""


@pytest.mark.parametrize("text", [HOSTILE, MARKUP])
def test_hostile_strings_are_data(text: str) -> None:
    found = commands(render(hostile_report(text), SHOWN))

    assert [name for name, _, _ in found] == ["error", "error"]
    assert found[0][2] == visible(text)
    assert found[1][1]["file"] == visible(text)
    assert found[1][2].startswith(visible(text))


@pytest.mark.parametrize("n_rules", [9, 10, 11, 100])
def test_ten_annotations_at_most(n_rules: int) -> None:
    found = commands(render(large_report(n_rules, 3), SHOWN))

    assert len(found) == min(n_rules, 10)
    if n_rules > 10:
        assert found[-1][1]["title"] == f"packlint: {n_rules - 9} more rules"
        assert len(found[-1][2].split(", ")) == n_rules - 9


def test_internal_error_takes_one_of_the_ten() -> None:
    report = replace(large_report(12, 1), internal_errors=("TGT001 raised", "TGT002 raised"))
    found = commands(render(report, SHOWN))

    assert len(found) == 10
    assert found[0][1]["title"] == "packlint itself failed"


def test_100_000_findings() -> None:
    report = large_report(10, 10_000)

    assert len(render(report, SHOWN)) < 20_000
    assert len(summary(report, SHOWN).encode()) <= MAX_SUMMARY_BYTES


@pytest.mark.parametrize("n_bytes", [0, 100, 1_000, 5_000, 50_000])
def test_summary_keeps_to_its_bytes(n_bytes: int) -> None:
    report = replace(large_report(60, 100), internal_errors=("ü" * 300,))

    assert len(summary(report, Presentation(), n_bytes).encode()) <= n_bytes


def test_summary_says_what_it_leaves_out() -> None:
    text = summary(large_report(60, 100), Presentation(), 50_000)

    assert text.startswith("## packlint: ❌ 6,000 errors in 100 of 100 shards\n")
    assert "<details><summary>TGT000" in text
    assert re.search(r"\n\*\d+ sections left out for their size; the JSON report has all\.\*\n$", text)


def test_no_line_of_a_shielded_text_is_a_command() -> None:
    text = "::error::x\n  ::stop-commands::x\n::x::\n"
    first, *inside, last = shielded(text).splitlines()
    token = first.removeprefix("::stop-commands::")

    assert last == f"::{token}::"
    assert all(token not in line for line in inside)
    assert "\n".join(inside) + "\n" == text
