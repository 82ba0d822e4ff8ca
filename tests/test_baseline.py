"""The baseline: fixed findings leave it, new ones fail, counts ratchet, order of shards does not matter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from packlint.baseline import COUNTS, Baseline, make_baseline, parse_baseline
from packlint.errors import ConfigError
from packlint.finding import BaselineState, Confidence, Finding, Severity
from packlint.report import InputReport, ProfileReport, Report, RuleReport, RuleStatus, hold_against

CODES = ("BND001", "FIL001", "TGT001", "TGT008")
SHARDS = ("", "a.parquet", "b.parquet", "c/d.parquet")


def finding(code: str, shard: str, n: int = 5, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        code=code,
        name=f"fault-{code.lower()}",
        severity=severity,
        confidence=Confidence.CERTAIN,
        shard=shard,
        message=f"{n} places",
        n_hits=n,
        n_packs=n,
        n_segments=n,
        n_tokens=10 * n,
    )


def report_of(findings: Sequence[Finding], **changes: Any) -> Report:
    found = {f.code for f in findings}
    rules = [
        RuleReport(
            code=code,
            name=f"fault-{code.lower()}",
            severity=Severity.ERROR,
            status=RuleStatus.FOUND if code in found else RuleStatus.CLEAN,
        )
        for code in sorted({*CODES, *found})
    ]
    table: dict[str, Any] = {
        "version": "0",
        "exit_code": int(bool(findings)),
        "profile": ProfileReport(name="sft", source="config", why=""),
        "inputs": tuple(InputReport(path=shard, format="parquet") for shard in SHARDS if shard),
        "rules": tuple(rules),
        "findings": tuple(findings),
    }
    return Report(**(table | changes))


def hold(report: Report, baseline: Baseline) -> Report:
    return hold_against(report, baseline, Severity.ERROR)


def changes_of(report: Report) -> dict[tuple[str, str], str]:
    assert report.baseline is not None
    return {(change.code, change.shard): change.change for change in report.baseline.changes}


KEYS = st.tuples(st.sampled_from(CODES), st.sampled_from(SHARDS))
FOUND = st.dictionaries(KEYS, st.integers(1, 9), max_size=8)


def findings_of(found: dict[tuple[str, str], int]) -> list[Finding]:
    return [finding(*key, n) for key, n in found.items()]


@given(FOUND)
def test_a_report_passes_its_own_baseline(found: dict[tuple[str, str], int]) -> None:
    report = report_of(findings_of(found))
    held = hold(report, make_baseline(report.findings))

    assert held.exit_code == 0
    assert held.new_findings == ()
    assert changes_of(held) == {}


@given(FOUND, FOUND)
def test_new_is_what_is_above_its_ceiling(
    before: dict[tuple[str, str], int], now: dict[tuple[str, str], int]
) -> None:
    held = hold(report_of(findings_of(now)), make_baseline(findings_of(before)))

    more = {key for key, n in now.items() if n > before.get(key, 0)}
    assert {(f.code, f.shard) for f in held.new_findings} == more
    assert held.exit_code == int(bool(more))
    assert changes_of(held) == (
        {key: "risen" for key, n in now.items() if n > before.get(key, 99)}
        | {key: "fallen" for key, n in now.items() if n < before.get(key, 0)}
        | {key: "gone" for key in before if key not in now}
    )


@given(FOUND, st.randoms())
def test_order_does_not_matter(found: dict[tuple[str, str], int], random: Any) -> None:
    findings = findings_of(found)
    shuffled = random.sample(findings, len(findings))

    assert make_baseline(findings).to_json() == make_baseline(shuffled).to_json()


@given(FOUND, FOUND)
def test_writing_it_anew_never_raises_a_ceiling_that_held(
    before: dict[tuple[str, str], int], now: dict[tuple[str, str], int]
) -> None:
    old = make_baseline(findings_of(before))
    held = hold(report_of(findings_of(now)), old)
    new = make_baseline(held.known_findings)

    assert all(new.entries[key][name] <= old.entries[key][name] for key in new.entries for name in COUNTS)


@given(FOUND)
def test_text_and_back(found: dict[tuple[str, str], int]) -> None:
    baseline = make_baseline(findings_of(found))

    assert parse_baseline(baseline.to_json(), "") == baseline


@pytest.mark.parametrize("name", COUNTS)
def test_every_count_is_a_ceiling(name: str) -> None:
    old = finding("TGT001", "a.parquet")
    baseline = make_baseline([old])

    risen = hold(report_of([replace(old, **{name: getattr(old, name) + 1})]), baseline)
    fallen = hold(report_of([replace(old, **{name: getattr(old, name) - 1})]), baseline)
    assert risen.exit_code == 1
    assert changes_of(risen) == {("TGT001", "a.parquet"): "risen"}
    assert fallen.exit_code == 0
    assert changes_of(fallen) == {("TGT001", "a.parquet"): "fallen"}


def test_the_same_rule_in_another_shard_is_new() -> None:
    held = hold(report_of([finding("TGT001", "b.parquet")]), make_baseline([finding("TGT001", "a.parquet")]))

    assert held.exit_code == 1


def test_several_findings_of_a_rule_on_the_data_set_share_a_ceiling() -> None:
    both = [finding("FIL001", "", 2), finding("FIL001", "", 3)]
    baseline = make_baseline(both)

    assert baseline.entries["FIL001", ""]["n_hits"] == 5
    assert hold(report_of(both), baseline).exit_code == 0
    assert hold(report_of([*both, finding("FIL001", "", 1)]), baseline).exit_code == 1


def test_only_new_findings_at_the_limit_fail() -> None:
    known = finding("TGT001", "a.parquet")
    warning = finding("TGT008", "a.parquet", severity=Severity.WARNING)
    report, baseline = report_of([known, warning]), make_baseline([known])

    assert hold_against(report, baseline, Severity.ERROR).exit_code == 0
    assert hold_against(report, baseline, Severity.WARNING).exit_code == 1


def test_unreadable_shards_are_never_known() -> None:
    broken = finding("SHD001", "a.parquet")
    baseline = make_baseline([broken, finding("TGT001", "a.parquet")])

    assert list(baseline.entries) == [("TGT001", "a.parquet")]
    assert hold(report_of([broken]), baseline).exit_code == 1


def test_internal_errors_stay_internal_errors() -> None:
    report = report_of([finding("TGT001", "a.parquet")], internal_errors=("TGT008 raised",), exit_code=2)

    assert hold(report, make_baseline(report.findings)).exit_code == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"inputs": (InputReport(path="b.parquet", format="parquet"),)},
        {"inputs": (InputReport(path="a.parquet", format="unreadable"),)},
        {"findings": (finding("SHD001", "a.parquet"),)},
        {"internal_errors": ("TGT001 raised",)},
        {"rules": ()},
        {"status": RuleStatus.NOT_CHECKED},
        {"status": RuleStatus.OFF},
        {"reasons": ("only in part",)},
    ],
    ids=str,
)
def test_what_was_not_looked_at_is_not_gone(changes: dict[str, Any]) -> None:
    report = report_of([])
    rules = {name: changes.pop(name) for name in ("status", "reasons") if name in changes}
    report = replace(report, rules=tuple(replace(rule, **rules) for rule in report.rules))
    held = hold(replace(report, **changes), make_baseline([finding("TGT001", "a.parquet")]))

    assert changes_of(held) == {("TGT001", "a.parquet"): "unchecked"}


def test_the_whole_data_set_is_not_looked_at_where_a_shard_was_not() -> None:
    baseline = make_baseline([finding("FIL001", "")])

    assert changes_of(hold(report_of([]), baseline)) == {("FIL001", ""): "gone"}
    broken = report_of([finding("SHD001", "a.parquet")])
    assert changes_of(hold(broken, baseline)) == {("FIL001", ""): "unchecked"}


def test_without_a_baseline_all_is_new() -> None:
    report = report_of([finding("TGT001", "a.parquet")])

    assert report.findings[0].baseline is BaselineState.NEW
    assert report.to_dict()["baseline"] is None


ENTRY = {"code": "TGT001", "shard": "a", "n_hits": 1, "n_packs": 1, "n_segments": 0, "n_tokens": 0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty; run `packlint baseline PATH"),
        ("{", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", '"schema" must be'),
        ('{"schema": "packlint/baseline/v2", "entries": []}', '"schema" must be'),
        ('{"schema": "packlint/baseline/v1"}', "entries must be a list"),
        ([1], "entry 0 must have code, shard, n_hits"),
        ([{"code": "TGT001"}], "entry 0 must have"),
        ([ENTRY | {"more": 1}], "entry 0 must have"),
        ([ENTRY, ENTRY | {"code": 1}], "entry 1: code and shard must be strings"),
        ([ENTRY | {"n_hits": -1}], "entry 0: counts must be integers"),
        ([ENTRY | {"n_hits": True}], "entry 0: counts must be integers"),
        ([ENTRY | {"n_hits": 1.5}], "entry 0: counts must be integers"),
        ([ENTRY, ENTRY], "TGT001 in a stands there twice"),
        ([ENTRY | {"code": "SHD001"}], "SHD001 is never in a baseline"),
    ],
)
def test_faulty_files_say_what_is_wrong(text: Any, said: str) -> None:
    if isinstance(text, list):
        text = json.dumps({"schema": "packlint/baseline/v1", "entries": text})

    with pytest.raises(ConfigError, match=r"^b\.json: ") as caught:
        parse_baseline(text, "b.json")
    assert said in str(caught.value)


def test_failed_expectations_are_never_known() -> None:
    """Several share one key: one that is fixed could hide another that is new."""
    failed = report_of([finding("EXP001", "")])

    assert make_baseline(failed.findings).entries == {}
    assert len(hold(failed, make_baseline(failed.findings)).new_findings) == 1
