"""What the tests of all stream formats share: reading to lists, and damage of every kind."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from packlint.errors import UnreadableError
from packlint.readers.shard import Fault, Reader, Role, Settings, Shard

SAMPLES = Path(__file__).parents[1] / "samples"
ROLES = frozenset({Role.INPUT_IDS, Role.DOCUMENT_STARTS, Role.LOSS_MASK})
CODES = frozenset({"SHD001", "SHD005", "SHD006", "MAN003"})

Lists = list[list[int]]


def reference(kind: str = "docs") -> Lists:
    """Return the toy data before packing."""
    rows = json.loads((SAMPLES / "_unpacked_reference.json").read_text())[kind]
    return [row["input_ids"] if isinstance(row, dict) else row for row in rows]


def open_one(reader: Reader, path: Path, settings: Settings | None = None) -> Shard:
    """Return the one shard of a file that the reader recognises."""
    assert reader.sniff(path, path.read_bytes()[:4096])
    [shard] = reader.open(path, path.name, settings or Settings())
    return shard


def read(shard: Shard, block_tokens: int = 8) -> tuple[list[int], dict[Role, Lists], list[Fault]]:
    """Return row numbers, rows by role and faults of all parts."""
    numbers: list[int] = []
    columns: dict[Role, Lists] = {}
    faults: list[Fault] = []
    parts = shard.parts()
    assert [part.index for part in parts] == list(range(len(parts)))
    assert all(a.first_row + a.n_rows == b.first_row for a, b in pairwise(parts))
    for part in parts:
        for raw in shard.rows(part, ROLES, block_tokens):
            numbers += raw.row_numbers.tolist()
            faults += raw.faults
            for role, column in raw.columns.items():
                assert column.n_rows == raw.row_numbers.size
                assert column.offsets[-1] == column.values.size
                pieces = np.split(column.values, column.offsets[1:-1]) if column.n_rows else []
                columns.setdefault(role, []).extend(piece.tolist() for piece in pieces)
    return numbers, columns, faults


def tokens_of(shard: Shard) -> Lists:
    """Return the rows of a shard without faults."""
    _, columns, faults = read(shard)
    assert faults == []
    return columns.get(Role.INPUT_IDS, [])


def chained(rows: Lists) -> list[int]:
    """Return all rows end to end."""
    return [token for row in rows for token in row]


def windows(documents: Lists, length: int) -> tuple[Lists, Lists]:
    """Return the windows of the stream and the document starts in each, by brute force."""
    stream = [(token, i == 0) for document in documents for i, token in enumerate(document)]
    cut = [stream[a : a + length] for a in range(0, len(stream), length)]
    starts = [[i for i, (_, is_start) in enumerate(row) if is_start or i == 0] for row in cut]
    return [[token for token, _ in row] for row in cut], starts


def survives_damage(
    files: Sequence[Path],
    open_it: Callable[[], Sequence[Shard]],
    *,
    n_flips: int = 400,
    every: int = 1,
) -> None:
    """Cut each file at every byte and flip bits in it; nothing but clean rows, faults and refusals may come.

    Args:
        files: all files of one data set, which are left as they were.
        open_it: opens the data set.
        n_flips: how many times some bits of a file are changed.
        every: step between cuts, for files above some hundred bytes.
    """
    for file in files:
        whole = file.read_bytes()
        for size in range(0, len(whole), every):
            file.write_bytes(whole[:size])
            _try(open_it)
        chance = random.Random(len(whole))
        for _ in range(n_flips):
            damaged = bytearray(whole)
            for _ in range(chance.choice((1, 1, 1, 4))):
                damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            file.write_bytes(damaged)
            _try(open_it)
        file.write_bytes(whole)


def _try(open_it: Callable[[], Sequence[Shard]]) -> None:
    with contextlib.suppress(UnreadableError):
        for shard in open_it():
            numbers, columns, faults = read(shard, 64)
            assert len(numbers) < 10_000
            assert {fault.code for fault in faults} <= CODES
            if rows := columns.get(Role.INPUT_IDS):
                assert sum(map(len, rows)) <= shard.n_bytes * 300
