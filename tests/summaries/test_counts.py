"""Counts by shard and name."""

from __future__ import annotations

import numpy as np

from packlint.summaries.counts import ShardCounts


def test_counts_add_up_by_shard_and_in_all() -> None:
    counts = ShardCounts()
    counts.add(0, packs=2, slots=np.int64(8))
    counts.add(1, packs=1)
    counts.add(0, packs=1)

    assert counts.by_shard == {0: {"packs": 3, "slots": 8}, 1: {"packs": 1}}
    assert counts.total() == {"packs": 4, "slots": 8}
    assert counts.total()["never counted"] == 0


def test_numpy_counts_become_plain_integers() -> None:
    counts = ShardCounts()
    counts.add(0, packs=np.int64(2))

    assert type(counts.by_shard[0]["packs"]) is int
