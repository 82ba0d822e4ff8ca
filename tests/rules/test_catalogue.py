"""The catalogue: codes, names, files, classes, tests, pages and examples of all rules hold together."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import packlint_rules
from packlint.config import policy_from
from packlint.engine.scan import scan_batch
from packlint.engine.tally import ShardResult
from packlint.finding import Severity
from packlint.model.needs import Need, missing
from packlint.registry import families, find_profile, find_rule, load_rules, profile_names, rule_modules
from packlint.report import Report
from packlint.rule import (
    DatasetRule,
    DriftRule,
    PackRule,
    ReaderRule,
    ReferenceRule,
    Rule,
    Totals,
    documentation,
)
from packlint.testing import judge_drift, judge_example, lint, make_batch
from packlint_rules.catalogue import FAMILIES, PACKAGE, RULES

RULES_DIR = Path(packlint_rules.__file__).parent
TESTS_DIR = Path(__file__).parent
MAX_LINES = 110
HEADINGS = ["What it checks", "Why it matters", "How to fix", "Limits", "Sources"]

NAMES = {
    "ISO001": "cross-sample-attention",
    "ISO002": "attention-to-padding",
    "ISO003": "fragmented-sample",
    "ISO004": "non-causal-attention",
    "ISO005": "blind-token",
    "ISO006": "overriding-attention-mask",
    "BND001": "conflicting-boundaries",
    "BND002": "malformed-offsets",
    "BND003": "running-positions",
    "BND004": "broken-positions",
    "BND005": "padding-as-segment",
    "BND006": "inferred-boundaries",
    "BND007": "end-token-inside-segment",
    "BND008": "merged-segments",
    "BND009": "overlong-segment",
    "BND010": "interior-padding",
    "TGT001": "loss-on-padding",
    "TGT002": "loss-on-prompt",
    "TGT003": "loss-on-system",
    "TGT004": "loss-on-user",
    "TGT005": "loss-on-tool",
    "TGT006": "loss-on-template",
    "TGT007": "target-crosses-boundary",
    "TGT008": "untrained-sample",
    "TGT009": "untrained-end-of-turn",
    "TGT010": "shifted-labels",
    "TGT011": "foreign-label",
    "TGT012": "clipped-answer",
    "TGT013": "untrained-answer",
    "TGT014": "odd-loss-weight",
    "TGT015": "repeated-loss-mask",
    "TGT016": "place-dependent-mask",
    "TGT017": "empty-batch-loss",
    "SPC001": "missing-end-token",
    "SPC002": "missing-begin-token",
    "SPC003": "doubled-begin-token",
    "SPC004": "doubled-end-token",
    "SPC005": "missing-boundary",
    "SPC006": "pad-is-end-token",
    "SPC007": "broken-turns",
    "SPC008": "special-token-as-text",
    "SPC009": "invented-end-token",
    "SPC010": "foreign-rendering",
    "TOK001": "id-outside-vocabulary",
    "TOK002": "wrapped-ids",
    "TOK003": "foreign-tokenizer",
    "TOK004": "runaway-repetition",
    "SMP001": "lost-sample",
    "SMP002": "repeated-sample",
    "SMP003": "truncated-sample",
    "SMP004": "split-sample",
    "SMP005": "altered-sample",
    "SMP006": "unrecoverable-sample",
    "SMP007": "repeated-pack",
    "SMP008": "unbalanced-tokens",
    "SMP009": "broken-pair",
    "FIL001": "padding-waste",
    "FIL002": "loose-packing",
    "FIL003": "empty-pack",
    "FIL004": "odd-pack-length",
    "FIL005": "fragmented-mask",
    "FIL006": "unbalanced-attention-work",
    "FIL007": "unpacked-rows",
    "CTX001": "stitched-long-context",
    "CTX002": "short-samples-only",
    "DRF001": "category-drift",
    "DRF002": "length-drift",
    "DRF003": "token-drift",
    "DRF004": "vanished-category",
    "DRF005": "loss-weight-drift",
    "DRF006": "position-drift",
    "ORD001": "homogeneous-batches",
    "ORD002": "length-sorted-order",
    "ORD003": "shard-skew",
    "ORD004": "related-neighbours",
    "MAN001": "missing-manifest",
    "MAN002": "undeclared-field",
    "MAN003": "false-declaration",
    "EXP001": "failed-expectation",
    "SHD001": "unreadable-shard",
    "SHD002": "ragged-columns",
    "SHD003": "empty-shard",
    "SHD004": "repeated-shard",
    "SHD005": "missing-values",
    "SHD006": "incomplete-set",
}
"""Codes are for ever and name one fault each: this table only grows."""

STEMS = {stem[:6].upper(): stem for stem in RULES}
all_codes = pytest.mark.parametrize("code", sorted(NAMES))


KINDS = (PackRule, DatasetRule, ReaderRule, ReferenceRule, DriftRule)


def path_of(code: str) -> Path:
    return RULES_DIR / FAMILIES[code[:3]][0] / f"{STEMS[code]}.py"


@cache
def pack_rules() -> list[PackRule]:
    return [rule for rule in load_rules() if isinstance(rule, PackRule)]


def test_the_table_is_the_registry() -> None:
    assert len(RULES) == len(STEMS)
    assert {code: stem[7:].replace("_", "-") for code, stem in STEMS.items()} == NAMES
    assert set(PACKAGE.modules) == set(NAMES)
    assert NAMES.keys() <= rule_modules().keys()


def test_families_are_described() -> None:
    assert {code[:3] for code in NAMES} == set(FAMILIES)
    assert {name: families()[name] for name in FAMILIES} == {
        name: line for name, (_, line) in FAMILIES.items()
    }
    assert len({folder for folder, _ in FAMILIES.values()}) == len(FAMILIES)


def test_no_rule_file_is_left_out() -> None:
    files = {path for folder, _ in FAMILIES.values() for path in (RULES_DIR / folder).glob("*.py")}

    assert {path for path in files if path.name != "__init__.py"} == {path_of(code) for code in NAMES}


def test_no_test_file_is_left_over() -> None:
    stems = {path.stem for path in TESTS_DIR.glob("*/test_*.py")}

    assert {stem for stem in stems if re.fullmatch(r"test_[a-z]{3}\d{3}_.*", stem)} == {
        f"test_{stem}" for stem in RULES
    }


@all_codes
def test_code_file_class_name_and_test_belong_together(code: str) -> None:
    module = import_module(rule_modules()[code])
    defined = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    ]
    rules = [value for value in defined if issubclass(value, Rule)]
    rule = find_rule(code)

    assert Path(str(module.__file__)) == path_of(code)
    assert rules == [rule]
    assert rule.__name__ == "".join(word.capitalize() for word in NAMES[code].split("-"))
    assert (rule.meta.code, rule.meta.name, rule.meta.family) == (code, NAMES[code], code[:3])
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.meta.since)
    assert (TESTS_DIR / FAMILIES[code[:3]][0] / f"test_{STEMS[code]}.py").is_file()


@all_codes
def test_file_is_short_and_begins_with_its_name(code: str) -> None:
    text = path_of(code).read_text(encoding="utf-8")
    title = (ast.get_docstring(ast.parse(text)) or "").splitlines()

    assert len(text.splitlines()) <= MAX_LINES
    assert len(title) == 1
    assert title[0].startswith(f"{code} {NAMES[code]}: ")
    assert title[0].endswith(".")


@all_codes
def test_page_has_all_headings_in_order_and_none_empty(code: str) -> None:
    pages = documentation(find_rule(code))

    assert list(pages) == ["", *HEADINGS]
    assert all(pages.values())
    assert "\n" not in pages[""]
    assert pages[""].endswith(".")
    assert re.search(r"[\w-]+/[\w.-]+", pages["Sources"]), "neither an issue nor a file of a repository"


@all_codes
def test_reasons_and_remedies_are_one_line(code: str) -> None:
    rule = find_rule(code)

    for line in (rule.why, rule.fix):
        assert line.strip() == line != ""
        assert "\n" not in line
        assert line.endswith(".")


@all_codes
def test_kind_and_needs(code: str) -> None:
    rule = find_rule(code)

    assert sum(issubclass(rule, kind) for kind in KINDS) == 1
    assert not inspect.isabstract(rule)
    assert all(isinstance(need, Need) for need in rule.meta.needs)
    assert len(set(rule.meta.needs)) == len(rule.meta.needs)
    assert isinstance(rule.meta.severity, Severity)


@all_codes
def test_options_are_frozen_documented_and_have_defaults(code: str) -> None:
    options = find_rule(code).Options
    names = [field.name for field in dataclasses.fields(options)]
    instance: Any = options()

    assert all(f"{name}: " in (options.__doc__ or "") for name in names)
    for name in names:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(instance, name, None)


@all_codes
def test_examples_exist(code: str) -> None:
    rule = find_rule(code)

    if not issubclass(rule, ReaderRule):
        assert rule.good
        assert rule.bad


def examples(kind: str) -> list[Any]:
    """Return `(code, number)` of each example; a rule that cannot be loaded fails in its own test."""
    cases: list[Any] = []
    for code in sorted(NAMES):
        rule = find_rule(code)
        cases += [pytest.param(code, i, id=f"{code}-{i}") for i in range(len(getattr(rule, kind)))]
    return cases


@pytest.mark.parametrize(("code", "number"), examples("good"))
def test_good_has_no_error(code: str, number: int) -> None:
    rule = find_rule(code)
    batch = make_batch(rule.good[number])
    result = ShardResult()

    scan_batch(result, batch, pack_rules())

    assert result.errors == ()
    policy = batch.policy
    found = {
        other.meta.code: result.tallies[other.meta.code].exemplars
        for other in pack_rules()
        if other.meta.code not in policy.off and result.tallies[other.meta.code].n_hits
    }
    severity = {
        other.meta.code: policy.severities.get(other.meta.code) or other.severity(batch.shard)
        for other in pack_rules()
    }
    assert {c: places for c, places in found.items() if c == code or severity[c] == Severity.ERROR} == {}
    if issubclass(rule, ReferenceRule):
        report = lint(rule.good[number])
        assert [f.message for f in report.findings if f.code == code] == []
        assert status_of(report, code) == "clean"
    if issubclass(rule, DatasetRule):
        assert [reason for need in rule.meta.needs if (reason := missing(batch, need))] == []
        assert judge_example(rule, rule.good[number]) == []
    if issubclass(rule, DriftRule):
        assert judge_drift(rule, rule.good[number]) == []


@pytest.mark.parametrize(("code", "number"), examples("bad"))
def test_bad_is_found_by_its_own_rule_and_worded_in_one_line(code: str, number: int) -> None:
    rule = find_rule(code)()
    batch = make_batch(rule.bad[number])
    assert [reason for need in rule.meta.needs if (reason := missing(batch, need))] == []

    if isinstance(rule, ReferenceRule) or ("reference" in rule.bad[number] and isinstance(rule, DatasetRule)):
        report = lint(rule.bad[number])
        assert report.internal_errors == ()
        lines = [finding.message for finding in report.findings if finding.code == code]
    elif isinstance(rule, DatasetRule):
        lines = [judgement.message for judgement in judge_example(rule, rule.bad[number])]
    elif isinstance(rule, DriftRule):
        lines = [judgement.message for judgement in judge_drift(rule, rule.bad[number])]
    else:
        assert isinstance(rule, PackRule)
        result = ShardResult()
        scan_batch(result, batch, [rule])
        assert result.errors == ()
        lines = [rule.message(totals_of(result, code, batch.shard))] if result.tallies[code].n_hits else []

    assert lines
    for line in lines:
        assert line == line.strip() != ""
        assert "\n" not in line
        assert not line.endswith(".")


def status_of(report: Report, code: str) -> str:
    return next(entry.status.value for entry in report.rules if entry.code == code)


def totals_of(result: ShardResult, code: str, shard: Any) -> Totals:
    tally = result.tallies[code]
    counts: Mapping[str, int] = result.counts
    return Totals(
        shard=shard,
        n_hits=tally.n_hits,
        n_packs=tally.n_packs,
        n_segments=tally.n_segments,
        n_tokens=tally.n_tokens,
        amount=tally.amount,
        measured=tally.measured,
        checked=counts,
        worst=tally.exemplars[0],
    )


@pytest.mark.parametrize("name", profile_names())
def test_profiles_name_rules_that_exist_and_parse(name: str) -> None:
    table = find_profile(name)

    policy = policy_from(name, table, {})

    assert table["title"]
    assert set(table.get("rules", {})) <= set(NAMES)
    assert policy.off <= set(NAMES)
    assert set(policy.severities.values()) <= {severity.value for severity in Severity}
