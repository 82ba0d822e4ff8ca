"""Runs of tokens in which a short cycle repeats.

A cheap look first: a run whose cycle divides `d` has `t[i] == t[i + d]` all along, and a long one fills whole
words of eight such places. Only where some words in a row are full is a run examined token by token:

    tokens          5  7  8  7  8  7  8  9
    t[i] == t[i+2]  -  x  x  x  x  -             4 equal places and the cycle of 2: a run of 6 tokens
"""

from __future__ import annotations

from math import lcm

import numpy as np

from packlint.model.arrays import Int64Array, IntArray, places_in
from packlint.model.spans import Spans

__all__ = ["constant_edges", "periodic_runs", "probe_runs"]

_WORD = 8
_ALL_EQUAL = np.frombuffer(b"\x01" * _WORD, np.uint64)[0]


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
    n_words = (min_run_tokens - distance - _WORD + 1) // _WORD
    if n_words < 1:
        return None
    equal = tokens[: max(tokens.size - distance, 0)] == tokens[distance:]
    words = equal[: equal.size // _WORD * _WORD].view(np.uint64) == _ALL_EQUAL
    streak = words[: max(words.size - n_words + 1, 0)].copy()
    for ahead in range(1, n_words):
        streak &= words[ahead : ahead + streak.size]
    first = np.flatnonzero(streak) * _WORD
    return first, first + n_words * _WORD + distance - 1


def periodic_runs(tokens: IntArray, pieces: Spans, min_run_tokens: int, max_cycle_tokens: int) -> Spans:
    """Return all tokens that lie in a run of a repeated cycle, exactly; no run reaches across two pieces.

    Args:
        tokens: `int[token]`.
        pieces: where to look; pieces may touch.
        min_run_tokens: length of a run; more than one cycle in any case.
        max_cycle_tokens: longest cycle.
    """
    places, firsts = places_in(pieces.starts, pieces.stops)
    piece = np.repeat(np.arange(len(pieces)), pieces.lengths)
    values = tokens[places]
    covered = np.zeros(places.size, np.bool_)
    for cycle in range(1, min(max_cycle_tokens, places.size - 1) + 1):
        equal = Spans.from_mask((values[cycle:] == values[:-cycle]) & (piece[cycle:] == piece[:-cycle]))
        long = equal.lengths + cycle >= min_run_tokens
        runs = Spans(equal.starts[long], equal.stops[long] + cycle)
        covered |= Spans.from_intervals(*_merged(runs)).to_mask(places.size)
    found = Spans.from_mask(covered).split_at(firsts)
    return Spans(places[found.starts], places[found.stops - 1] + 1)


def constant_edges(
    tokens: IntArray, starts: Int64Array, stops: Int64Array, min_run_tokens: int, only_id: int | None = None
) -> Spans:
    """Return the runs of one id with which packs begin or end.

    Args:
        tokens: `int[token]`.
        starts: `int64[pack]`, first token of each pack, rising.
        stops: `int64[pack]`, one past its last token.
        min_run_tokens: length from which a run counts.
        only_id: the id that counts, or none for any.
    """
    filled = stops > starts
    starts, stops = starts[filled], stops[filled]
    places, firsts = places_in(starts, stops)
    if places.size == 0:
        return Spans.empty()
    values = tokens[places]
    is_begin = np.append(True, values[1:] != values[:-1])
    is_begin[firsts] = True
    begins = np.flatnonzero(is_begin)
    ends = np.append(begins[1:], places.size)
    heads = np.searchsorted(begins, firsts)
    tails = np.append(heads[1:], begins.size) - 1
    edges = np.union1d(heads, tails)
    edges = edges[ends[edges] - begins[edges] >= min_run_tokens]
    if only_id is not None:
        edges = edges[values[begins[edges]] == only_id]
    return Spans(places[begins[edges]], places[ends[edges] - 1] + 1)


def _merged(runs: Spans) -> tuple[Int64Array, Int64Array]:
    """Cut each run where the next one begins: runs of one cycle overlap by less than it."""
    stops = runs.stops.copy()
    stops[:-1] = np.minimum(stops[:-1], runs.starts[1:])
    return runs.starts, stops
