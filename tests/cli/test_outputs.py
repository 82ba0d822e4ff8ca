"""All formats from one scan: files, the usual set, GitHub's log and summary, and the same bytes always."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from packlint.reporters import REPORTERS, USUAL_FILES
from tests.cli.conftest import Run

CLEAN = "trl/train-00000.parquet"
FAULTY = "trl/train-00002.parquet"
FORMATS = sorted({*REPORTERS} - {"terminal"})


@pytest.fixture(autouse=True)
def inside(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def outputs_in(folder: Path) -> list[object]:
    return [word for name in FORMATS for word in ("--output", f"{name}={folder / name}")]


def bytes_in(folder: Path) -> Mapping[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_every_format_has_the_same_bytes_whatever_the_threads_and_the_order(run: Run, tmp_path: Path) -> None:
    one, four = tmp_path / "one", tmp_path / "four"
    one.mkdir()
    four.mkdir()

    assert run("check", CLEAN, FAULTY, *outputs_in(one), "--jobs", 1).code == 1
    assert run("check", FAULTY, CLEAN, *outputs_in(four), "--jobs", 4, "--color", "always").code == 1
    assert bytes_in(one) == bytes_in(four)


def test_no_absolute_path_in_any_format(run: Run, demo: Path, tmp_path: Path) -> None:
    run("check", demo / "trl", *outputs_in(tmp_path), "--config", demo / "packlint.toml")

    for name, text in bytes_in(tmp_path).items():
        assert str(demo).encode() not in text, name


def test_output_dir_writes_the_usual_set(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "reports"
    result = run("check", FAULTY, "--output-dir", folder)

    assert {path.name for path in folder.iterdir()} == {*USUAL_FILES.values()}
    assert json.loads((folder / "report.json").read_text())["exit_code"] == 1
    assert "TGT010" in result.out


def test_output_dir_joins_other_outputs(run: Run, tmp_path: Path) -> None:
    result = run("check", FAULTY, "--output-dir", tmp_path, "--output", "json")

    assert json.loads(result.out) == json.loads((tmp_path / "report.json").read_text())
    twice = run("check", FAULTY, "--output-dir", tmp_path, "--output", f"json={tmp_path}/./report.json")
    assert twice.code == 2
    assert "same file" in twice.err


def test_output_dir_that_cannot_be_made_is_said_before_the_scan(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run("check", FAULTY, "--output-dir", tmp_path / "file")

    assert result.code == 2
    assert result.err.count("\n") == 1


def test_sarif_carries_the_pages_of_the_rules(run: Run, tmp_path: Path) -> None:
    run("check", FAULTY, "--output", f"sarif={tmp_path / 'r'}")
    run_table = json.loads((tmp_path / "r").read_text())["runs"][0]

    rules = {rule["id"]: rule for rule in run_table["tool"]["driver"]["rules"]}
    assert "## How to fix" in rules["TGT010"]["help"]["markdown"]


def test_annotations_follow_the_report_which_is_no_command(run: Run) -> None:
    for more in ([], ["--output", "terminal"]):
        lines = run("check", FAULTY, "--output", "github", *more).out.splitlines()

        assert lines[0].startswith("::stop-commands::")
        token = lines[0].removeprefix("::stop-commands::")
        stop = lines.index(f"::{token}::")
        assert lines[1].startswith("✗ ")
        assert all(line.startswith(("::error", "::warning", "::notice")) for line in lines[stop + 1 :])
        assert lines[stop + 1].startswith(
            "::error title=TGT010 shifted-labels,file=trl/train-00002.parquet::"
        )


def test_annotations_do_not_mix_with_json(run: Run) -> None:
    assert run("check", FAULTY, "--output", "github", "--output", "json").code == 2


def test_job_summary_is_appended(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.md"
    path.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    run("check", FAULTY)
    assert path.read_text(encoding="utf-8") == "before\n"

    run("check", FAULTY, "--output", "github")
    assert path.read_text(encoding="utf-8").startswith("before\n## packlint: ❌ ")


def test_job_summary_leaves_room_for_what_is_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * (1024 * 1024 - 100))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))

    assert run("check", FAULTY, "--output", "github").code == 1
    assert path.stat().st_size <= 1024 * 1024


def test_job_summary_that_cannot_be_written_fails_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "absent" / "summary.md"))
    result = run("check", CLEAN, "--output", "github")

    assert result.code == 0
    assert "packlint: no job summary" in result.err


def test_exit_code_is_the_same_for_every_format(run: Run) -> None:
    for name in FORMATS:
        assert run("check", FAULTY, "--output", name).code == 1, name
        assert run("check", CLEAN, "--output", name).code == 0, name
