"""Tests that fail with the report: the fixture `packlint`, and `assert_clean` for any other test.

    def test_what_the_trainer_will_see(packlint):
        packlint(make_dataset(), trainer="trl", profile="sft")

    @pytest.fixture(scope="session")          # in conftest.py: settings of all tests
    def packlint_settings():
        return {"trainer": "trl", "spec": {"eos_ids": [2]}}

pytest loads this module at every start, so it imports nothing of packlint until a test asks for it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from packlint.config import Ignore, RunConfig
    from packlint.report import Report

__all__ = ["assert_clean", "packlint", "packlint_settings"]

_MARGIN = 12
"""Columns that pytest writes before each line of a failure, in a method of a class."""
_MIN_WIDTH, _MAX_WIDTH = 60, 200

Ignored = str | Mapping[str, str] | Iterable[str | Mapping[str, str]]


def assert_clean(
    data: object,
    *,
    config: RunConfig | Mapping[str, Any] | None = None,
    ignore: Ignored = (),
    reference: object = None,
    baseline: str | Path | None = None,
    jobs: int = 1,
    width: int | None = None,
    **settings: Any,
) -> Report:
    """Return the report of packed data that nothing is wrong with; fail with it where something is.

    Args:
        data: what `packlint.check` takes: paths, a data set, a table, batches, an iterable of these.
        config: what packlint.toml holds; `settings` win over it.
        ignore: rules to leave out besides the configuration's: codes, or reasons by code, which the report
            shows: `{"FIL001": "short evaluation set"}`.
        reference: the unpacked samples that the packs were made from, as `packlint.check` takes them.
        baseline: file of findings that are known and do not fail.
        jobs: threads.
        width: columns of the terminal; as it is, by default.
        **settings: keys of packlint.toml, e.g. `trainer="trl"`, `fail_on="warning"`.

    Raises:
        AssertionError: there are findings at or above `fail_on`, or a rule failed; its text is the report.
        NoInputError: paths that match nothing.
        UsageError: settings that make no sense.
    """
    __tracebackhide__ = True
    from packlint.session import check

    known = _config(config, ignore, settings)
    report = check(data, config=known, reference=reference, baseline=baseline, jobs=jobs)
    if report.exit_code:
        raise AssertionError(_text(report, known, data, width or shutil.get_terminal_size().columns))
    return report


@pytest.fixture(scope="session")
def packlint_settings() -> Mapping[str, Any]:
    """Settings of every call of `packlint`: override it to return keys of packlint.toml."""
    return {}


@pytest.fixture
def packlint(request: pytest.FixtureRequest, packlint_settings: Mapping[str, Any]) -> Callable[..., Report]:
    """Lint packed data and fail with the report where something is wrong; see `assert_clean`."""

    def lint(data: object, **settings: Any) -> Report:
        __tracebackhide__ = True
        return assert_clean(data, **{"width": _columns(request.config), **packlint_settings, **settings})

    return lint


def _columns(config: pytest.Config) -> int | None:
    """Return the width of the terminal that pytest writes to; it is captured while a test runs."""
    if not config.pluginmanager.has_plugin("terminalreporter"):
        return None  # a worker of pytest-xdist
    return config.get_terminal_writer().fullwidth


def _config(
    config: RunConfig | Mapping[str, Any] | None, ignore: Ignored, settings: Mapping[str, Any]
) -> RunConfig:
    from dataclasses import replace

    from packlint.config import RunConfig, parse_config
    from packlint.errors import UsageError

    if not isinstance(config, RunConfig):
        config = parse_config({**(config or {}), **settings}, "settings")
    elif settings:
        raise UsageError("give settings either in a RunConfig or by name, not both")
    return replace(config, ignore=config.ignore + _ignored(ignore))


def _ignored(ignore: Ignored) -> tuple[Ignore, ...]:
    from packlint.config import parse_config

    if isinstance(ignore, str):
        ignore = [ignore]
    elif isinstance(ignore, Mapping):
        ignore = [{"rule": code, "reason": reason} for code, reason in ignore.items()]
    return parse_config({"ignore": list(ignore)}, "settings").ignore


def _text(report: Report, config: RunConfig, data: object, columns: int) -> str:
    """Return the terminal report, without colour: pytest has its own, and writes failures to files too."""
    from dataclasses import replace

    from packlint.cli.check import present
    from packlint.reporters import render

    items = data if isinstance(data, list | tuple) else [data]
    are_paths = all(isinstance(item, str | Path) for item in items)
    shown = present(report, config, "never", [str(item) for item in items] if are_paths else [])
    width = max(_MIN_WIDTH, min(_MAX_WIDTH, columns - _MARGIN))
    encoding = getattr(sys.__stdout__, "encoding", None) or ""
    unicode = encoding.lower().replace("-", "") == "utf8"
    return render("terminal", report, replace(shown, width=width, unicode=unicode)).rstrip("\n")
