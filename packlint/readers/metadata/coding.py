"""Values → numbers, one block of rows at a time, in bounded memory.

"web" "code" None "web"      categories   0 1 -1 0    names: web, code
17    "18"   "a7f" None      sample ids   17 18 (hash) UNKNOWN_ID
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from packlint.errors import UsageError
from packlint.model.arrays import Int64Array, empty_int64
from packlint.model.batch import UNKNOWN_ID
from packlint.readers.metadata.values import Column

__all__ = [
    "MAX_DISTINCT",
    "Coded",
    "Coder",
    "Hashed",
    "Numbering",
    "Vocabulary",
    "lacks_value",
    "look_up",
    "refuse",
    "text_of",
]

MAX_DISTINCT = 1 << 16
"""Distinct values of a column in one part; a column with more is an identifier, or text."""
_MAX_CHARS = 1 << 24
"""Characters of all distinct values together."""
_HASH_BYTES = 8
_PLURALS = {dict: "objects", list: "lists of lists", float: "floats"}
_LARGEST = int(np.iinfo(np.int64).max)


class Numbering(Protocol):
    """Turn texts into numbers."""

    @property
    def unknown(self) -> int:
        """Number of what is null."""

    def number(self, text: str) -> int:
        """Return the number of a text, always the same."""


class Vocabulary:
    """Number distinct values as they come, up to a limit."""

    unknown = -1

    def __init__(self, column: str) -> None:
        """Begin empty, for the values of a column."""
        self._column = column
        self._places: dict[str, int] = {}
        self._n_chars = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Distinct values, in the order of their numbers."""
        return tuple(self._places)

    def number(self, text: str) -> int:
        """Return the place of a value among the distinct ones.

        Raises:
            UsageError: there are too many of them, or they are too long.
        """
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self._places)
            self._n_chars += len(text)
            if place >= MAX_DISTINCT or self._n_chars > _MAX_CHARS:
                kind = f"more than {MAX_DISTINCT} distinct values" if place >= MAX_DISTINCT else "long texts"
                raise UsageError(f"column {self._column} holds {kind}: that is no category; name another one")
        return place


class Hashed:
    """Turn ids into whole numbers: those that are one stay as they are."""

    unknown = UNKNOWN_ID

    def number(self, text: str) -> int:
        """Return the number of an id; two texts share one with a chance of 1 in 2**63."""
        digits = text[1:] if text.startswith("-") else text
        is_number = len(digits) <= 19 and digits.isascii() and digits.isdigit()
        if is_number and abs(found := int(text)) <= _LARGEST and str(found) == text:
            return found
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
        return int.from_bytes(digest, "little", signed=True)


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Hold some rows of a column as numbers.

    Args:
        values: `int64[value]`.
        lengths: `int64[row]`, values of each row: 0 or 1 where they are single ones.
        is_list: rows hold lists; none where all are null.
    """

    values: Int64Array
    lengths: Int64Array
    is_list: bool | None


class Coder:
    """Collect the rows of one column as numbers.

    A column whose rows hold single values here and lists there is what its first row with a value is; the
    others count as null.
    """

    def __init__(self, column: str, numbering: Numbering) -> None:
        """Begin empty."""
        self._column, self._numbering = column, numbering
        self._blocks: list[Coded] = []
        self._is_list: bool | None = None

    def add(self, column: Column) -> None:
        """Append rows: a list of Python values, or a pyarrow array of text, whole numbers or booleans.

        Raises:
            UsageError: a value cannot be a category, or there are too many distinct ones.
        """
        if isinstance(column, list):
            block = self._coded(column)
        else:
            # Imported here: only who has an Arrow array in hand has paid for pyarrow.
            from packlint.readers.metadata.arrow import code_array

            block = code_array(self._column, column, self._numbering)
        self._is_list = block.is_list if self._is_list is None else self._is_list
        self._blocks.append(block)

    def result(self) -> tuple[Int64Array, Int64Array | None]:
        """Return `int64[value]`, and `int64[row + 1]` into it, or none for one value per row."""
        blocks = self._blocks
        lengths = np.concatenate([block.lengths for block in blocks]) if blocks else empty_int64()
        values = np.concatenate([block.values for block in blocks]) if blocks else empty_int64()
        if self._is_list:
            return values, np.append(0, np.cumsum(lengths))
        per_row = np.full(lengths.size, self._numbering.unknown, np.int64)
        per_row[lengths == 1] = values
        return per_row, None

    def _coded(self, rows: Sequence[object]) -> Coded:
        values: list[int] = []
        lengths: list[int] = []
        is_list = self._is_list
        for row in map(plain_value, rows):
            if row is None or (is_list is not None and isinstance(row, list) is not is_list):
                lengths.append(0)
                continue
            is_list = isinstance(row, list)
            entries = row if isinstance(row, list) else [row]
            values += map(self._number, entries)
            lengths.append(len(entries))
        return Coded(np.array(values, np.int64), np.array(lengths, np.int64), is_list)

    def _number(self, value: object) -> int:
        text = text_of(self._column, value)
        return self._numbering.unknown if text is None else self._numbering.number(text)


def plain_value(value: Any) -> Any:
    """Return arrays, tensors and tuples as lists, numpy's single values and NaN as Python's and none."""
    if hasattr(value, "detach") and hasattr(value, "cpu"):
        value = value.detach().cpu().numpy()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):  # how pandas writes that there is no value
        return None
    return list(value) if isinstance(value, tuple) else value


def text_of(column: str, value: object) -> str | None:
    """Return a value as text, none for null.

    Raises:
        UsageError: it is no text, whole number or boolean.
    """
    value = plain_value(value)
    if value is None or type(value) is str:
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    raise refuse(column, _PLURALS.get(type(value), type(value).__name__))


def refuse(column: str, holds: str) -> UsageError:
    """Return the error for a column that cannot be a category."""
    hint = f"; name a field of them, such as {column}.name" if holds == "objects" else ""
    return UsageError(f"column {column} holds {holds}; categories are texts, whole numbers or booleans{hint}")


def lacks_value(column: str, rows: Iterable[object]) -> bool:
    """Tell whether none of a few rows has a value.

    Raises:
        UsageError: one has a value that cannot be a category.
    """
    coder = Coder(column, Hashed())
    coder.add(list(rows))
    values, _ = coder.result()
    return bool(np.all(values == UNKNOWN_ID))


def look_up(row: Mapping[Any, object], name: str) -> object:
    """Return a value by its key, or by a path of keys (`meta.domain`); none when there is none.

    A path leads through lists too: `samples.domain` is the list of the domains of the samples.
    """
    if name in row:
        return row[name]
    key, dot, rest = name.partition(".")
    while dot:
        if key in row:
            return _below(row[key], rest)
        more, dot, rest = rest.partition(".")
        key = f"{key}.{more}"
    return None


def _below(value: object, path: str) -> object:
    if isinstance(value, Mapping):
        return look_up(value, path)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [_below(entry, path) for entry in value]
    return None
