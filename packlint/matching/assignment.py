"""Contents of segments → samples: equal samples get one copy each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.summaries.samples import SampleIndex

__all__ = ["Assigned", "Assignment"]


@dataclass(frozen=True, slots=True, eq=False)
class Assigned:
    """Hold the samples that copies were assigned to.

    Args:
        samples: `int64[copy]`, number of the sample.
        is_surplus: `bool[copy]`, every sample of this content has a copy already.
    """

    samples: Int64Array
    is_surplus: BoolArray


class Assignment:
    """Assign copies to samples; remembers which samples have one.

    Args:
        index: the look-up of samples.
    """

    def __init__(self, index: SampleIndex) -> None:
        self._by_content = np.argsort(index.contents, kind="stable").astype(np.int32)
        contents = index.contents[self._by_content]
        self._first = np.searchsorted(contents, index.contents).astype(np.int32)
        self._n_equal = np.bincount(contents, minlength=contents.size).astype(np.int32)
        self._n_taken = np.zeros(contents.size, np.int32)

    def assign(self, contents: IntArray) -> Assigned:
        """Return the samples of copies, in the order of the copies; those that are left go to the first.

        Args:
            contents: `int[copy]`, the first sample of the same content.
        """
        order = np.argsort(contents, kind="stable")
        ordered = contents[order]
        turn = np.empty(order.size, np.int64)
        turn[order] = np.arange(order.size) - np.searchsorted(ordered, ordered)
        turn += self._n_taken[contents]
        is_surplus = turn >= self._n_equal[contents]
        self._n_taken += np.bincount(contents[~is_surplus], minlength=self._n_taken.size).astype(np.int32)
        place = self._first[contents] + np.where(is_surplus, 0, turn)
        return Assigned(self._by_content[place].astype(np.int64), is_surplus)
