"""Whole numbers from 0, counted exactly: in an array below `1 << 16`, by value above.

Arrays end at the largest number that was ever added, so that two histograms of the same numbers are equal
however they came about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from packlint.model.arrays import Int64Array, empty_int64
from packlint.summaries.plain import Plain

__all__ = ["Histogram", "padded_sum"]

_MAX_DENSE = 1 << 16
_MAX_VALUE = 1 << 38


@dataclass(slots=True, eq=False)
class Histogram:
    """Count numbers, or add up amounts by number.

    Args:
        dense: `int64[number]`, its last entry not 0.
        above: amounts of the numbers from `1 << 16` on.
    """

    dense: Int64Array = field(default_factory=empty_int64)
    above: Counter[int] = field(default_factory=Counter)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return np.array_equal(self.dense, other.dense) and dict(self.above) == dict(other.above)

    def add(self, numbers: Int64Array, amounts: Int64Array | None = None) -> None:
        """Count numbers, in place.

        Args:
            numbers: `int64[item]`, from 0.
            amounts: `int64[item]`, how much each counts, from 0; one where left out.
        """
        if numbers.size == 0:
            return
        if int(numbers.max()) >= _MAX_DENSE:
            is_large = numbers >= _MAX_DENSE
            large, at = np.unique(numbers[is_large], return_inverse=True)
            sums = _sums(at, None if amounts is None else amounts[is_large])
            self.above.update({int(n): int(s) for n, s in zip(large, sums, strict=True) if s})
            numbers, amounts = numbers[~is_large], None if amounts is None else amounts[~is_large]
        self.dense = _trimmed(padded_sum(self.dense, _sums(numbers, amounts)))

    def merge(self, other: Histogram) -> Histogram:
        """Return the counts of both."""
        return Histogram(padded_sum(self.dense, other.dense), self.above + other.above)

    @property
    def total(self) -> int:
        """Sum of all counts."""
        return int(self.dense.sum()) + self.above.total()

    @property
    def moment(self) -> int:
        """Sum of number times count."""
        low = int(self.dense @ np.arange(self.dense.size))
        return low + sum(number * count for number, count in self.above.items())

    def arrays(self) -> tuple[Int64Array, Int64Array]:
        """Return `int64[distinct]` twice: the numbers that occur, rising, and their counts."""
        low = np.flatnonzero(self.dense)
        high = sorted(self.above)
        counts = [self.above[number] for number in high]
        return (
            np.concatenate([low, np.array(high, np.int64)]),
            np.concatenate([self.dense[low], np.array(counts, np.int64)]),
        )

    def to_plain(self) -> dict[str, Any]:
        """Return plain data: the steps between the numbers that occur, and the counts."""
        numbers, counts = self.arrays()
        return {"steps": np.diff(numbers, prepend=0).tolist(), "counts": counts.tolist()}

    @classmethod
    def from_plain(cls, plain: Plain) -> Histogram:
        """Return what `to_plain` wrote.

        Raises:
            UsageError: it is none.
        """
        numbers, counts = plain.steps_and_counts(_MAX_VALUE)
        return cls.of(dict(zip(numbers, counts, strict=True)))

    @classmethod
    def of(cls, counts: Mapping[int, int]) -> Histogram:
        """Return a histogram of counts by number, those that are 0 left out."""
        made = cls()
        numbers = np.array(list(counts), np.int64)
        made.add(numbers, np.array(list(counts.values()), np.int64))
        return made


def padded_sum(one: Int64Array, other: Int64Array) -> Int64Array:
    """Return the sum of two arrays, the shorter one filled up with zeros."""
    if one.size < other.size:
        one, other = other, one
    total = one.copy()
    total[: other.size] += other
    return total


def _sums(numbers: Int64Array, amounts: Int64Array | None) -> Int64Array:
    """Return `int64[number]`; sums are exact, as they are not made in floating point."""
    if amounts is None:
        return np.bincount(numbers)
    sums = np.zeros(int(numbers.max()) + 1 if numbers.size else 0, np.int64)
    np.add.at(sums, numbers, amounts)
    return sums


def _trimmed(counts: Int64Array) -> Int64Array:
    used = np.flatnonzero(counts)
    return counts[: used[-1] + 1] if used.size else empty_int64()
