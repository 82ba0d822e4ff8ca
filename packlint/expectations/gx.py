"""The only door to Great Expectations: loaded on demand, quiet, offline, and without traces in the process.

Importing it costs 3 to 5 s, so a run that will need it begins in a thread while shards are scanned.
"""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from packlint.errors import UsageError

__all__ = ["known_types", "load", "preload", "quiet_context", "require"]

_NAME = "great_expectations"
_DEPRECATED_MODULES = ("sre_constants", "sre_parse")
"""Modules of Python that Great Expectations imports and that warn of their age."""


def preload() -> threading.Thread:
    """Start to import Great Expectations in the background; `load` waits for it and tells what went wrong."""
    with _no_warnings():
        for name in _DEPRECATED_MODULES:
            with suppress(ImportError):
                import_module(name)

    def attempt() -> None:
        with suppress(Exception):  # `load` tries again, where errors can be told
            _import()

    thread = threading.Thread(target=attempt, name="packlint-preload", daemon=True)
    thread.start()
    return thread


def load() -> Any:
    """Return the package `great_expectations`.

    Raises:
        UsageError: it is not installed.
    """
    require()
    with _no_warnings():
        return _import()


def require() -> None:
    """Refuse to go on without the package; imports nothing.

    Raises:
        UsageError: it is not installed.
    """
    if find_spec(_NAME) is None:
        raise UsageError(f"suites need {_NAME}: run `pip install great-expectations pandas`")


@cache
def known_types() -> frozenset[str]:
    """Return the types of expectations that the installed version has, from its files: imports nothing."""
    spec = find_spec(_NAME)
    if spec is None or spec.origin is None:
        return frozenset()
    folder = Path(spec.origin).parent / "expectations" / "core"
    return frozenset(path.stem for path in folder.glob("*.py") if not path.stem.startswith("_"))


@contextmanager
def quiet_context() -> Iterator[Any]:
    """Open an ephemeral data context: no progress bars, files or warnings; the caller's own comes back."""
    gx = load()
    types = import_module(f"{_NAME}.data_context.types.base")
    manager = import_module(f"{_NAME}.data_context.data_context.context_factory").project_manager
    before, log = _current(manager), logging.getLogger(_NAME)
    level = log.level
    with _no_warnings():
        try:
            log.setLevel(logging.CRITICAL + 1)  # without handlers it would write to standard error
            # The default store would also make a site in a folder of /tmp and leave it there.
            config = types.DataContextConfig(store_backend_defaults=types.InMemoryStoreBackendDefaults())
            context = gx.get_context(project_config=config, mode="ephemeral")
            context.variables.progress_bars = {"globally": False, "metric_calculations": False}
            yield context
        finally:
            manager.set_project(before)
            log.setLevel(level)


def _current(manager: Any) -> Any:
    errors = import_module(f"{_NAME}.exceptions")
    try:
        return manager.get_current_project()
    except errors.DataContextRequiredError:
        return None


def _import() -> Any:
    """Import the package; it would take over the display of all warnings of the process."""
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")  # read by releases that sent usage data
    shows = warnings.showwarning
    package = import_module(_NAME)
    if warnings.showwarning is not shows:
        logging.captureWarnings(False)
    return package


@contextmanager
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
