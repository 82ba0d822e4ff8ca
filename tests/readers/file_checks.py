"""What the tests of all row formats share: reading to lists, batches as rules see them, and damage."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import packlint
from packlint.config import parse_config
from packlint.engine.plan import plan_shards
from packlint.errors import UnreadableError, UsageError
from packlint.model.batch import PackBatch
from packlint.readers.canonical import build
from packlint.readers.discover import open_shards
from packlint.readers.shard import Fault, Role, Settings, Shard
from packlint.report import InputReport

SAMPLES = Path(__file__).parents[1] / "samples"
TOY = {"bos_id": 1, "eos_ids": [2], "vocab_size": 400}
CODES = frozenset({"SHD001", "SHD002", "SHD005", "SHD006", "MAN003"})

Lists = list[list[Any]]


def reference(kind: str = "docs", field: str = "input_ids") -> Lists:
    """Return the toy data before packing."""
    rows = json.loads((SAMPLES / "_unpacked_reference.json").read_text())[kind]
    return [row[field] if isinstance(row, dict) else row for row in rows]


def read(shard: Shard, block_tokens: int = 8) -> tuple[list[int], dict[Role, Lists], list[Fault]]:
    """Return row numbers, rows by role and faults of all parts."""
    numbers: list[int] = []
    columns: dict[Role, Lists] = {}
    faults: list[Fault] = []
    for part in shard.parts():
        for raw in shard.rows(part, frozenset(Role), block_tokens):
            numbers += raw.row_numbers.tolist()
            faults += raw.faults
            for role, column in raw.columns.items():
                assert column.n_rows == raw.row_numbers.size
                assert role is Role.DENSE_MASK or column.offsets[-1] == column.values.shape[0]
                bounds = zip(column.offsets[:-1], column.offsets[1:], strict=True)
                columns.setdefault(role, []).extend(column.values[a:b].tolist() for a, b in bounds)
    return numbers, columns, faults


def batches(path: Path | str, **settings: Any) -> list[PackBatch]:
    """Return the rows of files as rules see them: one batch per shard."""
    config = parse_config({"spec": TOY, **settings}, "test")
    shards, errors = open_shards([str(path)], Settings())
    assert errors == []
    found = []
    for plan in plan_shards(shards, config, config.spec).shards:
        [raw] = [raw for part in plan.shard.parts() for raw in plan.shard.rows(part, plan.roles, 1 << 20)]
        batch, faults = build(raw, plan.reading)
        assert batch is not None
        assert faults == ()
        found.append(batch)
    return found


def segments(batch: PackBatch) -> Lists:
    """Return the tokens of each segment."""
    bounds = zip(batch.segments.starts, batch.segments.stops, strict=True)
    return [batch.tokens[a:b].tolist() for a, b in bounds]


def entries(path: Path | str, **settings: Any) -> list[InputReport]:
    """Return what a report says of each shard of some files."""
    return list(packlint.check(path, **{"spec": TOY, **settings}).inputs)


def counts(path: Path | str, **settings: Any) -> list[tuple[int | None, ...]]:
    """Return packs, segments, tokens, padding, targets and outside targets of each shard."""
    return [
        (e.n_packs, e.n_segments, e.n_tokens, e.n_padding, e.n_targets, e.n_outside_targets)
        for e in entries(path, **settings)
    ]


def assert_equal(first: PackBatch, second: PackBatch) -> None:
    """Demand that two batches hold the same, whatever the width of the numbers."""
    assert first.tokens.tolist() == second.tokens.tolist()
    assert first.pack_numbers.tolist() == second.pack_numbers.tolist()
    assert first.pack_offsets.tolist() == second.pack_offsets.tolist()
    assert segments(first) == segments(second)
    assert first.segment_source == second.segment_source
    assert first.boundaries.keys() == second.boundaries.keys()
    assert first.padding.starts.tolist() == second.padding.starts.tolist()
    assert first.padding.stops.tolist() == second.padding.stops.tolist()
    assert first.padding_evidence == second.padding_evidence
    assert first.mask_kind == second.mask_kind
    for a, b in (
        (first.loss_weight, second.loss_weight),
        (first.label_ids, second.label_ids),
        (first.position_ids, second.position_ids),
    ):
        assert (a is None) == (b is None)
        assert a is None or b is None or np.array_equal(a, b)


def survives_damage(
    files: Sequence[Path], open_it: Callable[[], Sequence[Shard]], *, n_flips: int = 600, every: int = 1
) -> None:
    """Cut each file at every byte and change bytes in it; only clean rows, faults and refusals may come.

    Args:
        files: all files of one data set, which are left as they were.
        open_it: opens the data set.
        n_flips: how many times some bytes of a file are changed.
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
                damaged[chance.randrange(len(whole))] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, 0x28, 0x65))
            if chance.random() < 0.5:
                damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
            file.write_bytes(damaged)
            _try(open_it)
        file.write_bytes(whole)


def _try(open_it: Callable[[], Sequence[Shard]]) -> None:
    with contextlib.suppress(UnreadableError, UsageError):
        for shard in open_it():
            numbers, columns, faults = read(shard, 64)
            assert len(numbers) < 10_000
            assert {fault.code for fault in faults} <= CODES
            assert all("\n" not in fault.message for fault in faults)
            if rows := columns.get(Role.INPUT_IDS):
                assert sum(map(len, rows)) <= shard.n_bytes * 300
