"""Preference pairs in columns: every reader joins them as a plain reading of each row would."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.config import parse_config
from packlint.engine.plan import plan_shards
from packlint.errors import NoInputError
from packlint.model.batch import PackBatch, PaddingEvidence, Unit
from packlint.model.contract import BoundarySource
from packlint.model.spec import DatasetSpec
from packlint.readers import columns, open_memory, parquet
from packlint.readers.canonical import build
from packlint.readers.discover import open_shards
from packlint.readers.reference import reference_reading
from packlint.readers.shard import RawRows, Settings, Shard
from tests.readers.file_checks import survives_damage

Row = dict[str, list[Any] | None]
SIDES = ("chosen", "rejected")
LABELLED = [f"{side}_{name}" for side in SIDES for name in ("input_ids", "labels", "attention_mask")]
MASKED = ["chosen_input_ids", "chosen_loss_mask", "rejected_input_ids", "rejected_loss_mask"]
PROMPTED = [f"{part}_{name}" for part in ("prompt", *SIDES) for name in ("input_ids", "attention_mask")]
BARE_PROMPT = ["prompt_ids", "chosen_ids", "rejected_ids"]
FORMS = {
    "labels": LABELLED,
    "labels, no masks": [name for name in LABELLED if "attention" not in name],
    "loss masks": MASKED,
    "prompt": BARE_PROMPT,
    "prompt and masks": PROMPTED,
    "rewards": ["chosen_ids", "rejected_ids"],
}
NOTHING = -100


def part_of(name: str) -> str:
    return name.split("_")[0]


def kind_of(name: str) -> str:
    kind = name.split("_", 1)[1]
    return "ids" if kind in ("ids", "input_ids") else kind


# What a row means, read one value at a time.

Token = tuple[int, bool, int | None]
"""An id, whether it is a target, and its label if labels are stored."""


def fault_of(row: Row) -> str | None:
    """Return the code of a row that cannot be read."""
    if any(value is not None and None in value for value in row.values()):
        return "SHD005"
    parts = {part_of(name) for name in row}
    for part in [part for part in (*SIDES, "prompt") if part in parts]:
        columns = {kind_of(name): value for name, value in row.items() if part_of(name) == part}
        ids = columns["ids"]
        for value in columns.values():
            if len(value or []) != len(ids or []):
                return "SHD005" if value is None or ids is None else "SHD002"
    prompt = next((name for name in row if name.startswith("prompt") and kind_of(name) == "ids"), None)
    answers = [value for name, value in row.items() if kind_of(name) == "ids" and name != prompt]
    return "SHD005" if prompt and row[prompt] is None and any(answers) else None


def tokens_of(row: Row, part: str, *, is_answer: bool, is_real: bool = True) -> list[Token]:
    """Return the tokens of a part whose attention mask is 1, or those where it is 0."""
    columns = {kind_of(name): value or [] for name, value in row.items() if part_of(name) == part}
    ids = columns["ids"]
    mask = columns.get("attention_mask") or [1] * len(ids)
    found: list[Token] = []
    for at, (token, real) in enumerate(zip(ids, mask, strict=False)):
        if bool(real) != is_real:
            continue
        if "labels" in columns:
            label = columns["labels"][at]
            found.append((token, label != NOTHING, label))
        elif "loss_mask" in columns:
            found.append((token, bool(columns["loss_mask"][at]), None))
        else:
            found.append((token, is_answer and is_real, None))
    return found


def meaning_of(row: Row) -> tuple[list[list[Token]], list[Token]]:
    """Return the samples of a row, and its padding."""
    has_prompt = any(name.startswith("prompt") for name in row)
    samples: list[list[Token]] = []
    padding: list[Token] = []
    for side in SIDES:
        answer = tokens_of(row, side, is_answer=True)
        if not answer:
            continue
        fronts = [
            tokens_of(row, "prompt", is_answer=False, is_real=r) if has_prompt else [] for r in (True, False)
        ]
        samples.append(fronts[0] + answer)
        padding += fronts[1] + tokens_of(row, side, is_answer=True, is_real=False)
    return samples, padding


def meanings(rows: Sequence[Row]) -> tuple[list[Any], list[tuple[int, str]]]:
    """Return number, samples and padding of each row that can be read, and the code of each other one."""
    faults = [(number, code) for number, row in enumerate(rows) if (code := fault_of(row))]
    unread = {number for number, _ in faults}
    return [(n, *meaning_of(row)) for n, row in enumerate(rows) if n not in unread], faults


# The same out of packlint.


def read(shard: Shard, block_tokens: int) -> tuple[list[Any], list[tuple[int, str]]]:
    [plan] = plan_shards([shard], parse_config({}, "test"), parse_config({}, "test").spec).shards
    assert plan.reading.context.unit is Unit.PAIR
    found: list[Any] = []
    faults: list[tuple[int, str]] = []
    for part in shard.parts():
        for raw in shard.rows(part, plan.roles, block_tokens):
            batch, bad = build(raw, plan.reading)
            faults += [(fault.row, fault.code) for fault in bad]
            found += [] if batch is None else rows_of(batch)
    return found, sorted(faults)


def rows_of(batch: PackBatch) -> Iterator[Any]:
    assert batch.padding_evidence is PaddingEvidence.STRUCTURE
    assert batch.segment_source is BoundarySource.ROWS
    assert batch.boundaries.keys() == {BoundarySource.ROWS}
    assert batch.boundaries[BoundarySource.ROWS].fault_packs.size == 0
    targets = batch.is_target

    def tokens(start: int, stop: int) -> list[Token]:
        labels = [None] * (stop - start) if batch.label_ids is None else batch.label_ids[start:stop].tolist()
        # Without any loss all real tokens count as answers here, as they do in the oracle.
        live = [True] * (stop - start) if targets is None else targets[start:stop].tolist()
        return list(zip(batch.tokens[start:stop].tolist(), live, labels, strict=True))

    for pack, number in enumerate(batch.pack_numbers.tolist()):
        start, stop = (int(i) for i in batch.pack_offsets[pack : pack + 2])
        mine = np.flatnonzero(batch.segments.packs == pack).tolist()
        ends = [start, *(int(batch.segments.stops[i]) for i in mine)]
        assert [int(batch.segments.starts[i]) for i in mine] == ends[:-1]
        assert batch.padding.count_within(np.array([ends[-1]]), np.array([stop])) == stop - ends[-1]
        samples = [tokens(a, b) for a, b in pairwise(ends)]
        yield number, samples, tokens(ends[-1], stop)


# Every way in.


def table_of(rows: Sequence[Row]) -> pa.Table:
    names = list(rows[0])
    return pa.table({name: pa.array([row[name] for row in rows], pa.list_(pa.int64())) for name in names})


def write_parquet(folder: Path, rows: Sequence[Row]) -> None:
    pq.write_table(table_of(rows), folder / "pairs.parquet", row_group_size=3)


def write_arrow(folder: Path, rows: Sequence[Row]) -> None:
    table = table_of(rows)
    with pa.OSFile(str(folder / "pairs.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table, max_chunksize=2)


def write_dataset(folder: Path, rows: Sequence[Row]) -> None:
    table = table_of(rows)
    name = "data-00000-of-00001.arrow"
    with pa.OSFile(str(folder / name), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=2)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))


def write_lines(folder: Path, rows: Sequence[Row]) -> None:
    lines = [
        json.dumps({name: value for name, value in row.items() if value is not None or at % 2})
        for at, row in enumerate(rows)
    ]
    (folder / "pairs.jsonl").write_text("\n".join(lines))


FILES: dict[str, Callable[[Path, Sequence[Row]], None]] = {
    "parquet": write_parquet,
    "arrow-file": write_arrow,
    "datasets": write_dataset,
    "jsonl": write_lines,
}
OBJECTS: dict[str, Callable[[Sequence[Row]], object]] = {
    "table": table_of,
    "list of rows": list,
    "dict of columns": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
}


def shards_of(form: str, rows: Sequence[Row], folder: Path) -> list[Shard]:
    if form in OBJECTS:
        return list(open_memory(OBJECTS[form](rows), "memory", Settings()))
    FILES[form](folder, rows)
    return opened(folder)


def opened(folder: Path) -> list[Shard]:
    shards, errors = open_shards([str(folder)], Settings())
    for _, error in errors:
        raise error
    return shards


@st.composite
def tables(draw: st.DrawFn) -> list[Row]:
    """Draw rows of pairs, some of them with null, empty, ragged or masked columns; the first is sound."""
    names = FORMS[draw(st.sampled_from(sorted(FORMS)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    is_odd = draw(st.booleans())
    return [row_like(names, rng, is_odd=is_odd and number > 0) for number in range(draw(st.integers(1, 7)))]


def row_like(names: Sequence[str], rng: np.random.Generator, *, is_odd: bool) -> Row:
    parts = dict.fromkeys(part_of(name) for name in names)
    lengths = {part: int(rng.integers(1, 6)) for part in parts}
    row: Row = {}
    for name in names:
        n, kind = lengths[part_of(name)], kind_of(name)
        values: list[Any] = rng.integers(3, 99, n).tolist()
        if kind == "labels":
            n_masked = int(rng.integers(0, n + 1))
            values[:n_masked] = [NOTHING] * n_masked
        elif kind != "ids":
            values = (rng.random(n) < 0.7 if is_odd else np.ones(n)).astype(int).tolist()
        row[name] = values
    for name, value in row.items() if is_odd else ():
        assert value is not None
        match rng.choice(["null", "empty", "short", "hole", "sound"], p=[0.06, 0.06, 0.04, 0.04, 0.8]):
            case "null":
                row[name] = None
            case "empty":
                row[name] = []
            case "short":
                value.pop()
            case "hole":
                value[0] = None
    if is_odd and rng.random() < 0.3:
        gone = rng.choice(list(parts))
        row |= {name: None if rng.random() < 0.5 else [] for name in names if part_of(name) == gone}
    return row


@pytest.mark.parametrize("form", [*FILES, *OBJECTS])
@settings(max_examples=40, deadline=None)
@given(rows=tables(), block_tokens=st.sampled_from([1, 16, 1 << 20]))
def test_every_reader_reads_what_each_row_says(form: str, rows: list[Row], block_tokens: int) -> None:
    with TemporaryDirectory() as folder:
        [shard] = shards_of(form, rows, Path(folder))
        assert read(shard, block_tokens) == meanings(rows)


# What no row alone can show.


def _batches(shard: Shard, block_tokens: int = 1 << 20) -> list[PackBatch]:
    [plan] = plan_shards([shard], parse_config({}, "test"), parse_config({}, "test").spec).shards
    rows = [raw for part in shard.parts() for raw in shard.rows(part, plan.roles, block_tokens)]
    return [batch for raw in rows if (batch := build(raw, plan.reading)[0]) is not None]


def in_memory(data: object) -> Shard:
    table = (
        pa.table(data) if isinstance(data, dict) and isinstance(next(iter(data.values())), pa.Array) else data
    )
    [shard] = open_memory(table, "memory", Settings())
    return shard


def test_types_that_no_integer_type_of_numpy_holds_together() -> None:
    ids = {
        "chosen_ids": pa.array([[3, 4]], pa.list_(pa.uint64())),
        "rejected_ids": pa.array([[5]], pa.list_(pa.int64())),
    }
    [batch] = _batches(in_memory(ids))

    assert batch.tokens.dtype == np.int64
    assert batch.tokens.tolist() == [3, 4, 5]


def test_small_types_stay_small() -> None:
    ids = {name: pa.array([[3], [4]], pa.large_list(pa.int32())) for name in BARE_PROMPT}
    [batch] = _batches(in_memory(ids))

    assert batch.tokens.dtype == np.int32
    assert batch.tokens.tolist() == [3, 3, 3, 3, 4, 4, 4, 4]


def test_null_rows_of_fixed_size_lists_are_missing_sides() -> None:
    fixed = pa.list_(pa.int64(), 2)
    ids = {
        "chosen_ids": pa.array([[3, 4], None, [5, 6]], fixed),
        "rejected_ids": pa.array([[7, 8]] * 3, fixed),
    }
    [batch] = _batches(in_memory(ids))

    assert batch.tokens.tolist() == [3, 4, 7, 8, 7, 8, 5, 6, 7, 8]
    assert np.diff(batch.segment_first_in_pack).tolist() == [2, 1, 2]


def test_a_side_that_is_null_in_every_row() -> None:
    ids = {"chosen_ids": pa.array([[3, 4], [5]], pa.list_(pa.int64())), "rejected_ids": pa.nulls(2)}
    [batch] = _batches(in_memory(ids))

    assert batch.tokens.tolist() == [3, 4, 5]
    assert np.diff(batch.segment_first_in_pack).tolist() == [1, 1]


@pytest.mark.parametrize("form", ["table", "jsonl", "list of rows"])
def test_blocks_are_as_large_as_both_sides_together(form: str, tmp_path: Path) -> None:
    rows: list[Row] = [{"chosen_ids": [3] * 4, "rejected_ids": [4] * 4} for _ in range(9)]
    found = _batches(shards_of(form, rows, tmp_path)[0], block_tokens=16)

    assert [batch.n_packs for batch in found] == [2, 2, 2, 2, 1]


def test_few_rows_of_long_sides_are_decoded_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[Row] = [{"chosen_ids": None, "rejected_ids": [4] * 50} for _ in range(100)]
    pq.write_table(table_of(rows), tmp_path / "pairs.parquet", row_group_size=100)
    [shard] = opened(tmp_path)
    sizes = []

    def blocks(batch: pa.RecordBatch, *rest: Any) -> Iterator[RawRows]:
        sizes.append(batch.num_rows)
        return columns.blocks(batch, *rest)

    monkeypatch.setattr(parquet, "_DECODED_TOKENS", 500)
    monkeypatch.setattr(parquet, "blocks", blocks)
    assert sum(batch.n_packs for batch in _batches(shard)) == 100
    assert sorted(set(sizes)) in ([10], [10, 16])  # 16 rows are looked at first


def test_a_batch_of_which_a_side_is_missing_as_a_whole() -> None:
    first = {"index": np.arange(2), "chosen_ids": [[3], [4]], "rejected_ids": [[5], [6]]}
    items = [first, {"index": np.arange(2), "chosen_ids": None, "rejected_ids": [[7], [8, 9]]}]
    [batch] = _batches(in_memory(items))

    assert batch.tokens.tolist() == [3, 5, 4, 6, 7, 8, 9]
    assert np.diff(batch.segment_first_in_pack).tolist() == [2, 2, 1, 1]


def test_a_batch_that_begins_with_numbers_of_its_rows() -> None:
    batch = {"index": np.arange(3), "chosen_ids": np.full((3, 2), 3), "rejected_ids": np.full((3, 1), 4)}
    [found] = _batches(in_memory(batch))

    assert found.tokens.tolist() == [3, 3, 4] * 3


def test_a_row_of_a_reference_is_two_samples() -> None:
    shard = in_memory({"chosen_ids": [[3, 4], [5]], "rejected_ids": [[6], [7, 8]]})
    reading = reference_reading(shard, 0, DatasetSpec())
    [raw] = shard.rows(shard.parts()[0], frozenset(reading.layout.columns), 1 << 20)
    batch, _ = build(raw, reading)

    assert batch is not None
    assert reading.context.unit is Unit.PAIR
    assert batch.segments.lengths.tolist() == [2, 1, 1, 2]


@pytest.mark.parametrize("form", FILES)
def test_damage(form: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    FILES[form](tmp_path, [row_like(PROMPTED, rng, is_odd=number > 0) for number in range(4)])
    files = [path for path in tmp_path.iterdir() if path.suffix != ".json"]

    def open_it() -> list[Shard]:
        try:
            return opened(tmp_path)
        except NoInputError:  # nothing that looks like data is left
            return []

    survives_damage(files, open_it, n_flips=60, every=31)
