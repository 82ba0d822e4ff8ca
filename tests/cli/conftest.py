"""A small data set with planted faults, and a way to run the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from packlint.cli.demo_data import write_demo
from packlint.cli.main import main

__all__ = ["Result", "Run"]


@dataclass(frozen=True, slots=True)
class Result:
    """Hold what a command wrote, and its exit code."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs packlint in this process."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "CI"):
        monkeypatch.delenv(name, raising=False)

    def run_main(*args: object) -> Result:
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return Result(code, out, err)

    return run_main


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the data set of `packlint demo`."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder)
    return folder
