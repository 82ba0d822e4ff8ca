"""`packlint rules`, `packlint explain`, and the files that are written from them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from packlint.cli import catalogue as catalogue_module
from packlint.cli.catalogue import catalogue_from_rules, catalogue_json, read_catalogue
from packlint.registry import rule_modules
from packlint.reporters.rule_list import COMMAND, rules_markdown
from tests.cli.conftest import Run

ROOT = Path(__file__).parent.parent.parent


def fresh(command: str) -> str:
    return f"out of date, run: {command}"


def test_readme_is_fresh() -> None:
    catalogue = catalogue_from_rules()
    text = rules_markdown(catalogue.pages, catalogue.families)

    assert (ROOT / "rules" / "README.md").read_text(encoding="utf-8") == text, fresh(COMMAND)


def test_shipped_catalogue_is_fresh() -> None:
    spec = find_spec("packlint_rules")
    assert spec is not None
    assert spec.origin is not None
    shipped = Path(spec.origin).parent / "catalogue.json"
    command = "packlint rules --format json > rules/packlint_rules/catalogue.json"

    assert shipped.read_text(encoding="utf-8") == catalogue_json(catalogue_from_rules()), fresh(command)


def test_files_named_in_the_readme_exist() -> None:
    text = (ROOT / "rules" / "README.md").read_text(encoding="utf-8")
    paths = [part.split(")")[0] for part in text.split("](")[1:]]

    assert len(paths) == 2 * len(rule_modules())
    assert [path for path in paths if not (ROOT / "rules" / path).is_file()] == []


def test_both_ways_give_the_same_pages() -> None:
    read_catalogue.cache_clear()
    fast, slow = read_catalogue(), catalogue_from_rules()

    assert json.loads(catalogue_json(fast))["rules"] == json.loads(catalogue_json(slow))["rules"]
    assert dict(fast.families) == dict(slow.families)


def test_a_stale_catalogue_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue_module, "_digests", lambda point: {"a.py": "another"})
    read_catalogue.cache_clear()
    try:
        assert [page.code for page in read_catalogue().pages] == list(rule_modules())
    finally:
        read_catalogue.cache_clear()


@pytest.mark.parametrize("width", [60, 100, 200])
def test_rules_lists_all(run: Run, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("rules")

    assert result.code == 0
    assert all(code in result.out for code in rule_modules())
    assert max(map(len, result.out.splitlines())) <= width


def test_rules_as_json(run: Run) -> None:
    table = json.loads(run("rules", "--format", "json").out)

    assert [page["code"] for page in table["rules"]] == list(rule_modules())


def test_rules_as_markdown(run: Run) -> None:
    assert run("rules", "--format", "markdown").out.startswith("# Rules\n")


@pytest.mark.parametrize("code", list(rule_modules()))
def test_every_rule_can_be_explained(run: Run, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run("explain", code)

    assert result.code == 0
    assert result.out.startswith(code)
    assert "\nWhat it checks\n" in result.out
    assert "\nHow to fix\n" in result.out


def test_examples_are_drawn(run: Run) -> None:
    out = run("explain", "TGT001").out

    assert "\nBad" in out
    assert "\nGood" in out
    assert "input_ids" in out
    assert " │ " in out


@pytest.mark.parametrize("name", ["tgt001", "TGT001", "loss-on-padding"])
def test_rules_are_found_by_code_and_name(run: Run, name: str) -> None:
    assert run("explain", name).out.startswith("TGT001 loss-on-padding")


def test_explain_in_color_says_the_same(run: Run) -> None:
    out = run("explain", "TGT001", "--color", "always").out

    assert "\x1b[" in out
