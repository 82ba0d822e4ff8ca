"""Names of shards in reports: relative to the inputs, never absolute, never twice the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from packlint.readers.source import Source

__all__ = ["display_name", "unique_names"]


def display_name(source: Source) -> str:
    """Return a file's path as given if it lies below the working directory, else its bare name."""
    if source.is_remote:
        return source.name
    path = source.path
    if path.is_absolute():
        try:
            return path.relative_to(Path.cwd()).as_posix()
        except ValueError:
            return path.name
    return path.name if ".." in path.parts else path.as_posix()


def unique_names(names: Mapping[Source, str]) -> dict[Source, str]:
    """Return the names, those that collide made longer by the directories in which their files lie.

    Args:
        names: wanted name by source; the sources are those of different files.
    """
    found = {source: _printable(name) for source, name in names.items()}
    deepest = max((len(source.parts) for source in found), default=0)
    for depth in range(2, deepest + 1):
        count = Counter(found.values())
        clashing = [source for source, name in found.items() if count[name] > 1]
        if not clashing:
            return found
        for source in clashing:
            found[source] = _printable("/".join(source.parts[-depth:]))
    return _numbered(found)


def _numbered(names: Mapping[Source, str]) -> dict[Source, str]:
    """Return the names with a number where only the query of a URL tells two objects apart."""
    seen: Counter[str] = Counter()
    found: dict[Source, str] = {}
    for source, name in names.items():
        seen[name] += 1
        found[source] = name if seen[name] == 1 else f"{name} ({seen[name]})"
    return found


def _printable(name: str) -> str:
    """Return the name with bytes that are no UTF-8 written out, so that any report can hold it."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
