"""Lengths of packs of one sample, and the room that short packs leave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from packlint.summaries.rows import Rows, unused_slots
from packlint.testing import make_batch


def test_lengths_rise() -> None:
    rows = Rows()
    rows.add(np.array([5, 3, 5]), 0, 0, 8)
    rows.add(np.array([4]), 0, 0, None)

    assert rows.lengths().tolist() == [3, 4, 5, 5]
    assert rows.room == 8


def test_no_lengths() -> None:
    assert Rows().lengths().tolist() == []


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"spec": {"max_seq_len": 4}}, [1, 0]),
        ({"spec": {"max_seq_len": 4}, "trainer": "trl"}, [1, 0]),
        ({"spec": {"max_seq_len": 4}, "trainer": "trl-wrapped"}, [0, 0]),
        ({"spec": {"max_seq_len": 3}}, [0, 0]),
        ({}, [0, 0]),
    ],
)
def test_unused_slots(config: dict[str, Any], expected: list[int]) -> None:
    batch = make_batch({"input_ids": [[1, 11, 2], [1, 11, 12, 2]], "config": config})

    assert unused_slots(batch).tolist() == expected


def test_a_detected_length_promises_nothing() -> None:
    batch = make_batch({"input_ids": [[1, 11, 2], [1, 12, 2]]})

    assert batch.spec.max_seq_len is not None
    assert unused_slots(batch).tolist() == [0, 0]
