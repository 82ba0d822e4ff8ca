"""Short leftovers: pieces too short for a seed, led back to the gaps that longer pieces have left in samples.

A leftover is taken for a gap when it is equal to the whole of it; failing that, to its beginning or its end,
if it is too long for that to be chance. What is left of the gap is a gap again.

    sample      11 12 13 14 15 16 17 18       14 15 16 17 18 was found, the gap is 11 12 13
    leftovers   13   11 12                    11 12 begins the gap; then 13 is the whole of what is left
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from packlint.matching.gaps import Gaps, find_gaps
from packlint.matching.pieces import Leftovers, Pieces
from packlint.matching.reference import SampleBlock
from packlint.model.arrays import BoolArray, Int64Array, IntArray
from packlint.summaries.hashes import UInt64Array, wide_hash_runs
from packlint.summaries.samples import Samples

__all__ = ["fill_gaps"]

_MAX_LENGTHS = 64
"""Different lengths of leftovers that are looked for at the edges of gaps, the most frequent first."""
_MAX_ROUNDS = 256
_MAX_TEXT = 1 << 24
"""Tokens of samples with gaps that are held at a time."""
_ODDS = 16
"""One token is equal to another by chance once in about so many, in the most uniform of texts."""

_WHOLE, _BEGIN, _END = range(3)


def fill_gaps(
    samples: Samples,
    is_missing: BoolArray,
    pieces: Pieces,
    leftovers: Leftovers,
    read: Callable[[BoolArray], Iterable[SampleBlock]],
) -> tuple[Pieces, BoolArray]:
    """Return the pieces that leftovers are, and which leftovers.

    Args:
        samples: the reference.
        is_missing: `bool[sample]`, samples that may have gaps.
        pieces: what was found so far.
        leftovers: what no piece explains.
        read: gives the tokens of some samples.
    """
    gaps = find_gaps(samples, np.flatnonzero(is_missing), pieces)
    if len(leftovers) == 0 or len(gaps) == 0:
        return Pieces.concatenate([]), np.zeros(len(leftovers), np.bool_)
    has_gap = np.zeros(len(samples), np.bool_)
    has_gap[gaps.samples] = True
    chance = math.log(len(gaps) * len(leftovers), _ODDS)
    filler = _Filler(samples, pieces.take(has_gap[pieces.samples]), leftovers, 1 + math.ceil(chance))
    is_small = int((samples.n_tokens + samples.n_specials)[has_gap].sum()) <= _MAX_TEXT
    # Whole gaps come first, in all texts.
    for kinds in [(_WHOLE, _BEGIN, _END)] if is_small else [(_WHOLE,), (_WHOLE, _BEGIN, _END)]:
        for text in _texts(read(has_gap)):
            filler.fill(text, kinds)
    return Pieces.concatenate(filler.found), filler.is_filled


def _texts(blocks: Iterable[SampleBlock]) -> Iterator[SampleBlock]:
    """Yield blocks joined to larger ones."""
    pending: list[SampleBlock] = []
    n_tokens = 0
    for block in blocks:
        pending.append(block)
        n_tokens += block[0].size
        if n_tokens >= _MAX_TEXT:
            yield _join(pending)
            pending, n_tokens = [], 0
    if pending:
        yield _join(pending)


def _join(parts: list[SampleBlock]) -> SampleBlock:
    sizes = np.concatenate([np.diff(offsets) for _, offsets, _ in parts])
    return (
        np.concatenate([tokens for tokens, _, _ in parts]),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([numbers for _, _, numbers in parts]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Hold parts of gaps that are equal to a leftover, most likely."""

    first: UInt64Array
    second: UInt64Array
    gaps: Int64Array
    samples: Int64Array
    offsets: Int64Array
    lengths: Int64Array


class _Filler:
    """Fill gaps, text by text.

    Args:
        samples: the reference.
        pieces: what was found of samples with gaps.
        leftovers: what may fill them.
        min_tokens: tokens of a leftover that may begin or end a gap.
    """

    def __init__(self, samples: Samples, pieces: Pieces, leftovers: Leftovers, min_tokens: int) -> None:
        self.found: list[Pieces] = []
        self.is_filled = np.zeros(len(leftovers), np.bool_)
        self._samples, self._pieces, self._leftovers = samples, pieces, leftovers
        self._min_tokens = min_tokens

    def fill(self, text: SampleBlock, kinds: tuple[int, ...]) -> None:
        """Fill the gaps of the samples of a text, until nothing more fits."""
        for _ in range(_MAX_ROUNDS):
            gaps = find_gaps(self._samples, text[2], self._pieces)
            if not any(self._fill(text, gaps, kind) for kind in kinds):
                break

    def _fill(self, text: SampleBlock, gaps: Gaps, kind: int) -> bool:
        min_tokens = 0 if kind == _WHOLE else self._min_tokens
        open_ = np.flatnonzero(~self.is_filled & (self._leftovers.lengths >= min_tokens))
        if open_.size == 0 or len(gaps) == 0:
            return False
        leftovers = self._leftovers.take(open_)
        found = _candidates(text, gaps, kind, leftovers)
        chosen = _longest(_pair_up(leftovers, found), found)
        is_filled = chosen >= 0
        if not is_filled.any():
            return False
        filled, part = leftovers.take(is_filled), chosen[is_filled]
        pieces = Pieces(
            segments=filled.segments,
            starts=filled.starts,
            lengths=filled.lengths,
            samples=found.samples[part],
            offsets=found.offsets[part],
            targets=filled.targets,
            begins_in_target=filled.begins_in_target,
        )
        self.found.append(pieces)
        self.is_filled[open_[is_filled]] = True
        self._pieces = Pieces.end_to_end([self._pieces, pieces])
        return True


def _candidates(text: SampleBlock, gaps: Gaps, kind: int, leftovers: Leftovers) -> _Candidates:
    tokens, offsets, numbers = text
    base = offsets[np.searchsorted(numbers, gaps.samples)]
    wanted = np.sort(leftovers.first)
    parts = []
    for length in _lengths(leftovers) if kind != _WHOLE else [0]:
        which = np.flatnonzero(gaps.lengths > length)
        starts, stops = gaps.starts[which], gaps.stops[which]
        if kind == _BEGIN:
            stops = starts + length
        elif kind == _END:
            starts = stops - length
        hits, first, second = _hits(tokens, base[which] + starts, base[which] + stops, wanted)
        which = which[hits]
        parts.append((first, second, which, gaps.samples[which], starts[hits], (stops - starts)[hits]))
    return _Candidates(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _hits(
    tokens: IntArray, starts: Int64Array, stops: Int64Array, wanted: UInt64Array
) -> tuple[Int64Array, UInt64Array, UInt64Array]:
    """Return the runs whose hash is wanted, and their hashes."""
    first, second = wide_hash_runs(tokens, starts, stops)
    place = np.minimum(np.searchsorted(wanted, first), wanted.size - 1)
    hits = np.flatnonzero(wanted[place] == first)
    return hits, first[hits], second[hits]


def _lengths(leftovers: Leftovers) -> list[int]:
    lengths, counts = np.unique(leftovers.lengths, return_counts=True)
    frequent: list[int] = lengths[np.argsort(-counts, kind="stable")[:_MAX_LENGTHS]].tolist()
    return frequent


def _pair_up(leftovers: Leftovers, found: _Candidates) -> Int64Array:
    """Return for each leftover its candidate or -1; equal texts take turns."""
    n = found.first.size
    first = np.concatenate([found.first, leftovers.first])
    second = np.concatenate([found.second, leftovers.second])
    order = np.lexsort((second, first))
    differs = np.zeros(order.size, np.int64)
    differs[1:] = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    group = np.empty(order.size, np.int64)
    group[order] = np.cumsum(differs)
    theirs, ours = group[:n], group[n:]
    candidates = np.lexsort((found.offsets, found.samples, theirs))
    theirs = theirs[candidates]
    mine = np.argsort(ours, kind="stable")
    turn = np.empty(ours.size, np.int64)
    turn[mine] = np.arange(ours.size) - np.searchsorted(ours[mine], ours[mine])
    low, high = np.searchsorted(theirs, ours), np.searchsorted(theirs, ours, side="right")
    chosen = np.full(ours.size, -1, np.int64)
    has_turn = low + turn < high
    chosen[has_turn] = candidates[(low + turn)[has_turn]]
    return chosen


def _longest(chosen: Int64Array, found: _Candidates) -> Int64Array:
    """Return the candidates chosen, one at the most for each gap: the longest."""
    at = np.flatnonzero(chosen >= 0)
    part = chosen[at]
    order = np.lexsort((at, -found.lengths[part], found.gaps[part]))
    is_more = np.zeros(order.size, np.bool_)
    is_more[1:] = np.diff(found.gaps[part][order]) == 0
    chosen = chosen.copy()
    chosen[at[order[is_more]]] = -1
    return chosen
