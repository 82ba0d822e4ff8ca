"""SHD005: raised by readers for nulls; here, that the rule explains what the Arrow readers report."""

from __future__ import annotations

import pyarrow as pa
import pytest

from packlint.readers.columns import blocks
from packlint.readers.shard import Role
from packlint_rules.shards.shd005_missing_values import MissingValues


@pytest.mark.parametrize(
    ("rows", "bad"),
    [
        ([[1, 2], [3, None], [5]], [1]),
        ([[1, 2], None, [5]], [1]),
        ([[None], [None], None], [0, 1, 2]),
        ([[1], [2], [3]], []),
    ],
)
def test_rows_with_a_null_are_left_out_and_reported(rows: list[object], bad: list[int]) -> None:
    batch = pa.record_batch({"input_ids": pa.array(rows, pa.list_(pa.int32()))})

    found = list(blocks(batch, {Role.INPUT_IDS: ("input_ids",)}, 10, 1 << 17))

    faults = [fault for raw in found for fault in raw.faults]
    assert [fault.row for fault in faults] == [10 + row for row in bad]
    assert {fault.code for fault in faults} <= {MissingValues.meta.code}
    kept = [row for raw in found for row in raw.row_numbers.tolist()]
    assert kept == [10 + row for row in range(3) if row not in bad]
