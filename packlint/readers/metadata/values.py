"""What is read of a column without role, and what a shard gives that can be asked for one.

domain       "web"  "code"            one value per row: it holds for all segments of the row
domain       ["web", "web", "code"]   a list per row: one value per segment
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from packlint.model.arrays import Int64Array
from packlint.model.metadata import Categories
from packlint.readers.shard import Part

__all__ = ["METADATA_ROWS", "Column", "HasColumns", "RowValues", "SampleIds"]

Column = Any
"""One value per row: a list of Python values, or a pyarrow array."""

METADATA_ROWS = 1 << 12
"""Rows that are decoded and coded at a time."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowValues:
    """Hold one column of a part, from its first row on.

    Args:
        categories: one item per row, or per entry of the rows' lists.
        offsets: `int64[row + 1]`, where each row's list begins in `categories`; none for one item per row.
        damage: why the rows after these could not be read, or empty; the scan of the same part reports it
            where it concerns the tokens too.
    """

    categories: Categories
    offsets: Int64Array | None = None
    damage: str = ""

    @property
    def n_rows(self) -> int:
        """Rows read."""
        return len(self.categories) if self.offsets is None else int(self.offsets.size - 1)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SampleIds:
    """Hold the sample ids of a part, from its first row on.

    Args:
        values: `int64[value]`: whole numbers, and text that is one, as they are; other text by its hash.
        offsets: `int64[row + 1]`, where each row's list begins in `values`; none for one id per row.
        column: stored name of the column.
    """

    values: Int64Array
    offsets: Int64Array | None
    column: str

    @property
    def n_rows(self) -> int:
        """Rows read."""
        return int(self.values.size) if self.offsets is None else int(self.offsets.size - 1)


@runtime_checkable
class HasColumns(Protocol):
    """Be asked for a column by name; shards whose format can hold any column do this."""

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column, in words after its name; none when it can be read.

        Raises:
            UsageError: it is there and holds what cannot be a category.
        """

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of all rows of a part in order, rows that cannot be read among them as nulls.

        Args:
            part: which rows.
            names: of columns that it does not lack.
            most_rows: rows at a time, at most; fewer where they hold long texts.

        Raises:
            UnreadableError: the part is damaged; what was yielded before stays valid.
        """
