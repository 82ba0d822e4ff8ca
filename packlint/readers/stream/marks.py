"""Tokens that begin or end documents: where a stream without an index may be cut.

    tokens        1 a a 1 b 1 c c c c c       begins (1): a cut goes before
    ends (2)      a a 2 b 2 c c c 2           a cut goes after

What such a scan finds is no record of the producer's: it keeps stretches from being cut inside a document,
and the documents themselves are left to `BoundarySource.BOUNDARY_TOKENS`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from packlint.model.arrays import Int64Array, IntArray, empty_int64
from packlint.readers.shard import Settings
from packlint.readers.source import ArrayView
from packlint.readers.stream.stored import piece

__all__ = ["Cutter", "Marks"]

_FIRST_SCAN_TOKENS, _SCAN_TOKENS = 1 << 12, 1 << 18
"""The next document start is near as a rule; the search takes longer strides as it goes on."""
MAX_STRETCH_TOKENS = 1 << 26
"""How far a cut is looked for; a longer document is cut all the same, so that memory stays bounded."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Name the tokens that were told to part documents.

    Args:
        ends: ids after which a document ends.
        begins: ids with which one begins.
    """

    ends: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()

    @classmethod
    def told(cls, settings: Settings, *, prepended: bool = False) -> Marks:
        """Return what was told of the boundary token.

        Args:
            settings: `eos_ids` and `bos_id`.
            prepended: the format puts its token, of whatever name, before each document (llm.c).
        """
        bos = () if settings.bos_id is None else (settings.bos_id,)
        if prepended:
            return cls(begins=tuple(dict.fromkeys(settings.eos_ids + bos)))
        return cls(ends=settings.eos_ids) if settings.eos_ids else cls(begins=bos)

    def __bool__(self) -> bool:
        return bool(self.ends or self.begins)

    def places(self, tokens: IntArray, before: IntArray) -> Int64Array:
        """Return `int64[place]`, rising, the indices in `tokens` at which a document begins.

        Args:
            tokens: `int[token]`, a stretch of the stream.
            before: `int[0 or 1]`, the token before it, if there is one.
        """
        starts = np.zeros(tokens.size, np.bool_)
        for one in self.begins:
            starts |= tokens == one
        for one in self.ends:
            starts[1:] |= tokens[:-1] == one
            if starts.size and before.size:
                starts[0] |= before[0] == one
        if starts.size and not before.size:
            starts[0] = True
        return np.flatnonzero(starts)


class Cutter:
    """Move nominal cuts to the next place where a document begins; one pass over the tokens in order."""

    def __init__(self, tokens: ArrayView, marks: Marks) -> None:
        """Begin with a stream and the tokens that part its documents; without any, cuts stay put."""
        self._tokens, self._marks = tokens, marks
        # The stretch known to hold no document start, so that no token is looked at twice in vain.
        self._clear_from = self._clear_to = 0

    def cuts(self, nominal: Int64Array) -> Int64Array:
        """Return `int64[cut]`, each nominal cut moved right to the next document start, or the end.

        A cut moves by `MAX_STRETCH_TOKENS` at most, and depends on nothing but its place and the tokens.
        """
        if not self._marks or nominal.size == 0:
            return nominal
        first, last = int(nominal[0]), int(nominal[-1])
        starts = self._starts(first, last) if last > first else empty_int64()
        after = np.append(starts, self._next(last))
        moved: Int64Array = after[np.searchsorted(after, nominal)]
        furthest = np.minimum(nominal + MAX_STRETCH_TOKENS, self._tokens.size)
        return np.minimum(moved, furthest)

    def _starts(self, first: int, stop: int) -> Int64Array:
        before = piece(self._tokens, max(first - 1, 0), first)
        places = self._marks.places(piece(self._tokens, first, stop), before)
        places += first
        return places

    def _next(self, place: int) -> int:
        """Return the first document start at or after a place, or where the search ends."""
        limit = min(place + MAX_STRETCH_TOKENS, self._tokens.size)
        if not self._clear_from <= place <= self._clear_to:
            self._clear_from = self._clear_to = place
        stride = _FIRST_SCAN_TOKENS
        while self._clear_to < limit:
            stop = min(self._clear_to + stride, limit)
            found = self._starts(self._clear_to, stop)
            if found.size:
                self._clear_to = int(found[0])
                return self._clear_to
            self._clear_to = stop
            stride = min(2 * stride, _SCAN_TOKENS)
        return limit
