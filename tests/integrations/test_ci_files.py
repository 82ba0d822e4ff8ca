"""The pre-commit hook and the job for GitLab: what they hold, and what they do when they run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from packlint.cli.main import COMMANDS, main

ROOT = Path(__file__).parents[2]
FAULTY = "trl/train-00002.parquet"
SHARDS = [
    "train.parquet",
    "data-00000-of-00002.arrow",
    "a.jsonl",
    "a.jsonl.zst",
    "text_document.idx",
    "packed.npy",
    "shard.00000.mds",
    "a.tfrecord",
    "000_tokens.ds",
]
OTHERS = [
    "a.py",
    "README.md",
    "packlint-manifest.json",
    "state.json",
    "a.ds.index",
    "text_document.bin",
    "a.pt",
]


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def hook() -> dict[str, Any]:
    """Return the one hook there is."""
    (table,) = load(".pre-commit-hooks.yaml")
    assert isinstance(table, dict)
    return table


def test_the_hook_is_a_command_that_is_given_files() -> None:
    table = hook()

    assert table["id"] == table["name"] == "packlint"
    assert table["language"] == "python"
    assert table["require_serial"] is True, "findings over all shards want all shards"
    assert table.get("pass_filenames", True) is True
    program, command = shlex.split(table["entry"])
    assert program == "packlint"
    assert command in COMMANDS


@pytest.mark.parametrize("folder", ["", "packed/sft/"])
def test_the_hook_is_for_shards(folder: str) -> None:
    files = re.compile(hook()["files"])

    assert [name for name in SHARDS if not files.search(folder + name)] == []
    assert [name for name in OTHERS if files.search(folder + name)] == []


def test_the_hook_runs(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(demo)
    _, *args = shlex.split(hook()["entry"])

    assert main([*args, FAULTY, "trl/train-00000.parquet"]) == 1
    assert "TGT010 shifted-labels" in capsys.readouterr().out


@pytest.mark.skipif(not shutil.which("bash"), reason="the script is for a shell")
def test_the_gitlab_job_writes_what_it_hands_over(demo: Path, tmp_path: Path) -> None:
    (name,) = table = load("integrations/gitlab-ci.yml")
    job = table[name]
    work = tmp_path / "work"
    shutil.copytree(demo, work)
    pip = tmp_path / "bin" / "pip"
    pip.parent.mkdir()
    pip.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$RECORD"\n', encoding="utf-8")
    pip.chmod(0o755)
    found = f"{pip.parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **job["variables"], "PATH": found, "RECORD": str(tmp_path / "record")}
    env |= {"PACKLINT_PATHS": f"{FAULTY} trl/train-00000.parquet", "PACKLINT_ARGS": "--trainer trl"}
    script = "\n".join(job["script"])
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=work,
        env=env,
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 1, done.stderr
    assert (tmp_path / "record").read_text().split() == ["install", "--quiet", "packlint"]
    assert name == "packlint"
    assert job["artifacts"]["when"] == "always"
    reports = job["artifacts"]["reports"]
    issues = json.loads((work / reports["codequality"]).read_text(encoding="utf-8"))
    assert {issue["check_name"] for issue in issues} >= {"TGT010"}
    assert (work / reports["junit"]).read_text(encoding="utf-8").startswith("<?xml")
    (folder,) = job["artifacts"]["paths"]
    assert all(file.startswith(folder) for file in reports.values())


def test_the_gitlab_job_runs_when_shards_or_settings_change() -> None:
    (rule,) = load("integrations/gitlab-ci.yml")["packlint"]["rules"]
    shards, settings = rule["changes"]

    assert all(Path(name).suffix[1:] in re.split("[{},]", shards) for name in SHARDS)
    assert {"packlint.toml", ".packlint-baseline.json", "packlint-manifest.json"} <= {
        *re.split("[{},]", settings)
    }
