"""Exit codes, errors in one line, lazy commands, start-up."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import packlint.cli.main as main_module
from packlint import __version__
from packlint.cli.catalogue import GROUP, _shipped
from packlint.cli.main import COMMANDS, main
from packlint.registry import GROUP as REGISTRY_GROUP
from tests.cli.conftest import Run

PYTHON = [sys.executable, "-c", "import sys; from packlint.cli.main import main; sys.exit(main())"]
HEAVY = ("numpy", "pyarrow", "pandas", "pydantic")


def loaded(*args: str) -> set[str]:
    """Return the heavy packages that a command imports."""
    code = f"""
import contextlib, io, sys
from packlint.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    main({list(args)!r})
print(*[name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.fixture
def fresh_catalogue() -> None:
    """Skip where rules were edited since the catalogue was written; another test says so."""
    if any(_shipped(point) is None for point in entry_points(group=GROUP)):
        pytest.skip("the catalogue is out of date, so rules are imported")


def test_version(run: Run) -> None:
    result = run("--version")

    assert (result.code, result.out) == (0, f"packlint {__version__}\n")


def test_help_lists_all_commands(run: Run) -> None:
    result = run("--help")

    assert result.code == 0
    for name, line in COMMANDS.items():
        assert name in result.out
        assert line.split(",")[0].split(":")[0] in result.out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(run: Run, name: str) -> None:
    result = run(name, "--help")

    assert result.code == 0
    assert "Usage" in result.out


@pytest.mark.parametrize("args", [("--version",), ("--help",), ("rules",), ("explain", "TGT001")])
@pytest.mark.usefixtures("fresh_catalogue")
def test_quick_commands_import_nothing_heavy(args: tuple[str, ...]) -> None:
    assert loaded(*args) == set()


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["chekc"], 2, "chekc"),
        (["check"], 2, "PATH"),
        (["check", "nowhere.parquet"], 3, "no such file"),
        (["check", "*.nothing"], 3, "*.nothing"),
        (["check", ".", "--jobs", "0"], 2, "--jobs"),
        (["check", ".", "--config", "none.toml"], 2, "none.toml"),
        (["explain", "TGT099"], 2, "did you mean TGT"),
        (["explain", "loss-on-pading"], 2, "did you mean loss-on-padding?"),
        (["trainers", "trll"], 2, "did you mean 'trl'"),
    ],
)
def test_user_errors_are_one_line(run: Run, args: list[str], code: int, said: str) -> None:
    result = run(*args)

    assert result.code == code
    assert result.out == ""
    assert result.err.startswith("packlint: error: ")
    assert result.err.count("\n") == 1
    assert said in result.err


def test_errors_show_hostile_names(run: Run) -> None:
    result = run("check", "\x1b[31mred\u202e.parquet")

    assert result.code == 3
    assert r"\x1b[31mred\u202e.parquet" in result.err


def test_a_bug_is_not_taken_for_findings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("our fault")

    monkeypatch.setattr(main_module.cli, "main", fail)
    result = run("check")

    assert result.code == 2
    assert "internal error: RuntimeError: our fault" in result.err


def test_interrupt(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    def interrupt(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(main_module.cli, "main", interrupt)

    assert run("check").code == 130


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_interrupt_from_outside(demo: Path) -> None:
    code = "import os, signal, sys, packlint.session as s\n"
    code += "s.check_paths = lambda *a, **k: os.kill(os.getpid(), signal.SIGINT)\n"
    code += f"from packlint.cli.main import main; sys.exit(main(['check', {str(demo / 'trl')!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert signal.SIGINT


def test_closed_pipe_is_quiet(demo: Path) -> None:
    process = subprocess.Popen(
        [*PYTHON, "check", str(demo / "trl"), "--output", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()

    assert process.wait() == 141
    assert errors == b""


def test_main_takes_arguments_from_the_process() -> None:
    done = subprocess.run([*PYTHON, "--version"], capture_output=True, text=True)

    assert done.stdout == f"packlint {__version__}\n"


def test_main_returns_a_code() -> None:
    assert main(["--version"]) == 0


def test_catalogue_and_registry_look_in_the_same_place() -> None:
    assert GROUP == REGISTRY_GROUP
