"""Reports made now against those that stand in `reports/`, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.gallery import index
from tests.gallery.scenario import FILES, run
from tests.gallery.scenarios import SCENARIOS

__all__ = ["COMMAND", "REPORTS", "differences", "make_all", "strays", "write"]

REPORTS = Path(__file__).parents[2] / "reports"
COMMAND = "python -m tests.gallery --write"
Reports = Mapping[str, Mapping[str, str]]


def make_all() -> Reports:
    """Return all reports by scenario and file name."""
    made = {}
    for scenario in SCENARIOS:
        with TemporaryDirectory(prefix="packlint-gallery-") as folder:
            made[scenario.name] = run(scenario, Path(folder))
    return made


def differences(made: Reports) -> list[str]:
    """Return the files that are missing or hold something else, as paths below `reports/`."""
    return [path for path, text in _files(made).items() if _stored(path) != text.encode()]


def _files(made: Reports) -> dict[str, str]:
    """Return all files by their paths below `reports/`."""
    readme = (REPORTS / index.FILE).read_text(encoding="utf-8")
    reports = {f"{name}/{file}": text for name, files in made.items() for file, text in files.items()}
    return {**reports, index.FILE: index.with_scenarios(readme, made)}


def _stored(path: str) -> bytes | None:
    file = REPORTS / path
    return file.read_bytes() if file.is_file() else None


def strays(made: Reports) -> Iterator[Path]:
    """Yield folders and reports of scenarios that are no more."""
    for folder in sorted(path for path in REPORTS.iterdir() if path.is_dir()):
        if folder.name not in made and any((folder / file).exists() for file in FILES.values()):
            yield folder


def write(made: Reports) -> list[str]:
    """Write what is stale, and return it."""
    changed, files = differences(made), _files(made)
    for path in changed:
        (REPORTS / path).parent.mkdir(parents=True, exist_ok=True)
        (REPORTS / path).write_bytes(files[path].encode())
    return changed
