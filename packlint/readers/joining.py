"""Small blocks of rows → larger ones: a block costs the same few milliseconds, however little it holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from packlint.errors import UnreadableError
from packlint.readers.shard import Ragged, RawRows, Role

__all__ = ["joined"]

_LARGE = 0.5
"""Share of a full block from which a block is passed on as it is, without a copy."""


def joined(blocks: Iterable[RawRows], block_tokens: int) -> Iterator[RawRows]:
    """Yield the same rows in order, small neighbours laid end to end.

    Args:
        blocks: rows as decoded.
        block_tokens: tokens of a full block; the longest column of a block counts.

    Raises:
        UnreadableError: as `blocks` do, after the rows before.
    """
    waiting: list[RawRows] = []
    n_waiting = 0
    try:
        for block in blocks:
            size = max((column.values.size for column in block.columns.values()), default=0)
            is_large = size >= _LARGE * block_tokens or Role.DENSE_MASK in block.columns
            if waiting and (
                is_large or n_waiting + size > block_tokens or _types(waiting[-1]) != _types(block)
            ):
                yield _join(waiting)
                waiting, n_waiting = [], 0
            if is_large:
                yield block
            else:
                waiting.append(block)
                n_waiting += size
    except UnreadableError:
        if waiting:
            yield _join(waiting)
        raise
    if waiting:
        yield _join(waiting)


def _types(block: RawRows) -> dict[Role, np.dtype[Any]]:
    return {role: column.values.dtype for role, column in block.columns.items()}


def _join(blocks: Sequence[RawRows]) -> RawRows:
    if len(blocks) == 1:
        return blocks[0]
    columns = {role: _end_to_end([block.columns[role] for block in blocks]) for role in blocks[0].columns}
    return RawRows(
        row_numbers=np.concatenate([block.row_numbers for block in blocks]),
        columns=columns,
        faults=tuple(fault for block in blocks for fault in block.faults),
    )


def _end_to_end(parts: Sequence[Ragged]) -> Ragged:
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    values = np.concatenate([part.values[part.offsets[0] : part.offsets[-1]] for part in parts])
    return Ragged(values, np.append(0, np.cumsum(lengths)))
