"""Cores: tokens of a sample without the special ids at its two ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packlint.summaries.cores import Cores, core_hashes, cores_of
from packlint.testing import make_batch

SPECIALS = (1, 2)


@pytest.mark.parametrize(
    ("run", "core"),
    [
        ([1, 11, 2, 12, 2, 2], [11, 2, 12]),
        ([11], [11]),
        ([2, 1, 2], []),
        ([], []),
        ([1, 2, 11, 1], [11]),
    ],
)
def test_special_ids_inside_count(run: list[int], core: list[int]) -> None:
    tokens = np.array([9, *run, 9])
    found = Cores.of(tokens, np.array([1]), np.array([1 + len(run)]), SPECIALS)
    assert tokens[found.starts[0] : found.stops[0]].tolist() == core
    assert found.lengths.tolist() == [len(core)]


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=8))
def test_cores_of_many_runs_are_those_of_each(runs: list[list[int]]) -> None:
    tokens = np.array([token for run in runs for token in run], np.int64)
    stops = np.cumsum([len(run) for run in runs])
    starts = stops - [len(run) for run in runs]
    found = Cores.of(tokens, starts, stops, SPECIALS)
    for run, a, b in zip(runs, found.starts.tolist(), found.stops.tolist(), strict=True):
        core = list(run)
        while core and core[0] in SPECIALS:
            del core[0]
        while core and core[-1] in SPECIALS:
            del core[-1]
        assert tokens[a:b].tolist() == core


def test_without_special_ids_a_core_is_the_run() -> None:
    found = Cores.of(np.array([1, 2, 3]), np.array([0]), np.array([3]), ())
    assert (found.starts.tolist(), found.stops.tolist()) == ([0], [3])


def test_cores_of_a_batch_are_hashed_without_their_ends() -> None:
    batch = make_batch({"input_ids": [[1, 11, 12, 2, 11, 12]], "seq_lens": [[4, 2]]})
    first, second = core_hashes(batch, SPECIALS)
    assert first[0] == first[1]
    assert second[0] == second[1]
    assert cores_of(batch, SPECIALS) is cores_of(batch, SPECIALS)
    assert cores_of(batch, (1,)).lengths.tolist() == [3, 2]
