"""Every summary: `merge` is associative and commutative, leaves its parts alone, and has a zero."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.summaries.contents import Content, ShardContents
from packlint.summaries.counts import ShardCounts
from packlint.summaries.figures import ShardFigures
from packlint.summaries.ids import IdRange, IdRanges
from packlint.summaries.lengths import Lengths
from packlint.summaries.masks import MaskHashes
from packlint.summaries.packs import PackKeys
from packlint.summaries.place_extremes import KEPT, PlaceExtremes
from packlint.summaries.place_gaps import PlaceShares
from packlint.summaries.rows import Rows
from packlint.summaries.work import PackWork

_SMALL = st.integers(0, 3)
_COUNTS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), max_size=3).map(Counter)
_STORAGE = st.sampled_from([(127, "int8"), (65_535, "uint16"), (2**31 - 1, "int32")])
_RANGES = st.builds(
    IdRange, max_id=st.integers(-1, 9), n_tokens=st.integers(0, 9), storage=_STORAGE, vocab_size=_SMALL
)


@st.composite
def _pack_keys(draw: st.DrawFn) -> PackKeys:
    keys = PackKeys()
    for _ in range(draw(_SMALL)):
        n = draw(_SMALL)
        hashes = np.array(draw(st.lists(_SMALL, min_size=n, max_size=n)), np.uint64)
        numbers = np.array(draw(st.lists(st.integers(0, 99), min_size=n, max_size=n)), np.int64)
        keys.add(hashes, np.full(n, 8), draw(_SMALL), numbers)
    return keys


@st.composite
def _mask_hashes(draw: st.DrawFn) -> MaskHashes:
    rows = draw(st.lists(st.tuples(_SMALL, _SMALL, _SMALL), min_size=1, max_size=4))
    return MaskHashes([np.array(rows, np.uint64)] * draw(st.integers(0, 2)))


@st.composite
def _rows(draw: st.DrawFn) -> Rows:
    rows = Rows()
    if draw(st.booleans()):
        lengths = np.array(draw(st.lists(st.integers(1, 9), max_size=5)), np.int64)
        rows.add(lengths, draw(_SMALL), draw(_SMALL), draw(st.none() | st.integers(1, 9)))
    return rows


_CONTENTS = st.dictionaries(
    _SMALL, st.builds(Content, st.tuples(st.integers(0, 2**64 - 1), _SMALL), _SMALL, _SMALL), max_size=3
).map(ShardContents)


@st.composite
def _lengths(draw: st.DrawFn) -> Lengths:
    rooms = draw(st.dictionaries(_SMALL, st.dictionaries(_SMALL, _SMALL, min_size=1), max_size=3))
    return Lengths(
        {room: Counter(samples) for room, samples in rooms.items()},
        Counter(dict.fromkeys(rooms, 1)),
        {room: draw(_SMALL) for room in rooms},
        draw(_SMALL),
        draw(_SMALL),
    )


@st.composite
def _pack_work(draw: st.DrawFn) -> PackWork:
    work = PackWork()
    for _ in range(draw(_SMALL)):
        packs = np.array(draw(st.lists(_SMALL, max_size=3)), np.int64)
        work.add(draw(_SMALL), packs, packs + 1, packs + 2)
    return work


@st.composite
def _figures(draw: st.DrawFn) -> ShardFigures:
    counts = draw(st.dictionaries(_SMALL, _COUNTS, max_size=3))
    return ShardFigures(counts, {i: (draw(_SMALL), draw(_SMALL) + 3) for i in counts}, draw(_CONTENTS))


@st.composite
def _place_shares(draw: st.DrawFn) -> PlaceShares:
    shares = PlaceShares()
    for sums in (shares.n_samples, shares.sums, shares.squares):
        sums[draw(_SMALL), draw(_SMALL), draw(st.integers(0, 1))] += draw(st.integers(0, 9))
    found = draw(st.lists(st.tuples(*[_SMALL] * 6), max_size=3 * KEPT))
    rows = [(group, share, n, n, *place, 0, n) for group, share, n, *place in found]
    shares.extremes = PlaceExtremes().merge(PlaceExtremes(np.array(rows, np.int64).reshape(-1, 9)))
    return shares


SUMMARIES: dict[str, tuple[type[Any], st.SearchStrategy[Any]]] = {
    "ShardCounts": (ShardCounts, st.dictionaries(_SMALL, _COUNTS, max_size=3).map(ShardCounts)),
    "IdRanges": (IdRanges, st.dictionaries(_SMALL, _RANGES, max_size=3).map(IdRanges)),
    "PackKeys": (PackKeys, _pack_keys()),
    "MaskHashes": (MaskHashes, _mask_hashes()),
    "Rows": (Rows, _rows()),
    "Lengths": (Lengths, _lengths()),
    "PackWork": (PackWork, _pack_work()),
    "PlaceShares": (PlaceShares, _place_shares()),
    "ShardContents": (ShardContents, _CONTENTS),
    "ShardFigures": (ShardFigures, _figures()),
}


def content(summary: Any) -> Any:
    """Return what counts in a summary: all of it, but for the order of rows."""
    if isinstance(summary, PackKeys | MaskHashes | PackWork):
        return sorted(row for chunk in summary.chunks for row in chunk.tolist())
    if isinstance(summary, PlaceShares):
        sums = (summary.n_samples, summary.sums, summary.squares)
        return [numbers.tolist() for numbers in (*sums, summary.extremes.rows)]
    return summary


@pytest.mark.parametrize("name", SUMMARIES)
@given(data=st.data())
@settings(max_examples=50)
def test_laws(name: str, data: st.DataObject) -> None:
    zero, strategy = SUMMARIES[name]
    a, b, c = (data.draw(strategy) for _ in range(3))
    before = copy.deepcopy([content(x) for x in (a, b, c)])

    assert content(a.merge(b)) == content(b.merge(a))
    assert content(a.merge(b).merge(c)) == content(a.merge(b.merge(c)))
    assert content(a.merge(zero())) == content(zero().merge(a)) == content(a)
    assert [content(x) for x in (a, b, c)] == before


@pytest.mark.parametrize("name", SUMMARIES)
def test_zeros_share_nothing(name: str) -> None:
    zero, _ = SUMMARIES[name]
    one, other = zero(), zero()

    assert content(one) == content(other)
    if isinstance(one, PlaceShares):
        one.sums += 1
        assert content(other) == content(zero())
    if isinstance(one, ShardCounts):
        one.add(0, packs=1)
        assert other == zero()
