"""Packs that come twice, found whatever the order in which they were added."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.packs import PackKeys, Repeats

Row = tuple[int, int, int, int]
"""Hash, length, shard, pack."""


def keys_of(rows: list[Row]) -> PackKeys:
    """Add each pack by itself."""
    keys = PackKeys()
    for digest, length, shard, pack in rows:
        keys.add(np.array([digest], np.uint64), np.array([length]), shard, np.array([pack]))
    return keys


def oracle(rows: list[Row]) -> list[Row]:
    """Return (shard, pack, first shard, first pack) of every copy, sorted."""
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for digest, length, shard, pack in rows:
        groups.setdefault((digest, length), []).append((shard, pack))
    return sorted((*place, *min(places)) for places in groups.values() for place in sorted(places)[1:])


def found(repeats: Repeats) -> list[Row]:
    """Return the same of what was found."""
    columns = (repeats.shards, repeats.packs, repeats.of_shards, repeats.of_packs)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


_ROWS = st.lists(
    st.tuples(st.integers(2**64 - 4, 2**64 - 1), st.integers(8, 9), st.integers(0, 2), st.integers(0, 99)),
    max_size=20,
    unique_by=lambda row: (row[2], row[3]),
)


@given(_ROWS, st.randoms())
@settings(max_examples=100)
def test_equals_the_oracle_in_any_order(rows: list[Row], random: Any) -> None:
    expected = keys_of(rows).repeats()
    random.shuffle(rows)
    repeats = keys_of(rows).repeats()

    assert found(repeats) == oracle(rows)
    for name in Repeats.__slots__:
        assert np.array_equal(getattr(repeats, name), getattr(expected, name))


def test_most_frequent_content_comes_first() -> None:
    rows = [(5, 8, 0, 0), (5, 8, 0, 1), (3, 8, 0, 2), (3, 8, 1, 0), (3, 8, 1, 1)]

    worst = keys_of(rows).repeats().worst(("a", "b"))

    assert [(place.shard, place.pack, place.amount, place.note) for place in worst] == [
        ("b", 0, 3, "same as pack 2 of a"),
        ("b", 1, 3, "same as pack 2 of a"),
        ("a", 1, 2, "same as pack 0 of a"),
    ]
    assert keys_of(rows).repeats().n_contents == 2


def test_few_places_but_all_counted() -> None:
    repeats = keys_of([(1, 8, 0, pack) for pack in range(50)]).repeats()

    assert len(repeats) == 49
    assert len(repeats.worst(("a",))) == 5


def test_one_pack_costs_24_bytes() -> None:
    keys = keys_of([(1, 8, 0, 0)])

    assert keys.chunks[0].nbytes == 24


def test_nothing() -> None:
    assert len(PackKeys().repeats()) == 0
    assert PackKeys().repeats().worst(()) == ()
    assert PackKeys().n_packs == 0
