"""Plain data from a file of anyone's, read strictly: every fault is named with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from packlint.errors import UsageError

__all__ = ["MAX_COUNT", "Plain"]

MAX_COUNT = 1 << 60
_MAX_TEXT = 1 << 12


@dataclass(frozen=True, slots=True)
class Plain:
    """Hold a value and the path that leads to it; every reader raises `UsageError`.

    Args:
        value: what JSON gave.
        path: names from the top, joined by dots.
        source: name of the file.
    """

    value: Any
    path: str = ""
    source: str = "summary"

    def fault(self, wanted: str) -> UsageError:
        """Return the error that says what was wanted here."""
        shown = repr(self.value)
        shown = shown if len(shown) <= 40 else shown[:37] + "..."
        where = f"{self.path}: " if self.path else ""
        return UsageError(f"{self.source}: {where}wanted {wanted}, got {shown}")

    def table(self, *names: str) -> dict[str, Plain]:
        """Return a table of exactly these names."""
        entries = dict(self.entries())
        for name in names:
            if name not in entries:
                raise self.fault(f"the key {name}")
        for name in entries:
            if name not in names:
                raise self.fault(f"no key {name!r}")
        return entries

    def entries(self) -> Iterator[tuple[str, Plain]]:
        """Yield the entries of a table of any names."""
        if not isinstance(self.value, Mapping):
            raise self.fault("a table")
        for name, value in self.value.items():
            if not isinstance(name, str) or len(name) > _MAX_TEXT:
                raise self.fault("short names")
            yield name, Plain(value, f"{self.path}.{name}" if self.path else name, self.source)

    def items(self) -> list[Plain]:
        """Return the items of a list."""
        if not isinstance(self.value, list):
            raise self.fault("a list")
        return [Plain(value, f"{self.path}[{i}]", self.source) for i, value in enumerate(self.value)]

    def count(self, most: int = MAX_COUNT, least: int = 0) -> int:
        """Return a whole number from `least` to `most`."""
        if not _is_count(self.value, most, least):
            raise self.fault(f"a whole number from {least} to {most}")
        number: int = self.value
        return number

    def counts(self, most: int = MAX_COUNT, length: int | None = None) -> list[int]:
        """Return a list of whole numbers from 0 to `most`, of a known length where one is given."""
        if not isinstance(self.value, list) or not all(_is_count(value, most) for value in self.value):
            raise self.fault(f"a list of whole numbers from 0 to {most}")
        if length is not None and len(self.value) != length:
            raise self.fault(f"{length} numbers")
        return self.value

    def text(self, *allowed: str) -> str:
        """Return a short text; one of those allowed, where some are given."""
        if not isinstance(self.value, str) or len(self.value) > _MAX_TEXT:
            raise self.fault("a short text")
        if allowed and self.value not in allowed:
            raise self.fault(" or ".join(allowed))
        return self.value

    def truth(self) -> bool:
        """Return true or false."""
        if not isinstance(self.value, bool):
            raise self.fault("true or false")
        return self.value

    def steps_and_counts(self, most: int) -> tuple[list[int], list[int]]:
        """Return rising numbers up to `most`, given by their steps, and the count of each, from 1."""
        table = self.table("steps", "counts")
        numbers = list(accumulate(table["steps"].counts(most)))
        counts = table["counts"].counts(length=len(numbers))
        if any(step == 0 for step in table["steps"].value[1:]) or (numbers and numbers[-1] > most):
            raise table["steps"].fault(f"rising numbers up to {most}")
        if 0 in counts or sum(n * max(k, 1) for n, k in zip(counts, numbers, strict=True)) > MAX_COUNT:
            raise table["counts"].fault(f"counts from 1 that add up to at most {MAX_COUNT}")
        return numbers, counts


def _is_count(value: Any, most: int, least: int = 0) -> bool:
    return type(value) is int and least <= value <= most
