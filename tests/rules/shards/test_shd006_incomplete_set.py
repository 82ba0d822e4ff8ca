"""SHD006: raised by readers of sets with an index, and for shards that a manifest lists."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import packlint
from packlint.finding import Severity
from packlint_rules.shards.shd006_incomplete_set import IncompleteSet

SAMPLES = Path(__file__).parents[2] / "samples"
CODE = IncompleteSet.meta.code


def test_a_chunk_that_no_index_lists(tmp_path: Path) -> None:
    folder = shutil.copytree(SAMPLES / "litdata_tokens", tmp_path / "set")
    index = next(folder.rglob("index.json"))
    table = json.loads(index.read_text())
    table["chunks"] = table["chunks"][1:]
    index.write_text(json.dumps(table))

    report = packlint.check(folder)

    (finding,) = (f for f in report.findings if f.code == CODE)
    assert (finding.severity, finding.name) == (Severity.ERROR, "incomplete-set")
    assert "not listed in index.json" in finding.message


def test_shards_that_a_manifest_lists(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"input_ids": [1, 2, 3]}) + "\n")
    shards = [{"path": f"{name}.jsonl"} for name in ("a", "b", "c", "d", "e", "f")]
    manifest = {"schema": "packlint/manifest/v1", "shards": shards}
    (tmp_path / "packlint-manifest.json").write_text(json.dumps(manifest))

    report = packlint.check(tmp_path)

    (finding,) = (f for f in report.findings if f.code == CODE)
    assert finding.message == "4 listed shards are missing: c.jsonl, d.jsonl, e.jsonl, …"
    assert finding.shard.endswith("packlint-manifest.json")
    assert [f.message for f in report.findings if f.code == "MAN003"] == []


def test_checking_one_shard_of_a_whole_set_is_no_fault(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"input_ids": [1, 2, 3]}) + "\n")
    manifest = {
        "schema": "packlint/manifest/v1",
        "measured": {"n_packs": 2},
        "shards": [{"path": "a.jsonl", "n_packs": 1}, {"path": "b.jsonl", "n_packs": 1}],
    }
    (tmp_path / "packlint-manifest.json").write_text(json.dumps(manifest))

    for inputs in (tmp_path / "a.jsonl", tmp_path):
        report = packlint.check(inputs)
        assert {f.code for f in report.findings} & {CODE, "MAN003"} == set()
