"""MAN001: shards without a manifest beside or above them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import packlint
from packlint.finding import Finding, Severity
from packlint.testing import judge, make_batch
from packlint_rules.manifest.man001_missing_manifest import MissingManifest

MANIFEST = json.dumps({"schema": "packlint/manifest/v1"})


def missing(report: packlint.Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.code == "MAN001"]


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    for name in ("a/x.jsonl", "a/y.jsonl", "b/c/z.jsonl"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"input_ids": [1, 2, 3]}) + "\n")
    return tmp_path


def test_none_at_all(shards: Path) -> None:
    (finding,) = missing(packlint.check(shards))

    assert finding.message == (
        "nothing declares how they were packed: no packlint-manifest.json beside or above them"
    )
    assert (finding.severity, finding.n_hits, finding.n_packs) == (Severity.INFO, 3, 3)


@pytest.mark.parametrize(("place", "n_without"), [(".", 0), ("a", 1), ("b", 2), ("b/c", 2)])
def test_beside_or_above(shards: Path, place: str, n_without: int) -> None:
    (shards / place / "packlint-manifest.json").write_text(MANIFEST)

    found = missing(packlint.check(shards))

    assert [finding.n_hits for finding in found] == ([n_without] if n_without else [])
    for finding in found:
        assert finding.message.startswith(f"for {n_without} of 3 shards nothing declares")


def test_a_manifest_that_is_named_stands_for_all(shards: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere.json"
    other.write_text(MANIFEST)

    assert missing(packlint.check(str(shards / "a"), manifest=str(other))) == []


def test_data_in_memory_has_no_place_for_one() -> None:
    assert missing(packlint.check({"input_ids": [[1, 2, 3]]})) == []


def test_shards_without_packs_declare_nothing() -> None:
    assert judge(MissingManifest, []) == []
    assert judge(MissingManifest, [make_batch({"input_ids": [[1]]})])[0].n_packs == 1
