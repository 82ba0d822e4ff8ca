"""Where special tokens stand as text: sequences of ordinary ids, found by the id that they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from packlint.model.arrays import Int64Array, IntArray, empty_int64
from packlint.model.id_places import IdPlaces
from packlint.model.markers import Spelling

__all__ = ["find_spellings", "spelling_anchors"]


def find_spellings(
    tokens: IntArray, spellings: tuple[Spelling, ...], special_places: IdPlaces
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return first token, one past the last, and index of the spelling of each place, rising and disjoint.

    Args:
        tokens: `int[token]`.
        spellings: what to look for.
        special_places: where `spelling_anchors` stand, among other ids.
    """
    parts = []
    for anchor, members in _by_anchor(spellings):
        places = special_places.of(np.array([anchor]))
        parts += [(_stand(tokens, places, spellings[i].ids, anchor), i) for i in members if places.size]
    parts = [(starts, i) for starts, i in parts if starts.size]
    if not parts:
        return empty_int64(), empty_int64(), empty_int64()
    starts = np.concatenate([starts for starts, _ in parts])
    index = np.repeat([i for _, i in parts], [starts.size for starts, _ in parts])
    stops = starts + np.array([len(s.ids) for s in spellings], np.int64)[index]
    order = np.lexsort((-stops, starts))
    starts, stops, index = starts[order], stops[order], index[order]
    free = np.append(True, np.maximum.accumulate(stops[:-1]) <= starts[1:])
    return starts[free], stops[free], index[free]


def spelling_anchors(spellings: tuple[Spelling, ...]) -> list[int]:
    """Return the ids by which these spellings are searched."""
    return [anchor for anchor, _ in _by_anchor(spellings)]


@lru_cache(maxsize=16)
def _by_anchor(spellings: tuple[Spelling, ...]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Choose few ids to search for: those that most spellings share, of these the highest, as rarest."""
    left: Sequence[int] = range(len(spellings))
    chosen = []
    while left:
        counts = Counter(token_id for i in left for token_id in set(spellings[i].ids))
        anchor = max(counts, key=lambda token_id: (counts[token_id], token_id))
        chosen.append((anchor, tuple(i for i in left if anchor in spellings[i].ids)))
        left = [i for i in left if anchor not in spellings[i].ids]
    return tuple(chosen)


def _stand(tokens: IntArray, places: Int64Array, ids: tuple[int, ...], anchor: int) -> Int64Array:
    """Return where a sequence begins whose anchor, at its first place in it, stands at `places`."""
    at = ids.index(anchor)
    starts = places - at
    starts = starts[(starts >= 0) & (starts + len(ids) <= tokens.size)]
    for offset, token_id in enumerate(ids):
        if offset != at and starts.size:
            starts = starts[tokens[starts + offset] == token_id]
    return starts
