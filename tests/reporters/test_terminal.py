"""The report on a terminal: golden texts, and strings that try to take it over.

`PACKLINT_WRITE_GOLDEN=1 pytest tests/reporters/test_terminal.py` writes the golden texts anew.
"""

from __future__ import annotations

import os
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from packlint.baseline import make_baseline
from packlint.finding import Severity
from packlint.report import Report, hold_against
from packlint.reporters.presentation import Advice, Presentation
from packlint.reporters.terminal import render
from tests.reporters.reports import HOSTILE, clean_report, hostile_report, known_report, mixed_report

GOLDEN = Path(__file__).parent / "golden"
ADVICE = {
    "TGT001": Advice("The model learns to write padding.", "Set labels to -100 after padding, not before.")
}
PATHS = {"packed/train-00000-of-00007.parquet": "data/packed/train-00000-of-00007.parquet"}
PLAIN = Presentation(advice=ADVICE, paths=PATHS)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def decode(ids: tuple[int, ...]) -> str:
    return "".join("<pad>" if i == 0 else f" word{i}" for i in ids)


CASES = {
    "width-60": (mixed_report(), replace(PLAIN, width=60)),
    "width-100": (mixed_report(), replace(PLAIN, width=100)),
    "width-200": (mixed_report(), replace(PLAIN, width=200)),
    "ascii": (mixed_report(), replace(PLAIN, unicode=False)),
    "decoded": (mixed_report(), replace(PLAIN, decode=decode)),
    "verbose": (mixed_report(), replace(PLAIN, verbose=True)),
    "quiet": (mixed_report(), replace(PLAIN, quiet=True)),
    "clean": (clean_report(), PLAIN),
    "known": (known_report(), PLAIN),
    "hostile": (hostile_report(), replace(PLAIN, verbose=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    report, presentation = CASES[name]
    text = render(report, presentation)
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("PACKLINT_WRITE_GOLDEN"):
        file.write_text(text, encoding="utf-8")

    assert file.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", CASES)
def test_color_only_adds_color(name: str) -> None:
    report, presentation = CASES[name]
    colored = render(report, replace(presentation, color=True))

    assert ANSI.search(colored)
    plain = [line.rstrip() for line in ANSI.sub("", colored).split("\n")]
    assert plain == [line.rstrip() for line in render(report, presentation).split("\n")]


@pytest.mark.parametrize("width", [60, 80, 100, 133, 200])
def test_no_line_is_wider_than_asked_but_commands(width: int) -> None:
    for report in (mixed_report(), clean_report(), known_report()):
        lines = render(report, replace(PLAIN, width=width)).splitlines()
        assert all(len(line) <= width for line in lines if not line.startswith("  packlint "))


def test_ascii_report_is_ascii() -> None:
    for report in (mixed_report(), hostile_report()):
        assert render(report, replace(PLAIN, unicode=False, verbose=True)).isascii()


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("quiet", [False, True])
def test_nothing_from_the_data_is_obeyed(color: bool, quiet: bool) -> None:
    presentation = Presentation(
        color=color,
        quiet=quiet,
        decode=lambda ids: HOSTILE,
        advice={"TGT001": Advice(HOSTILE, HOSTILE)},
        paths={HOSTILE: HOSTILE},
    )
    text = (
        ANSI.sub("", render(hostile_report(), presentation))
        if color
        else render(hostile_report(), presentation)
    )

    wild = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert wild == set()
    joined = " ".join(text.split())
    assert "[bold]b[/]" in joined
    assert r"\u202e" in joined
    assert r"\x1b[31m" in joined


def test_the_same_report_gives_the_same_text() -> None:
    assert render(mixed_report(), PLAIN) == render(mixed_report(), PLAIN)


def test_findings_below_the_limit_say_so() -> None:
    report = replace(mixed_report(), exit_code=0)

    assert "below --fail-on error, exit 0" in " ".join(render(report, PLAIN).split())


def test_not_checked_is_never_shown_as_clean() -> None:
    text = render(clean_report(), PLAIN)

    assert text.startswith("✓ clean: 1 rule found nothing in 1 shard, 1 could not be checked\n")
    assert "Not checked" in text


def test_only_known_findings_are_nothing_new() -> None:
    report = mixed_report()
    report = replace(report, findings=tuple(f for f in report.findings if f.code != "SHD001"))
    held = hold_against(report, replace(make_baseline(report.findings), source="b.json"), Severity.INFO)
    text = render(held, PLAIN)

    assert held.exit_code == 0
    assert text.startswith("✓ nothing new; 7 known from b.json\n")
    assert "Next" not in text
    assert render(held, replace(PLAIN, quiet=True)) == "✓ nothing new; 7 known from b.json\n"


def test_a_place_longer_than_its_context_is_cut() -> None:
    report = mixed_report()
    finding = report.findings[-2]
    place = replace(finding.locations[0], stop=4000)
    cut: Report = replace(report, findings=(replace(finding, locations=(place,)),))

    assert "… 5 6 7 8 9 10 [0 0 0 0 11 12 …]" in render(cut, PLAIN)


@pytest.mark.parametrize("quiet", [False, True])
def test_the_worst_shards_come_first(quiet: bool) -> None:
    shards = [f"{letter}.parquet" for letter in "abcdefgh"]
    found = next(f for f in mixed_report().findings if f.code == "TGT001")
    sizes = dict(zip(shards, (3, 1, 4, 1, 5, 9, 2, 6), strict=True))
    findings = tuple(replace(found, shard=s, n_tokens=n, locations=()) for s, n in sizes.items())
    text = render(replace(mixed_report(), findings=findings, inputs=()), replace(PLAIN, quiet=quiet))

    told = [line.strip() for line in text.splitlines() if ".parquet" in line]
    shown = [next(shard for shard in shards if shard in line) for line in told]
    assert shown[:4] == ["f.parquet", "h.parquet", "e.parquet", "c.parquet"]
    assert quiet or shown == shown[:4]
