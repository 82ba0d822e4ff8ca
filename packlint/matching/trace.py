"""Segments that are no whole copy → pieces of samples.

A first round looks for them in the samples of which no whole copy was packed; what is left then, in all
others, where only stretches count that explain all that is left between two boundaries. Last come the short
ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from packlint.engine.scan import ShardPlan
from packlint.matching.accounts import Traced
from packlint.matching.alterations import Alterations
from packlint.matching.assignment import Assignment
from packlint.matching.choice import Choice
from packlint.matching.edges import Edges
from packlint.matching.fillings import fill_gaps
from packlint.matching.joins import find_joined
from packlint.matching.pieces import Leftovers, Pieces, find_leftovers, pieces_of, uncovered
from packlint.matching.reference import blocks
from packlint.matching.residue import Residue, residues
from packlint.matching.runs import Runs
from packlint.matching.seeds import Seeds
from packlint.matching.separators import find_separators
from packlint.matching.short import find_short
from packlint.matching.streams import SampleEnds
from packlint.model.arrays import BoolArray, Int64Array, are_among, sorted_distinct
from packlint.summaries.cores import Cores
from packlint.summaries.matches import PlacedSegments
from packlint.summaries.samples import SampleIndex, Samples

__all__ = ["MAX_RESIDUE_TOKENS", "trace"]

MAX_RESIDUE_TOKENS = 1 << 24
_SMALL_RESIDUE_TOKENS = 1 << 20
_WIDTH, _SMALL_WIDTH = 16, 8
"""Tokens of a seed: rare enough in a large text, and as few as possible in a small one."""
_FOREIGN_FRACTION = 0.001
_FOREIGN = "the reference does not seem to be of these packs: next to nothing of them was found in it"


def trace(
    packed: Sequence[ShardPlan],
    reference: Sequence[ShardPlan],
    samples: Samples,
    index: SampleIndex,
    segments: PlacedSegments,
    max_tokens: int = MAX_RESIDUE_TOKENS,
) -> Traced:
    """Return what became of the segments that are no whole copy.

    Args:
        packed: the packs.
        reference: the samples' shards.
        samples: the samples.
        index: their look-up.
        segments: all packed segments.
        max_tokens: tokens of segments held at a time.
    """
    assignment = Assignment(index)
    copies = np.flatnonzero(segments.sources >= 0)
    assigned = assignment.assign(segments.sources[copies])
    joined = find_joined(samples, index, segments, assignment)
    is_missing = samples.n_tokens > 0
    is_missing[assigned.samples] = False
    is_missing[joined.samples] = False
    is_open = (segments.sources < 0) & (segments.core_lengths > 0)
    is_open[joined.segments] = False
    n_known, n_open = (int(segments.lengths[which].sum()) for which in (~is_open, is_open))
    width = _SMALL_WIDTH if n_open <= _SMALL_RESIDUE_TOKENS else _WIDTH
    tracer = _Tracer(reference, samples, is_missing, width)
    is_small = n_open <= max_tokens
    open_ = residues(packed, segments, is_open, max_tokens if is_small else max_tokens // 4)
    if not is_small:
        ends = SampleEnds.of(samples, index, blocks(reference, samples, is_missing))
        open_ = tracer.without_whole(open_, ends, assignment, max_tokens)
    n_seen, untraced = 0, ""
    for residue in open_:
        if n_seen and not untraced and tracer.n_found + n_known < _FOREIGN_FRACTION * n_seen:
            untraced = _FOREIGN
        n_seen += residue.tokens.size
        tracer.add(residue, is_traced=not untraced)
    surplus = _as_leftovers(samples, segments, copies[assigned.is_surplus])
    pieces, leftovers, is_piece = tracer.finish(segments, surplus)
    sources = np.full(len(segments), -1, np.int64)
    sources[copies] = assigned.samples
    sources[surplus.segments[is_piece]] = -1
    return Traced(
        copies=sources,
        pieces=Pieces.concatenate([joined, pieces]),
        leftovers=leftovers.take(~find_separators(samples, pieces, leftovers)),
        untraced=untraced,
    )


def _as_leftovers(samples: Samples, segments: PlacedSegments, which: Int64Array) -> Leftovers:
    """Return whole copies as what may be a piece of another sample."""
    first, second = samples.hashes
    content = segments.sources[which]
    return Leftovers(
        segments=which,
        starts=segments.heads[which].astype(np.int64),
        lengths=segments.core_lengths[which],
        first=first[content],
        second=second[content],
        targets=segments.targets[which].astype(np.int64),
        begins_in_target=segments.begins_in_target[which],
        is_recorded=np.ones(which.size, np.bool_),
    )


class _Tracer:
    """Trace residues one after the other."""

    def __init__(
        self, reference: Sequence[ShardPlan], samples: Samples, is_missing: BoolArray, width: int
    ) -> None:
        self._width = width
        self._reference = reference
        self._samples = samples
        self._is_missing = is_missing
        self._sizes = samples.n_tokens + samples.n_specials
        self._choice = Choice(samples)
        self._pieces: list[Pieces] = []
        self._leftovers: list[Leftovers] = []
        self.n_found = 0

    def add(self, residue: Residue, *, is_traced: bool) -> None:
        """Trace a residue; what is found in it counts for those that follow."""
        chosen = self._trace(residue) if is_traced else Runs.concatenate([])
        self.n_found += int(chosen.lengths.sum())
        self._pieces.append(pieces_of(residue, chosen))
        self._leftovers.append(find_leftovers(residue, chosen, self._samples.specials))

    def without_whole(
        self, parts: Iterable[Residue], ends: SampleEnds, assignment: Assignment, max_tokens: int
    ) -> Iterator[Residue]:
        """Yield what is left of residues without the whole samples in them, about `max_tokens` at a time."""
        pending: list[Residue] = []
        for residue in parts:
            runs = ends.runs(residue)
            assigned = assignment.assign(runs.samples)
            runs = replace(runs, samples=assigned.samples).take(~assigned.is_surplus)
            self._is_missing[runs.samples] = False
            self.n_found += int(runs.lengths.sum())
            self._pieces.append(pieces_of(residue, runs))
            free = uncovered(residue, runs, self._samples.specials, residue.offsets)
            if free.starts.size:
                pending.append(residue.part(free.starts, free.stops))
            if sum(part.tokens.size for part in pending) >= max_tokens:
                yield Residue.concatenate(pending)
                pending = []
        if pending:
            yield Residue.concatenate(pending)

    def _trace(self, residue: Residue) -> Runs:
        width = self._width
        seeds = Seeds(residue.tokens, residue.offsets, width)
        samples, missing = self._samples, self._is_missing
        chosen = Runs.concatenate([])
        if missing.any():
            chosen = self._choose(residue, self._runs(seeds, missing), width)
            free = uncovered(residue, chosen, samples.specials, residue.breaks)
            if free.starts.size:
                short = find_short(residue, free, samples, missing, width).distinct(self._sizes)
                chosen = _sorted([chosen, self._choose(residue, short, width)])
                chosen = self._align_edges(residue, seeds, chosen)
        free = uncovered(residue, chosen, samples.specials, residue.offsets)
        if free.lengths.max(initial=0) >= width and not missing.all():
            again = _whole(self._runs(seeds, ~missing), free, samples).distinct(self._sizes)
            chosen = _sorted([chosen, self._choose(residue, again, width)])
        return chosen

    def _align_edges(self, residue: Residue, seeds: Seeds, chosen: Runs) -> Runs:
        found = [chosen]
        # One after the other, so that a head and a tail never explain the same tokens.
        for side in (0, 1):
            free = uncovered(residue, _sorted(found), self._samples.specials, residue.offsets)
            edges = Edges.of(residue, _sorted(found), free, self._samples)[side]
            wanted = edges.wanted(len(self._samples))
            if wanted.any():
                found.append(edges.runs(seeds.prefixes, blocks(self._reference, self._samples, wanted)))
        return _sorted(found)

    def finish(self, segments: PlacedSegments, surplus: Leftovers) -> tuple[Pieces, Leftovers, BoolArray]:
        """Return all pieces, short ones too, what no piece explains, and which surplus copies are pieces.

        Args:
            segments: all packed segments.
            surplus: copies of samples that have one already; some may be pieces of others.
        """
        pieces = Pieces.concatenate(self._pieces)
        leftovers = Leftovers.concatenate(self._leftovers)
        # What stands in place of altered tokens is explained, and fills no gap.
        altered = Alterations.of(self._samples, pieces, leftovers, segments).is_replacement
        # So is what stands beside a piece, if the shard says that both are one segment.
        beside = leftovers.is_recorded & are_among(leftovers.segments, sorted_distinct(pieces.segments))
        n = len(leftovers)
        open_ = np.concatenate([np.flatnonzero(~altered & ~beside), np.arange(n, n + len(surplus))])
        candidates = Leftovers.concatenate([leftovers, surplus]).take(open_)
        read = partial(blocks, self._reference, self._samples)
        short, is_filled = fill_gaps(self._samples, self._is_missing, pieces, candidates, read)
        is_piece = np.zeros(n + len(surplus), np.bool_)
        is_piece[open_[is_filled]] = True
        return Pieces.concatenate([pieces, short]), leftovers.take(~is_piece[:n]), is_piece[n:]

    def _runs(self, seeds: Seeds, is_wanted: BoolArray) -> Runs:
        found = [seeds.runs(*block) for block in blocks(self._reference, self._samples, is_wanted)]
        return Runs.concatenate(found).distinct(self._sizes)

    def _choose(self, residue: Residue, runs: Runs, width: int) -> Runs:
        return self._choice.choose(runs, residue.breaks, width)


def _whole(runs: Runs, free: Cores, samples: Samples) -> Runs:
    """Return the runs cut down to what is left, those only that explain all of it or are whole samples.

    Less would be a phrase that two samples share.
    """
    cut = runs.cut_at(np.union1d(free.starts, free.stops))
    place = np.searchsorted(free.starts, cut.starts, side="right") - 1
    inside = (place >= 0) & (cut.stops <= free.stops[np.maximum(place, 0)])
    explains = cut.lengths == free.lengths[np.maximum(place, 0)]
    is_sample = cut.lengths >= samples.n_tokens[cut.samples]
    return cut.take(inside & (explains | is_sample))


def _sorted(parts: Sequence[Runs]) -> Runs:
    runs = Runs.concatenate(parts)
    return runs.take(np.argsort(runs.starts, kind="stable"))
