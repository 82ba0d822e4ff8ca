"""`packlint check`: exit codes, outputs, and who wins over whom."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from packlint.cli import check as check_module
from packlint.errors import UsageError
from packlint.report import Report
from tests.cli.conftest import Run

CLEAN = "trl/train-00000.parquet"
FAULTY = "trl/train-00002.parquet"


@pytest.fixture(autouse=True)
def inside(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo)


def report_of(run: Run, *args: object) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(run("check", *args, "--output", "json").out)
    return table


def test_clean_is_0(run: Run) -> None:
    assert run("check", CLEAN).code == 0


def test_findings_are_1(run: Run) -> None:
    result = run("check", FAULTY)

    assert result.code == 1
    assert "TGT010 shifted-labels" in result.out
    assert "packlint explain TGT010" in result.out
    assert f"packlint show {FAULTY} --pack " in result.out


def test_exit_zero(run: Run) -> None:
    assert run("check", FAULTY, "--exit-zero").code == 0


@pytest.mark.parametrize(("limit", "code"), [("error", 0), ("warning", 1), ("info", 1)])
def test_fail_on(run: Run, limit: str, code: int) -> None:
    assert run("check", "trl/train-00001.parquet", "--select", "TGT008", "--fail-on", limit).code == code


@pytest.mark.parametrize("format_name", ["terminal", "json"])
def test_exit_code_is_the_same_for_every_format(run: Run, format_name: str) -> None:
    assert run("check", FAULTY, "--output", format_name).code == 1


def test_json_is_all_that_stdout_holds(run: Run) -> None:
    result = run("check", FAULTY, "--output", "json")

    assert json.loads(result.out)["exit_code"] == 1
    assert result.err == ""


def test_several_outputs_from_one_scan(run: Run, tmp_path: Path) -> None:
    saved, text = tmp_path / "r.json", tmp_path / "r.txt"
    result = run(
        "check", FAULTY, "--output", f"json={saved}", "--output", f"terminal={text}", "--color", "always"
    )

    assert json.loads(saved.read_text())["exit_code"] == 1
    assert "\x1b" not in text.read_text()
    assert "\x1b" in result.out


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (["json", "terminal"], "both go to standard output"),
        (["jsn"], "did you mean json?"),
        (["json="], "has no name"),
        (["json=x", "terminal=x"], "same file"),
    ],
)
def test_impossible_outputs(run: Run, outputs: list[str], said: str) -> None:
    result = run("check", CLEAN, *[word for output in outputs for word in ("--output", output)])

    assert result.code == 2
    assert said in result.err


def test_output_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    result = run("check", CLEAN, "--output", f"json={tmp_path}")

    assert result.code == 2
    assert result.err.count("\n") == 1


def test_select_and_ignore(run: Run) -> None:
    table = report_of(run, FAULTY, "--select", "tgt,ISO001", "--ignore", "TGT010")
    status = {rule["code"]: rule["status"] for rule in table["rules"]}
    reasons = {rule["code"]: rule["reason"] for rule in table["rules"]}

    assert status["TGT010"] == "off"
    assert reasons["TGT010"] == "ignored: on the command line"
    assert status["FIL001"] == "off"
    assert status["TGT011"] != "off"


def test_select_on_the_command_line_wins_over_the_configuration(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "packlint.toml"
    config.write_text('ignore = ["TGT010"]\nselect = ["ISO"]\nfail_on = "error"\n')

    assert run("check", FAULTY, "--config", config).code == 0
    assert run("check", FAULTY, "--config", config, "--select", "TGT010").code == 1


def test_command_line_wins_over_the_configuration(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "packlint.toml"
    config.write_text('trainer = "torchtune"\nprofile = "pretrain"\n[spec]\npad_id = 9\nbos_id = 1\n')
    table = report_of(
        run, CLEAN, "--config", config, "--trainer", "trl", "--profile", "sft", "--pad-id", 0,
        "--eos-id", 2, "--eos-id", 3, "--vocab-size", 500, "--max-seq-len", 192,
    )  # fmt: skip

    assert table["inputs"][0]["trainer"] == "trl"
    assert table["profile"] == {"name": "sft", "source": "config", "why": "the command line"}
    values = {name: known["value"] for name, known in table["spec"].items()}
    assert values["pad_id"] == 0
    assert values["bos_id"] == 1
    assert values["eos_ids"] == [2, 3]
    assert values["vocab_size"] == 500
    assert values["max_seq_len"] == 192


def test_nearest_configuration_is_found(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(FAULTY, tmp_path / "shard.parquet")
    (tmp_path / "packlint.toml").write_text('ignore = [{ rule = "TGT010", reason = "on purpose" }]\n')
    monkeypatch.chdir(tmp_path)

    assert "ignored: on purpose" in run("check", "shard.parquet").out


def test_configuration_faults_are_one_line(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "packlint.toml"
    config.write_text('profil = "sft"\n')
    result = run("check", CLEAN, "--config", config)

    assert result.code == 2
    assert "did you mean profile?" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("args", [("--trainer", "trll"), ("--profile", "stf"), ("--select", "XYZ")])
def test_unknown_names(run: Run, args: tuple[str, str]) -> None:
    result = run("check", CLEAN, *args)

    assert result.code == 2
    assert result.err.startswith("packlint: error: ")


def test_jobs_do_not_change_the_report(run: Run) -> None:
    one = run("check", "trl", "--output", "json", "--jobs", 1)

    assert one.out == run("check", "trl", "--output", "json", "--jobs", 4).out


def test_quiet_is_a_line_per_finding(run: Run) -> None:
    lines = run("check", FAULTY, "--quiet", "--select", "TGT010").out.splitlines()

    assert len(lines) == 2
    assert lines[1].startswith("error TGT010 shifted-labels: trl/train-00002.parquet: ")


def test_quiet_and_verbose_exclude_each_other(run: Run) -> None:
    assert run("check", CLEAN, "-q", "-v").code == 2


def test_verbose_shows_values_with_their_origin(run: Run) -> None:
    assert "pad_id = 0  (config" in run("check", CLEAN, "--verbose").out


@pytest.mark.parametrize(
    ("env", "option", "colored"),
    [
        ({}, "auto", False),
        ({"FORCE_COLOR": "1"}, "auto", True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", False),
        ({"NO_COLOR": "1"}, "always", True),
        ({"FORCE_COLOR": "1"}, "never", False),
    ],
)
def test_color(
    run: Run, monkeypatch: pytest.MonkeyPatch, env: dict[str, str], option: str, colored: bool
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    assert ("\x1b[" in run("check", CLEAN, "--color", option).out) is colored


def test_text_of_a_tokenizer(run: Run) -> None:
    pytest.importorskip("tokenizers")

    assert "»<s> <user>" in run("check", FAULTY, "--tokenizer", "tokenizer").out


def test_internal_errors_name_rule_and_shard(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from packlint.registry import find_rule

    def fail(self: object, batch: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(find_rule("TGT008"), "check", fail)
    result = run("check", FAULTY, "--exit-zero")

    assert result.code == 2
    assert f"packlint: internal error: TGT008 raised ZeroDivisionError on {FAULTY}: oops" in result.err
    assert "TGT010" in result.out


def test_unreadable_shard_is_a_finding(run: Run, tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_bytes(Path(CLEAN).read_bytes()[:200])
    result = run("check", CLEAN, tmp_path / "broken.parquet")

    assert result.code == 1
    assert "SHD001" in result.out


def test_progress_only_for_someone_who_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    from packlint.cli import progress

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert progress.wants_progress(quiet=False)
    assert not progress.wants_progress(quiet=True)
    monkeypatch.setenv("CI", "true")
    assert not progress.wants_progress(quiet=False)


def test_scan_reports_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from packlint.config import RunConfig

    monkeypatch.setattr(check_module, "wants_progress", lambda quiet: True)
    report = check_module.scan([CLEAN], RunConfig(), jobs=1, quiet=False, color="never")

    assert isinstance(report, Report)
    assert capsys.readouterr().out == ""


def test_usage_error_is_ours() -> None:
    from packlint.cli.outputs import parse_outputs

    with pytest.raises(UsageError):
        parse_outputs(["json", "json"])
