"""Samples shorter than a seed, looked for in what is left: by the hash of their whole core.

Where nothing records boundaries they may lie anywhere, and a seed that begins with a piece misses them.
"""

from __future__ import annotations

import numpy as np

from packlint.matching.residue import Residue, gather
from packlint.matching.runs import Runs
from packlint.model.arrays import BoolArray
from packlint.summaries.cores import Cores
from packlint.summaries.polynomials import Prefixes
from packlint.summaries.samples import Samples

__all__ = ["find_short"]


def find_short(residue: Residue, free: Cores, samples: Samples, is_wanted: BoolArray, width: int) -> Runs:
    """Return where whole samples of less than twice `width` tokens lie in free stretches.

    Args:
        residue: the segments.
        free: what is left of them.
        samples: the reference.
        is_wanted: `bool[sample]`, samples to look for.
        width: tokens of a seed.
    """
    numbers = np.flatnonzero(is_wanted & (samples.n_tokens < 2 * width) & (samples.n_tokens > 0))
    places, offsets = gather(free.starts, free.stops)
    if numbers.size == 0 or places.size == 0:
        return Runs.concatenate([])
    prefixes = Prefixes(residue.tokens[places])
    found = []
    for length in np.unique(samples.n_tokens[numbers]).tolist():
        mine = numbers[samples.n_tokens[numbers] == length]
        order = np.argsort(samples.hashes[0][mine], kind="stable")
        keys = samples.hashes[0][mine][order]
        windows = prefixes.hashed_windows(length)
        first = np.searchsorted(keys, windows)
        at = np.flatnonzero(keys[np.minimum(first, keys.size - 1)] == windows)
        stretch = np.searchsorted(offsets, at, side="right") - 1
        at = at[at + length <= offsets[stretch + 1]]
        counts = np.searchsorted(keys, windows[at], side="right") - first[at]
        which = np.repeat(first[at] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
        starts, sample = places[np.repeat(at, counts)], mine[order[which]]
        found.append(Runs(starts, starts + length, sample, samples.heads[sample].astype(np.int64)))
    return Runs.concatenate(found)
