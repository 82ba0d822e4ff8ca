"""The GitHub Action: its scripts run as a runner runs them, with what GitHub would set."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from packlint.reporters import USUAL_FILES

ROOT = Path(__file__).parents[2]
PACKLINT = Path(sys.executable).with_name("packlint")
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
CLEAN, FAULTY = "trl/train-00000.parquet", "trl/train-00002.parquet"
RECORDER = f"""#!{sys.executable}
import os, sys
with open(os.environ["RECORD"], "a", encoding="utf-8") as file:
    file.write("\\0".join(sys.argv[1:]) + "\\n\\0")
"""
FAKE_PYTHON = (
    RECORDER
    + """
from pathlib import Path
if sys.argv[1:3] == ["-m", "venv"]:
    bin = Path(sys.argv[3]) / "bin"
    bin.mkdir(parents=True)
    (bin / "python").symlink_to(sys.argv[0])
"""
)
HOSTILE = (
    'a b $(touch hacked) `touch hacked` "; touch hacked; \'" && touch hacked | touch hacked > hacked * ~ \\'
)

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="the scripts are for bash")


@cache
def action() -> dict[str, Any]:
    """Return what action.yml holds."""
    table: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return table


@dataclass
class Runner:
    """Run steps in a working directory, and keep what they say.

    Args:
        work: the working directory.
        temp: folder for all else.
        inputs: what the workflow gives.
        outputs: by step, what earlier steps gave.
    """

    work: Path
    temp: Path
    inputs: Mapping[str, str]
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        """Run one step."""
        (step,) = (step for step in action()["runs"]["steps"] if step.get("id") == name)
        script, written = self.temp / f"{name}.sh", self.temp / f"{name}.out"
        script.write_text(step["run"], encoding="utf-8")
        written.touch()
        env = {key: os.environ[key] for key in ("PATH", "HOME", "PYTHONPATH") if key in os.environ}
        env |= {
            "LC_ALL": "C.UTF-8",
            "GITHUB_ACTIONS": "true",
            "CI": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(written),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "RUNNER_TEMP": str(self.temp),
            "RECORD": str(self.temp / "record"),
            **{key: EXPRESSION.sub(self._value, value) for key, value in step["env"].items()},
        }
        if (self.temp / "fake").is_dir():
            env["PATH"] = f"{self.temp / 'fake'}{os.pathsep}{env['PATH']}"
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(
            command, cwd=self.work, env=env, check=False, capture_output=True, encoding="utf-8"
        )
        lines = written.read_text(encoding="utf-8").splitlines()
        self.outputs[name] = dict(line.split("=", 1) for line in lines)
        return done

    def record(self) -> list[list[str]]:
        """Return the arguments of each call of a recorder."""
        text = (self.temp / "record").read_text(encoding="utf-8")
        return [call.split("\0") for call in text.split("\n\0")[:-1]]

    def fake(self, name: str, text: str) -> Path:
        """Put a program in front of all others."""
        path = self.temp / "fake" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def _value(self, found: re.Match[str]) -> str:
        scope, _, rest = found[1].partition(".")
        if scope == "inputs":
            return str(self.inputs.get(rest, action()["inputs"][rest].get("default", "")))
        step, outputs, name = rest.split(".")
        assert (scope, outputs) == ("steps", "outputs")
        return self.outputs.get(step, {}).get(name, "")


@pytest.fixture
def work(demo: Path, tmp_path: Path) -> Path:
    """Return a checkout with shards."""
    shutil.copytree(demo, tmp_path / "work")
    return tmp_path / "work"


def runner(work: Path, **inputs: str) -> Runner:
    """Return a runner whose packlint is installed already."""
    temp = work.parent / "a temp folder"
    temp.mkdir(exist_ok=True)
    given = {name.replace("_", "-"): value for name, value in inputs.items()}
    return Runner(work, temp, given, {"install": {"packlint": str(PACKLINT)}})


def test_it_is_an_action_with_what_it_names() -> None:
    table = action()
    steps = table["runs"]["steps"]

    assert {"name", "description", "inputs", "outputs", "runs"} <= {*table}
    assert table["runs"]["using"] == "composite"
    assert all(("uses" in step) != ("run" in step) for step in steps)
    assert all(step["shell"] == "bash" for step in steps if "run" in step)
    used = {name for step in steps for name in re.findall(r"inputs\.([a-z-]+)", json.dumps(step))}
    assert used == {*table["inputs"]}
    assert [name for name, entry in table["inputs"].items() if entry.get("required")] == ["paths"]


def test_no_script_holds_an_expression() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), "what an input holds would be run"


def test_findings_fail_with_their_code_and_all_reports(work: Path) -> None:
    it = runner(work, paths=FAULTY, trainer="trl")
    before = sorted(work.rglob("*"))
    done = it.run("check")
    told = it.outputs["check"]

    assert done.returncode == 1, done.stderr
    assert {*told} == {*action()["outputs"]}
    assert (told["exit-code"], told["verdict"]) == ("1", "findings")
    assert told["output-dir"] == str(it.temp / "packlint")
    for name, file in USUAL_FILES.items():
        assert told[name] == str(it.temp / "packlint" / file)
        assert Path(told[name]).is_file()
    assert "\n::error title=TGT010 shifted-labels,file=trl/train-00002.parquet::" in done.stdout
    assert (it.temp / "summary.md").read_text(encoding="utf-8").startswith("## packlint: ❌ ")
    assert sorted(work.rglob("*")) == before


def test_paths_are_one_a_line_and_may_hold_spaces(work: Path) -> None:
    shutil.copy(work / CLEAN, work / "a shard.parquet")
    it = runner(work, paths="\n  a shard.parquet\n\n", output_dir="my reports", args="--select TGT")

    assert it.run("check").returncode == 0
    told = it.outputs["check"]
    assert (told["exit-code"], told["verdict"]) == ("0", "clean")
    assert told["json"] == "my reports/report.json"
    report = json.loads((work / told["json"]).read_text(encoding="utf-8"))
    assert {entry["path"] for entry in report["inputs"]} == {"a shard.parquet"}


def test_options_reach_packlint_and_args_win(work: Path) -> None:
    inputs = {"paths": FAULTY, "profile": "sft", "trainer": "trl", "fail_on": "error", "baseline": "no.json"}
    it = runner(work, **inputs, tokenizer="tokenizer", args="--eos-id 2\n --fail-on=warning\t--pad-id 0")
    it.outputs["install"]["packlint"] = str(it.fake("recorder", RECORDER))
    it.run("check")

    folder = f"--output-dir={it.temp}/packlint"
    options = [
        "--profile=sft",
        "--trainer=trl",
        "--tokenizer=tokenizer",
        "--fail-on=error",
        "--baseline=no.json",
    ]
    words = ["--eos-id", "2", "--fail-on=warning", "--pad-id", "0"]
    assert it.record() == [["check", "--output", "github", folder, *options, *words, "--", FAULTY]]


@pytest.mark.parametrize(("paths", "code"), [("absent/*.parquet", 3), ("", 2)])
def test_without_a_report_there_is_no_verdict(work: Path, paths: str, code: int) -> None:
    it = runner(work, paths=paths)
    stale = it.temp / "packlint" / "report.json"
    stale.parent.mkdir()
    stale.write_text('{\n "verdict": "clean",\n}')

    assert it.run("check").returncode == code
    assert it.outputs["check"] == {"exit-code": str(code), "output-dir": str(stale.parent)}


@pytest.mark.parametrize(
    "value", [HOSTILE, f"x\n{HOSTILE}", "x\nexit-code=0\n::error::x\n$(touch hacked)", "-rf", "--"]
)
def test_no_input_is_run(work: Path, value: str) -> None:
    it = runner(work, **dict.fromkeys(action()["inputs"], value))
    it.fake("python3", FAKE_PYTHON)
    before = sorted(work.rglob("*"))
    done = it.run("install")

    assert done.returncode == 0, done.stderr
    it.outputs["install"]["packlint"] = str(it.fake("recorder", RECORDER))
    assert it.run("check").returncode == 0
    assert sorted(work.rglob("*")) == before
    assert not list(it.temp.rglob("hacked"))
    assert it.outputs["check"] == {"exit-code": "0", "output-dir": value.splitlines()[0]}
    _, pip, check = it.record()
    assert pip[4:] == [f"packlint[{value},tokenizers]=={value}"]
    for name in ("profile", "trainer", "tokenizer", "fail-on", "baseline"):
        assert f"--{name}={value}" in check
    lines = [line.strip() for line in value.splitlines()]
    assert check[-1 - len(lines) :] == ["--", *lines]


@pytest.mark.parametrize(
    ("inputs", "requirement"),
    [
        ({}, str(ROOT)),
        ({"tokenizer": "tokenizer.json"}, f"{ROOT}[tokenizers]"),
        ({"extras": "s3,hf", "tokenizer": "t"}, f"{ROOT}[s3,hf,tokenizers]"),
        ({"version": "0.1.0"}, "packlint==0.1.0"),
        ({"version": "0.1.0", "extras": "s3"}, "packlint[s3]==0.1.0"),
    ],
)
def test_what_is_installed(work: Path, inputs: dict[str, str], requirement: str) -> None:
    it = runner(work, paths=CLEAN, **inputs)
    it.fake("python3", FAKE_PYTHON)
    done = it.run("install")

    assert done.returncode == 0, done.stderr
    venv, pip = it.record()
    assert venv == ["-m", "venv", str(it.temp / "packlint-venv")]
    constraints = [] if "version" in inputs else ["-c", str(ROOT / "constraints.txt")]
    assert pip == ["-m", "pip", "install", "--quiet", *constraints, requirement]
    assert it.outputs["install"] == {"packlint": str(it.temp / "packlint-venv" / "bin" / "packlint")}
