"""Runs of tokens in which a short cycle repeats.

A cheap look first: a run whose cycle divides `d` has `t[i] == t[i + d]` all along, so a few probes at regular
places tell where a run of the wanted length is impossible. Only the rest is examined token by token:

    tokens          5  7  8  7  8  7  8  9
    t[i] == t[i+2]  -  x  x  x  x  -             4 equal places and the cycle of 2: a run of 6 tokens
"""

from __future__ import annotations

from math import lcm

import numpy as np

from packlint.model.arrays import Int64Array, IntArray
from packlint.model.spans import Spans

__all__ = ["constant_edges", "periodic_runs", "probe_runs"]

_PROBES = 3


def probe_runs(
    tokens: IntArray, min_run_tokens: int, max_cycle_tokens: int
) -> tuple[Int64Array, Int64Array] | None:
    """Return stretches of which every run contains at least one; none when probing cannot tell.

    Args:
        tokens: `int[token]`.
        min_run_tokens: length of the runs to look for.
        max_cycle_tokens: longest cycle.

    Returns:
        `int64[stretch]`, the first and the last token of each; a stretch need not be a run.
    """
    distance = lcm(*range(1, max_cycle_tokens + 1))
    stride = (min_run_tokens - distance) // _PROBES
    if stride < 1:
        return None
    equal = tokens[: max(tokens.size - distance, 0) : stride] == tokens[distance::stride]
    streak = np.flatnonzero(equal[2:] & equal[1:-1] & equal[:-2])
    return streak * stride, (streak + _PROBES - 1) * stride + distance


def periodic_runs(tokens: IntArray, pieces: Spans, min_run_tokens: int, max_cycle_tokens: int) -> Spans:
    """Return all tokens that lie in a run of a repeated cycle, exactly; no run reaches across two pieces.

    Args:
        tokens: `int[token]`.
        pieces: where to look; pieces may touch.
        min_run_tokens: length of a run; more than one cycle in any case.
        max_cycle_tokens: longest cycle.
    """
    first = np.cumsum(pieces.lengths) - pieces.lengths
    piece = np.repeat(np.arange(len(pieces)), pieces.lengths)
    places = np.arange(piece.size) + (pieces.starts - first)[piece]
    values = tokens[places]
    covered = np.zeros(piece.size, np.bool_)
    for cycle in range(1, min(max_cycle_tokens, piece.size - 1) + 1):
        equal = Spans.from_mask((values[cycle:] == values[:-cycle]) & (piece[cycle:] == piece[:-cycle]))
        long = equal.lengths + cycle >= min_run_tokens
        runs = Spans(equal.starts[long], equal.stops[long] + cycle)
        covered |= Spans.from_intervals(*_merged(runs)).to_mask(piece.size)
    found = Spans.from_mask(covered).split_at(first)
    return Spans(places[found.starts], places[found.stops - 1] + 1)


def constant_edges(tokens: IntArray, pack_offsets: Int64Array, min_run_tokens: int) -> Spans:
    """Return the runs of one id with which packs begin or end; runs of two packs stay apart.

    Args:
        tokens: `int[token]`.
        pack_offsets: `int64[pack + 1]`.
        min_run_tokens: length from which a run counts.
    """
    edges = np.union1d(np.flatnonzero(tokens[1:] != tokens[:-1]) + 1, pack_offsets)
    starts, stops = edges[:-1], edges[1:]
    at_edge = np.isin(starts, pack_offsets) | np.isin(stops, pack_offsets)
    long = at_edge & (stops - starts >= min_run_tokens)
    return Spans(starts[long], stops[long])


def _merged(runs: Spans) -> tuple[Int64Array, Int64Array]:
    """Cut each run where the next one begins: runs of one cycle overlap by less than it."""
    stops = runs.stops.copy()
    stops[:-1] = np.minimum(stops[:-1], runs.starts[1:])
    return runs.starts, stops
