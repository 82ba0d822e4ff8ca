"""`packlint baseline` and what `packlint check` makes of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Run

FAULTY = "train-00002.parquet"
NAME = ".packlint-baseline.json"


@pytest.fixture(autouse=True)
def project(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a configuration and the shards of the demo."""
    root = tmp_path / "project"
    shutil.copytree(demo / "trl", root / "shards")
    shutil.copy(demo / "packlint.toml", root)
    monkeypatch.chdir(root)
    return root


def write_baseline(run: Run, folder: Path, *args: object) -> None:
    result = run("baseline", "shards", *args)
    assert result.code == 0
    (folder / NAME).write_text(result.out)


def test_known_findings_pass_and_are_counted(run: Run, project: Path) -> None:
    assert run("check", "shards").code == 1
    write_baseline(run, project)
    result = run("check", "shards")

    assert result.code == 0
    assert result.out.startswith("✓ nothing new; ")
    assert f"known from {NAME}" in result.out


def test_it_says_what_it_wrote_beside_standard_output(run: Run) -> None:
    result = run("baseline", "shards")

    entries = json.loads(result.out)["entries"]
    assert entries == sorted(entries, key=lambda entry: (entry["code"], entry["shard"]))
    assert result.err == f"packlint: {len(entries)} entries in the baseline\n"
    assert run("baseline", "shards", "--quiet").err == ""


def test_a_new_shard_with_faults_fails(run: Run, project: Path) -> None:
    faulty = project / "shards" / FAULTY
    away = project / "away.parquet"
    faulty.rename(away)
    write_baseline(run, project)
    assert run("check", "shards").code == 0
    away.rename(faulty)
    result = run("check", "shards", "--output", "json")

    assert result.code == 1
    new = [f["shard"] for f in json.loads(result.out)["findings"] if f["baseline"] == "new" and f["shard"]]
    assert set(new) == {f"shards/{FAULTY}"}


def test_fixed_findings_are_reported_and_leave(run: Run, project: Path) -> None:
    write_baseline(run, project, "--select", "TGT010")
    shutil.copy(project / "shards" / "train-00000.parquet", project / "shards" / FAULTY)
    result = run("check", "shards", "--select", "TGT010")

    assert result.code == 0
    assert "1        no longer found" in result.out
    assert f"TGT010 shards/{FAULTY}: 24 places before" in result.out
    write_baseline(run, project, "--select", "TGT010")
    assert json.loads((project / NAME).read_text())["entries"] == []


def test_it_does_not_read_the_old_one(run: Run, project: Path) -> None:
    (project / NAME).write_text("")

    assert run("check", "shards").code == 2
    write_baseline(run, project)
    assert run("check", "shards").code == 0


def test_no_baseline(run: Run, project: Path) -> None:
    write_baseline(run, project)

    assert run("check", "shards", "--no-baseline").code == 1
    assert run("check", "shards", "--no-baseline", "--baseline", NAME).code == 2


def test_baseline_by_name(run: Run, project: Path) -> None:
    write_baseline(run, project)
    named = project / "other.json"
    (project / NAME).rename(named)

    assert run("check", "shards").code == 1
    result = run("check", "shards", "--baseline", named)
    assert result.code == 0
    assert "known from other.json" in result.out
    assert run("check", "shards", "--baseline", "absent.json").code == 2


def test_it_is_found_upwards_but_not_beyond_the_configuration(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project / "inner"
    inner.mkdir()
    monkeypatch.chdir(inner)
    shutil.move(project / "shards", inner / "shards")
    write_baseline(run, project)
    assert run("check", "shards").code == 0

    (project / NAME).rename(project.parent / NAME)
    assert run("check", "shards").code == 1


def test_beside_a_named_configuration(run: Run, project: Path) -> None:
    write_baseline(run, project)
    other = project.parent / "ci"
    other.mkdir()
    shutil.copy(project / "packlint.toml", other)
    (project / NAME).rename(other / NAME)

    assert run("check", "shards").code == 1
    assert run("check", "shards", "--config", other / "packlint.toml").code == 0


def test_unreadable_shards_go_on_failing(run: Run, project: Path) -> None:
    broken = project / "shards" / "broken.parquet"
    broken.write_bytes((project / "shards" / FAULTY).read_bytes()[:200])
    result = run("baseline", "shards")

    assert "SHD001" not in result.out
    assert result.err.endswith("; 1 shard with unreadable parts will go on failing\n")
    (project / NAME).write_text(result.out)
    assert run("check", "shards").code == 1


def test_internal_errors_give_no_baseline(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from packlint.registry import find_rule

    def fail(self: object, batch: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(find_rule("TGT008"), "check", fail)
    result = run("baseline", "shards")

    assert result.code == 2
    assert result.out == ""
    assert "no baseline: findings are missing, as TGT008 raised" in result.err
