"""The page by itself: whole, sealed, bounded, the same for the same report."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import unicodedata
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from packlint.finding import Location
from packlint.report import Report
from packlint.reporters import render
from packlint.reporters.presentation import Presentation
from tests.reporters.html.drifted import DRIFT, drifted_report
from tests.reporters.html.pages import SHOWN, Page, leaky_report, page_of
from tests.reporters.reports import (
    HOSTILE,
    MARKUP,
    clean_report,
    hostile_report,
    known_report,
    large_report,
    mixed_report,
)

REPORTS = {
    "clean": clean_report(),
    "mixed": mixed_report(),
    "known": known_report(),
    "hostile": hostile_report(),
    "markup": hostile_report(MARKUP),
    "leaky": leaky_report(),
    "drifted": drifted_report(DRIFT),
    "large": large_report(20, 50),
}


@pytest.fixture(params=REPORTS)
def report(request: pytest.FixtureRequest) -> Report:
    return REPORTS[request.param]


def test_needs_nothing_else(report: Report) -> None:
    page = page_of(report)

    assert all(value.startswith("#") for value in page.values("href"))
    for attribute in ("src", "srcset", "action", "data", "poster", "style", "background"):
        assert page.values(attribute) == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert page.count("style") == page.count("script") == 1


def test_policy_allows_just_its_own_style_and_script(report: Report) -> None:
    page = page_of(report)

    policy = next(a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for name in ("style", "script"):
        digest = hashlib.sha256("".join(page.content[name]).encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in policy
    assert "unsafe" not in policy
    assert "@import" not in "".join(page.content["style"])
    assert "url(#" in "".join(page.content["style"])
    assert "".join(page.content["style"]).count("url(") == "".join(page.content["style"]).count("url(#")


def test_names_are_unique_and_all_references_lead_somewhere(report: Report) -> None:
    page = page_of(report)

    names = Counter(page.values("id"))
    assert [name for name, n in names.items() if n > 1] == []
    for value in page.values("href"):
        assert value[1:] in names
    for value in page.values("aria-labelledby") + page.values("list"):
        assert value in names


def test_headings_skip_no_level(report: Report) -> None:
    levels = [int(tag[1]) for tag, _ in page_of(report).elements if tag in ("h1", "h2", "h3", "h4")]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_same_report_same_bytes(report: Report) -> None:
    typed = {entry.path: "/tmp/somewhere" for entry in report.inputs}
    other = replace(SHOWN, width=40, color=True, unicode=False, paths=typed, show_options=" --config /tmp")

    assert render("html", report, SHOWN) == render("html", report, other)
    assert render("html", report, SHOWN).endswith("</html>\n")


def test_verdict_and_numbers_come_first() -> None:
    text = page_of(mixed_report()).text

    assert text.index("7 errors, 1 warning in 7 of 7 shards") < text.index("2,457,600") < text.index("TGT001")


@pytest.mark.parametrize(
    "text", [HOSTILE, MARKUP, "x" * 5000, "\u05d0\u05d1\u05d2 .parquet", "a\u0301" * 300]
)
def test_no_string_of_the_data_changes_the_page(text: str) -> None:
    harmless, page = page_of(hostile_report("x")), render("html", hostile_report(text), SHOWN)

    assert Page(page).shape == harmless.shape
    assert Page(page).content == harmless.content
    wild = {c for c in page if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {"\n"}
    assert wild == set()
    page.encode("utf-8")


@pytest.mark.parametrize("text", [HOSTILE, MARKUP])
def test_no_decoded_token_changes_the_page(text: str) -> None:
    shown = replace(SHOWN, decode=lambda ids: text)
    harmless = replace(SHOWN, decode=lambda ids: "x")
    page = render("html", leaky_report(), shown)

    assert Page(page).shape == page_of(leaky_report(), harmless).shape
    assert {c for c in page if unicodedata.category(c) in ("Cc", "Cf", "Cs")} == {"\n"}


def test_hostile_drift_changes_nothing() -> None:
    def poisoned(value: object, text: str) -> object:
        if isinstance(value, dict):
            return {key: poisoned(part, text) for key, part in value.items()}
        if isinstance(value, list):
            return [poisoned(part, text) for part in value]
        return text if isinstance(value, str) else value

    pages = [page_of(drifted_report(poisoned(DRIFT, text))) for text in ("x", HOSTILE, MARKUP)]  # type: ignore[arg-type]

    assert pages[0].shape == pages[1].shape == pages[2].shape


def test_what_is_not_listed_is_counted() -> None:
    page = page_of(large_report(10, 400))

    listed = page.with_class("finding")
    assert len(listed) == 10 * 150
    assert page.text.count("and 250 more findings; the JSON report has all") == 10
    assert "4,000 errors in 400 of 400 shards" in page.text


@pytest.mark.parametrize(("n_rules", "n_shards"), [(10, 10_000), (1_000, 100)])
def test_100_000_findings_make_a_bounded_page(n_rules: int, n_shards: int) -> None:
    page = render("html", large_report(n_rules, n_shards), Presentation())

    assert len(page.encode()) < 4_000_000


def test_a_typical_page_is_small() -> None:
    assert len(render("html", leaky_report(), SHOWN).encode()) < 300_000


def test_known_findings_stand_apart() -> None:
    page = page_of(known_report())

    states = Counter(a["data-state"] for a in page.with_class("finding"))
    assert states["known"] == len(known_report().known_findings) > 0
    assert states["new"] == len(known_report().new_findings) > 0
    assert "above the baseline, so new" in page.text
    assert ".packlint-baseline.json" in page.text


def test_says_what_was_not_looked_at() -> None:
    text = page_of(mixed_report()).text

    assert "3 rules could not look" in text
    assert "vocab_size: unknown; give [spec] vocab_size TOK002 wrapped-ids" in text
    assert "ignored: the model was trained so SPC006" in text
    assert "not checked in 100 of 700 rows" in text


def test_internal_errors_come_before_findings() -> None:
    page = page_of(replace(mixed_report(), internal_errors=("TGT001 raised ValueError",), exit_code=2))

    assert page.text.index("TGT001 raised ValueError") < page.text.index("loss-on-padding")


def test_rule_page_is_folded_in() -> None:
    page = page_of(mixed_report())

    assert "What it checks Targets j that are padding:" in page.text
    assert "max_targets = 0 int. How many." in page.text
    assert page.count("pre") == 1
    assert ("li", {}) in page.elements


def test_rule_page_shows_the_fault_and_its_absence() -> None:
    rule = replace(
        SHOWN.pages["TGT001"],
        bad=({"input_ids": [[5, 0]], "labels": [[5, 0]]},),
        good=({"input_ids": [[5, 0]], "labels": [[5, -100]]},),
        places=(((0, 1, 2),),),
    )
    page = page_of(mixed_report(), replace(SHOWN, pages={"TGT001": rule}))

    assert "The fault, in the smallest packs slot 0 1 input_ids 5 0 labels 5 0 found \u25b2" in page.text
    assert "The same without it slot 0 1 input_ids 5 0 labels 5 -100" in page.text


def test_conventions_and_inputs_are_told() -> None:
    text = page_of(mixed_report()).text

    assert "max_seq_len 4096 config" in text
    assert "eos_ids 2 detected 98 of 100 segments end so" in text
    assert "could not be read" in text
    assert "columns input_ids, labels, seq_lengths: TRL, bfd packing" in text


def test_declared_values_that_do_not_hold() -> None:
    report = mixed_report()
    finding = replace(
        report.findings[0],
        code="MAN003",
        name="false-declaration",
        shard="",
        message="1 declared value does not hold",
        locations=(Location(shard="m.json", pack=-1, note="n_packs 2 (counted 1)"),),
    )
    text = page_of(replace(report, findings=(*report.findings, finding))).text

    assert "declared, not so m.json n_packs 2 (counted 1)" in text


def test_text_of_a_place_where_tokens_cannot_be_decoded() -> None:
    report = mixed_report()
    place = report.findings[1].locations[0]

    page = page_of(replace(report, texts={place: "the decoded\ttext"}))

    assert "the decoded\\ttext" in page.text


def test_reporters_do_not_import_jinja() -> None:
    code = "import sys, packlint.reporters, packlint.reporters.html; sys.exit('jinja2' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
