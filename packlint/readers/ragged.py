"""Rows whose columns cannot be laid side by side."""

from __future__ import annotations

import numpy as np

from packlint.model.arrays import BoolArray
from packlint.readers.shard import Fault, Ragged, RawRows, Role

__all__ = ["drop_ragged", "take_rows"]


def drop_ragged(raw: RawRows) -> tuple[RawRows, tuple[Fault, ...]]:
    """Return the rows without those whose token-parallel columns differ in length, and a fault for each."""
    ids = raw.columns[Role.INPUT_IDS]
    lengths = np.diff(ids.offsets)
    bad = np.zeros(lengths.size, np.bool_)
    faults: list[Fault] = []
    for role, column in raw.columns.items():
        if not role.is_token_parallel or column is ids:
            continue
        differs = np.diff(column.offsets) != lengths
        for row in np.flatnonzero(differs & ~bad):
            other = int(column.offsets[row + 1] - column.offsets[row])
            faults.append(
                Fault(
                    code="SHD002",
                    row=int(raw.row_numbers[row]),
                    message=f"{role} has {other} value{'s' * (other != 1)} for {lengths[row]} input_ids",
                )
            )
        bad |= differs
    if not bad.any():
        return raw, ()
    keep = ~bad
    columns = {role: take_rows(column, keep, role) for role, column in raw.columns.items()}
    return RawRows(row_numbers=raw.row_numbers[keep], columns=columns, faults=raw.faults), tuple(faults)


def take_rows(column: Ragged, keep: BoolArray, role: Role = Role.INPUT_IDS) -> Ragged:
    """Return the rows of a column that `bool[row]` marks."""
    lengths = np.diff(column.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths[keep])])
    chosen = keep if role is Role.DENSE_MASK else np.repeat(keep, lengths)
    return Ragged(column.values[chosen], offsets)
