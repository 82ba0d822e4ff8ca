"""What a scenario is, and how it is run: the real command line, in a folder of its own."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packlint.cli.main import main

__all__ = ["FILES", "WHOLE", "Scenario", "run", "show_on_terminal"]

FILES = {
    "html": "report.html",
    "json": "report.json",
    "jsonl": "report.jsonl",
    "sarif": "report.sarif",
    "junit": "report.junit.xml",
    "markdown": "report.md",
    "gitlab": "report.gitlab.json",
    "github": "report.github.txt",
    "terminal": "report.txt",
}
"""File of a report by its format: every format that there is."""
WHOLE = frozenset({""})
"""The data set as a whole, where a finding is about no shard."""
_UNSET = ("GITHUB_STEP_SUMMARY", "NO_COLOR", "FORCE_COLOR", "COLUMNS")


@dataclass(frozen=True, slots=True)
class Scenario:
    """Plant something in data, and check them.

    Args:
        name: folder of its reports.
        title: what it is, in a few words.
        planted: what is wrong with the data, or that nothing is.
        write: writes the data, and `packlint.toml`, into a folder.
        command: arguments of packlint, given in that folder.
        before: commands to be given first: to write a manifest, or a baseline.
        exit_code: what it ends with.
        found: shards by code of each rule that must find something in them, and no other; the empty name is
            the whole data set.
    """

    name: str
    title: str
    planted: str
    write: Callable[[Path], None]
    command: Sequence[str]
    exit_code: int
    before: Sequence[Sequence[str]] = ()
    found: Mapping[str, frozenset[str]] = field(default_factory=dict)


def run(scenario: Scenario, folder: Path) -> dict[str, str]:
    """Return the reports of a scenario by file name.

    Args:
        scenario: what to run.
        folder: an empty folder to work in; its name shows in no report.

    Raises:
        RuntimeError: the command failed, or ended with another code.
    """
    data = _prepare(scenario, folder)
    outputs = [f"{name}={folder / file}" for name, file in FILES.items()]
    arguments = [*scenario.command, "--jobs", "1", *(part for one in outputs for part in ("--output", one))]
    with _alone(data):
        _expect(arguments, scenario.exit_code)
    return {file: (folder / file).read_text(encoding="utf-8") for file in FILES.values()}


def show_on_terminal(scenario: Scenario, folder: Path) -> str:
    """Return what a terminal of 100 columns shows, in colour."""
    with _alone(_prepare(scenario, folder)):
        return _expect([*scenario.command, "--jobs", "1", "--color", "always"], scenario.exit_code)


def _prepare(scenario: Scenario, folder: Path) -> Path:
    """Write the data, and what is written of them; return where they are."""
    data = folder / "data"
    data.mkdir()
    scenario.write(data)
    with _alone(data):
        for command in scenario.before:
            _expect(command, 0)
    return data


def _expect(arguments: Sequence[str], exit_code: int) -> str:
    said = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(arguments)
    said.seek(0)
    text = said.read()
    if code != exit_code:
        raise RuntimeError(f"packlint {' '.join(arguments)} ended with {code}:\n{text}")
    return text


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Work in a folder, without what the environment says of screens and hosts."""
    kept = {name: os.environ.pop(name) for name in _UNSET if name in os.environ}
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.update(kept)
