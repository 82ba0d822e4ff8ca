"""What each value of a metadata column holds: samples, tokens and targets, exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.model.metadata import Categories
from packlint.summaries.plain import MAX_COUNT, Plain

__all__ = ["FIGURES", "MAX_CATEGORIES", "PACK_UNIT", "CategoryShares"]

FIGURES = ("n_samples", "n_tokens", "n_targets", "n_tokens_squared", "n_targets_squared", "n_pack_shares")
"""What is added up for each category; the squares are those of each sample, and tell how much chance moves.
`n_pack_shares`: its part of the targets of each pack, in units of `1 / PACK_UNIT` of a pack."""

PACK_UNIT = 1 << 30
MAX_CATEGORIES = 1 << 16
MAX_NAME = 1 << 10
"""A column of more values, or of one with more characters, holds no categories; it is left out."""

_MAX_SQUARES = 1 << 100


@dataclass(slots=True)
class CategoryShares:
    """Add up figures by category; those of samples whose category nobody knows are left out.

    Args:
        by_name: figures in the order of `FIGURES`, by category.
        is_overfull: the column holds no categories, so that none is kept.
    """

    by_name: dict[str, tuple[int, ...]] = field(default_factory=dict)
    is_overfull: bool = False

    @classmethod
    def of(
        cls,
        column: Categories,
        n_tokens: Int64Array,
        n_targets: Int64Array | None = None,
        n_pack_shares: Int64Array | None = None,
    ) -> CategoryShares:
        """Return the sums over samples.

        Args:
            column: category of each sample.
            n_tokens: `int64[sample]`.
            n_targets: `int64[sample]`; none where nobody knows.
            n_pack_shares: `int64[sample]`, its part of the targets of its pack; none where nobody knows.
        """
        squares = None if n_targets is None else n_targets * n_targets
        figures = (n_tokens, n_targets, n_tokens * n_tokens, squares, n_pack_shares)
        n_names = len(column.names)
        places = np.where(column.codes < 0, n_names, column.codes).astype(np.intp, copy=False)
        sums = np.zeros((len(FIGURES), n_names + 1), np.int64)
        sums[0] = np.bincount(places, minlength=n_names + 1)
        for row, values in enumerate(figures, start=1):
            if values is not None:
                np.add.at(sums[row], places, values)
        used = np.flatnonzero(sums[0, :-1])
        rows = sums[:, used].T.tolist()
        return cls._bounded({column.names[i]: tuple(row) for i, row in zip(used.tolist(), rows, strict=True)})

    def merge(self, other: CategoryShares) -> CategoryShares:
        """Return the figures of both."""
        if self.is_overfull or other.is_overfull:
            return CategoryShares(is_overfull=True)
        both = dict(self.by_name)
        for name, figures in other.by_name.items():
            mine = both.get(name)
            both[name] = figures if mine is None else tuple(a + b for a, b in zip(mine, figures, strict=True))
        return self._bounded(both)

    def total(self, figure: str) -> int:
        """Return one of `FIGURES` over all categories."""
        place = FIGURES.index(figure)
        return sum(figures[place] for figures in self.by_name.values())

    def of_name(self, name: str, figure: str) -> int:
        """Return one of `FIGURES` for a category, 0 where it does not occur."""
        figures = self.by_name.get(name)
        return 0 if figures is None else figures[FIGURES.index(figure)]

    def to_plain(self) -> dict[str, Any]:
        """Return plain data, sorted."""
        return {
            "is_overfull": self.is_overfull,
            "by_name": {name: list(self.by_name[name]) for name in sorted(self.by_name)},
        }

    @classmethod
    def from_plain(cls, plain: Plain) -> CategoryShares:
        """Return what `to_plain` wrote.

        Raises:
            UsageError: it is none.
        """
        table = plain.table("is_overfull", "by_name")
        by_name = {name: _figures(entry) for name, entry in table["by_name"].entries()}
        made = cls._bounded(by_name)
        if made.is_overfull or (by_name and table["is_overfull"].truth()):
            raise table["by_name"].fault(f"at most {MAX_CATEGORIES} categories of {MAX_NAME} characters")
        return cls(by_name, table["is_overfull"].truth())

    @classmethod
    def _bounded(cls, by_name: dict[str, tuple[int, ...]]) -> CategoryShares:
        is_overfull = len(by_name) > MAX_CATEGORIES or any(len(name) > MAX_NAME for name in by_name)
        return cls({} if is_overfull else by_name, is_overfull)


def _figures(plain: Plain) -> tuple[int, ...]:
    items = plain.items()
    if len(items) != len(FIGURES):
        raise plain.fault(f"{len(FIGURES)} numbers")
    most = [_MAX_SQUARES if name.endswith("_squared") else MAX_COUNT for name in FIGURES]
    return tuple(item.count(limit) for item, limit in zip(items, most, strict=True))
