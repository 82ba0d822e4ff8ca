"""The data set of `packlint demo`."""

from __future__ import annotations

from pathlib import Path

import pytest

from packlint.cli.demo_data import write_demo


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the data set of `packlint demo`."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo(folder)
    return folder
