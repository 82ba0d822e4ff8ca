"""Names of shards in reports: relative to the inputs, never absolute, never twice the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

__all__ = ["display_name", "unique_names"]


def display_name(path: Path) -> str:
    """Return a file's path as given if it lies below the working directory, else its bare name."""
    if path.is_absolute():
        try:
            return path.relative_to(Path.cwd()).as_posix()
        except ValueError:
            return path.name
    return path.name if ".." in path.parts else path.as_posix()


def unique_names(names: Mapping[Path, str]) -> dict[Path, str]:
    """Return the names, those that collide made longer by the directories in which their files lie.

    Args:
        names: wanted name by path; the paths are those of different files.
    """
    found = {path: _printable(name) for path, name in names.items()}
    depth = 1
    while True:
        count = Counter(found.values())
        clashing = [path for path, name in found.items() if count[name] > 1]
        if not clashing:
            return found
        depth += 1
        for path in clashing:
            parts = path.absolute().parts[1:]
            found[path] = _printable("/".join(parts[-depth:]))


def _printable(name: str) -> str:
    """Return the name with bytes that are no UTF-8 written out, so that any report can hold it."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
