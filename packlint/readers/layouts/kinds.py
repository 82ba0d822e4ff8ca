"""What a column holds, as far as detection asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["ColumnKind", "Element"]


class Element(StrEnum):
    """What the innermost values of a column are."""

    INT = "integers"
    FLOAT = "floats"
    BOOL = "booleans"
    STRING = "strings"
    STRUCT = "structs"
    NULL = "nulls"
    OTHER = "values of another kind"


@dataclass(frozen=True, slots=True)
class ColumnKind:
    """Say what one row of a column holds.

    Args:
        element: what the innermost values are.
        ndim: axes within one row, the row itself not counted: 0 is one value per row, 1 a list (one value per
            token), 2 or 3 lists of lists (a query-by-key mask, perhaps with a leading axis of heads).
    """

    element: Element
    ndim: int = 1

    def __str__(self) -> str:
        if self.ndim == 0:
            return f"single {self.element}"
        return "lists of " * self.ndim + self.element
