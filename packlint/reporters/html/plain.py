"""Parts of plain data that may hold anything: what is of another kind than wanted counts as nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packlint.reporters.html.axes import finite
from packlint.reporters.html.groups import figure

__all__ = ["Facts", "list_of", "numbers_of", "plain", "plain_facts", "rows_of", "table_of"]

Facts = tuple[tuple[str, str], ...]


def table_of(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table of a table."""
    value = table.get(key)
    return value if isinstance(value, Mapping) else {}


def list_of(table: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return a list of a table."""
    value = table.get(key)
    return value if isinstance(value, list | tuple) else ()


def rows_of(table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the tables in a list of a table."""
    return [row for row in list_of(table, key) if isinstance(row, Mapping)]


def numbers_of(table: Mapping[str, Any], key: str) -> list[float]:
    """Return the numbers in a list of a table."""
    return [finite(value) for value in list_of(table, key)]


def plain(value: Any) -> str:
    """Return a value as people read it."""
    return figure(value) if isinstance(value, int | float) else str(value)


def plain_facts(table: Mapping[str, Any]) -> Facts:
    """Return the plain values of a table by name."""
    return tuple(
        (str(name).removeprefix("n_").replace("_", " "), plain(value))
        for name, value in table.items()
        if isinstance(value, int | float | str)
    )
