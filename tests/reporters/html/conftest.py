"""A browser for the pages; skipped with the reason where there is none, unless one is demanded.

`PACKLINT_BROWSER_TESTS=required` makes a missing browser a failure, as `.ci/run` wants it. `PACKLINT_AXE` is
the path of `axe.min.js` from the npm package axe-core; else it is looked for in `node_modules` above here.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reporters.html.browser import PROGRAMS, open_browser


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: opens pages in headless Chromium")


def _missing(what: str) -> None:
    reason = f"{what} is not installed"
    if os.environ.get("PACKLINT_BROWSER_TESTS") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if importlib.util.find_spec("selenium") is None:
        _missing("the Python package selenium")
    for name in PROGRAMS:
        if shutil.which(name) is None:
            _missing(f"Debian's {name}")
    browser = open_browser(tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def axe() -> str:
    named = os.environ.get("PACKLINT_AXE")
    folders = [parent / "node_modules" / "axe-core" / "axe.min.js" for parent in Path(__file__).parents]
    found = next((path for path in ([Path(named)] if named else folders) if path.is_file()), None)
    if found is None:
        _missing("the npm package axe-core (PACKLINT_AXE)")
        raise AssertionError
    return found.read_text(encoding="utf-8")
