"""Ranges of ids by shard."""

from __future__ import annotations

import pytest

from packlint.summaries.ids import IdRange, IdRanges


def ids(storage: tuple[int, str], vocab_size: int, max_id: int = 5, n_tokens: int = 10) -> IdRange:
    return IdRange(max_id=max_id, n_tokens=n_tokens, storage=storage, vocab_size=vocab_size)


@pytest.mark.parametrize(
    ("storage", "vocab_size", "fits"),
    [
        ((65_535, "uint16"), 65_536, True),
        ((65_535, "uint16"), 65_537, False),
        ((32_767, "int16"), 32_768, True),
        ((32_767, "int16"), 32_769, False),
    ],
)
def test_fits_up_to_the_last_id(storage: tuple[int, str], vocab_size: int, fits: bool) -> None:
    assert ids(storage, vocab_size).fits is fits


def test_shards_are_kept_apart() -> None:
    ranges = IdRanges(
        {0: ids((65_535, "uint16"), 70_000, 9), 1: ids((2**31 - 1, "int32"), 70_000, 69_000, 5)}
    )

    assert list(ranges.where(fits=False).by_shard) == [0]
    assert ranges.total() == ids((65_535, "uint16"), 70_000, 69_000, 15)
    assert ranges.n_tokens == {0: 10, 1: 5}


def test_nothing_has_no_total() -> None:
    assert IdRanges().total() is None
