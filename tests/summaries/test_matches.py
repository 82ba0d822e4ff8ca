"""Segments of all shards, in any order of adding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from packlint.model.batch import PackBatch
from packlint.summaries.cores import core_hashes, cores_of
from packlint.summaries.matches import Matches, PlacedSegments
from packlint.testing import make_batches

SPECIALS = (1, 2)
EXAMPLE: dict[str, Any] = {
    "input_ids": [[1, 11, 2, 12, 13, 2], [14, 15, 2, 2], [1, 16]],
    "labels": [[-100, 11, 2, -100, 13, 2], [14, 15, 2, 2], [-100, 16]],
    "seq_lens": [[3, 3], [4], [2]],
}
SOURCES = [[3, -1, -1, 0], [-1, 5, 1, -1]]


def summaries(cut: int) -> list[Matches]:
    """Return one summary for each batch of two shards."""
    found = []
    for shard, sources in enumerate(SOURCES):
        first = 0
        for batch in make_batches(EXAMPLE, cut):
            known = np.array(sources[first : first + batch.n_segments])
            first += batch.n_segments
            matches = Matches()
            _add(matches, replace(batch, shard=replace(batch.shard, index=shard), sources=known))
            found.append(matches)
    return found


def _add(matches: Matches, batch: PackBatch) -> None:
    matches.add(batch, cores_of(batch, SPECIALS), core_hashes(batch, SPECIALS))


def merged(parts: list[Matches]) -> PlacedSegments:
    total = Matches()
    for part in parts:
        total = total.merge(part)
    assert total.n_tokens == 24
    return total.sorted()


def test_places_and_what_is_kept_of_open_segments() -> None:
    placed = merged(summaries(1 << 20))
    assert placed.sources.tolist() == SOURCES[0] + SOURCES[1]
    assert placed.shards.tolist() == [0] * 4 + [1] * 4
    assert placed.packs.tolist() == [0, 0, 1, 2] * 2
    assert placed.starts.tolist() == [0, 3, 0, 0] * 2
    assert placed.lengths.tolist() == [3, 3, 4, 2] * 2
    assert placed.heads.tolist() == [1, 0, 0, 1] * 2
    assert placed.specials.tolist() == [2, 1, 2, 1] * 2
    assert placed.core_lengths.tolist() == [1, 2, 2, 1] * 2
    assert placed.targets.tolist() == [2, 2, 4, 1] * 2
    assert placed.begins_in_target.tolist() == [True, False, True, True] * 2
    assert placed.open_.tolist() == [1, 2, 4, 7]
    first, second = placed.open_hashes
    assert first.size == second.size == 4
    assert len(set(first.tolist())) == 4


@given(st.permutations(range(6)), st.sampled_from([1, 8, 1 << 20]))
def test_order_and_batches_do_not_matter(order: list[int], cut: int) -> None:
    expected = merged(summaries(1 << 20))
    parts = summaries(cut)
    found = merged([parts[i] for i in order if i < len(parts)])
    for name in ("sources", "packs", "starts", "targets", "open_"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert np.array_equal(found.open_hashes[0], expected.open_hashes[0])


def test_nothing() -> None:
    assert len(Matches().sorted()) == 0
