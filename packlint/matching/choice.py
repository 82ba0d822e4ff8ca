"""The choice among runs that overlap: every packed token is explained once."""

from __future__ import annotations

import numpy as np

from packlint.matching.runs import Runs
from packlint.matching.turns import Turns
from packlint.model.arrays import BoolArray, Int64Array, are_among, sorted_distinct
from packlint.summaries.samples import Samples

__all__ = ["Choice"]


class Choice:
    """Choose among runs, stretch by stretch; remembers what it chose, so that equal texts take turns.

    Args:
        samples: the reference.
    """

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._chosen: list[Runs] = []

    def choose(self, runs: Runs, edges: Int64Array, min_tokens: int) -> Runs:
        """Return runs that do not overlap: the longest explanation of each stretch.

        Of several samples that explain a stretch, one is taken that is not yet explained there.

        Args:
            runs: runs as `Runs.distinct` sorts them.
            edges: `int64[any]`, places of the residue at which runs go on by chance only, rising.
            min_tokens: tokens that must be left of a run that gave way to others.
        """
        if len(runs) == 0:
            return runs
        chosen = self._take_turns(runs, edges, min_tokens)
        chosen = _without_overlap(chosen, self._samples, edges, min_tokens)
        self._chosen.append(chosen)
        return chosen

    def _take_turns(self, runs: Runs, edges: Int64Array, min_tokens: int) -> Runs:
        """Return the runs that explain each stretch, sorted by start."""
        heads, counts = _stretches(runs)
        first = runs.take(heads)
        disputed = _disputed(Runs.concatenate([*self._chosen, first]))
        is_sure = (counts == 1) & ~are_among(first.samples, disputed)
        if is_sure.all():
            return first
        sure = first.take(is_sure)
        unsure = self._cut_up(runs.take(~_are_inside(runs, sure)), edges, min_tokens)
        unsure = unsure.take(~_are_inside(unsure, sure))  # a cut may have brought a part inside
        turns = Turns(self._samples)
        wanted = sorted_distinct(unsure.samples)
        # What a sure run holds beyond the edge of a piece, by chance, is not taken.
        for explained in (*self._chosen, self._cut_up(sure, edges, min_tokens)):
            turns.note(explained, wanted)
        heads, counts = _stretches(unsure)
        chosen = turns.assign(unsure, heads, counts)
        joined = Runs.concatenate([sure, unsure.take(np.where(chosen < 0, heads, chosen))])
        return joined.take(np.argsort(joined.starts, kind="stable"))

    def _cut_up(self, runs: Runs, edges: Int64Array, min_tokens: int) -> Runs:
        """Return runs cut where pieces end: those that only happen to stand side by side take turns."""
        parts = runs.cut_at(edges)
        parts = parts.take(
            (parts.lengths >= min_tokens) | (parts.lengths >= self._samples.n_tokens[parts.samples])
        )
        return parts.distinct(self._samples.n_tokens + self._samples.n_specials)


def _are_inside(runs: Runs, sure: Runs) -> BoolArray:
    """Tell which runs lie inside one of others, which are sorted and not inside one another."""
    if len(sure) == 0:
        return np.zeros(len(runs), np.bool_)
    at = np.searchsorted(sure.starts, runs.starts, side="right") - 1
    inside = (at >= 0) & (runs.stops <= sure.stops[np.maximum(at, 0)])
    return np.asarray(inside, np.bool_)


def _disputed(runs: Runs) -> Int64Array:
    """Return the samples of which some part is explained more than once, rising."""
    order = np.lexsort((runs.offsets, runs.samples))
    samples, starts = runs.samples[order], runs.offsets[order]
    stops = starts + runs.lengths[order]
    twice = (samples[1:] == samples[:-1]) & (starts[1:] < stops[:-1])
    return sorted_distinct(samples[1:][twice])


def _stretches(runs: Runs) -> tuple[Int64Array, Int64Array]:
    """Return the first run of each stretch that lies inside no other, and how many runs explain it."""
    is_new = np.ones(len(runs), np.bool_)
    is_new[1:] = (np.diff(runs.starts) != 0) | (np.diff(runs.stops) != 0)
    heads = np.flatnonzero(is_new)
    counts = np.diff(np.r_[heads, len(runs)])
    reach = np.maximum.accumulate(runs.stops[heads])
    is_free = np.ones(heads.size, np.bool_)
    is_free[1:] = runs.stops[heads][1:] > reach[:-1]
    return heads[is_free], counts[is_free]


def _without_overlap(runs: Runs, samples: Samples, edges: Int64Array, min_tokens: int) -> Runs:
    """Trim runs, sorted and none inside another, where two overlap by what they have in common by chance.

    The one at its sample's start keeps all, then the one at its sample's end; else they meet where a piece
    begins, if one does there.
    """
    whole = runs.lengths
    while np.any(runs.starts[1:] < runs.stops[:-1]):
        head = samples.heads[runs.samples]
        is_start = runs.offsets <= head
        is_end = runs.offsets + runs.lengths >= head + samples.n_tokens[runs.samples]
        starts, stops = runs.starts.copy(), runs.stops.copy()
        for i in np.flatnonzero(starts[1:] < stops[:-1]).tolist():
            cut = stops[i]
            if is_start[i + 1]:
                cut = starts[i + 1]
            elif not is_end[i]:
                edge = edges[min(np.searchsorted(edges, starts[i + 1]), edges.size - 1)]
                cut = edge if starts[i + 1] <= edge < stops[i] else cut
            starts[i + 1], stops[i] = max(cut, starts[i + 1]), min(cut, stops[i])
        kept = stops > starts
        offsets = runs.offsets + starts - runs.starts
        runs, whole = Runs(starts, stops, runs.samples, offsets).take(kept), whole[kept]
    return runs.take((runs.lengths == whole) | (runs.lengths >= min_tokens))
