"""Arrow IPC streams and files → shards."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.readers import arrow_ipc
from packlint.readers.arrow_ipc import ArrowReader
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source

SAMPLES = Path(__file__).parents[1] / "samples"
ALL = frozenset(Role)
ROWS = [[i] * (i + 1) for i in range(10)]


def _write(path: Path, kind: str = "stream", n_rows: int = 10, codec: Any = None) -> Path:
    ids = pa.array(ROWS[:n_rows], pa.list_(pa.int32()))
    table = pa.table({"other": pa.array(["x"] * n_rows), "input_ids": ids})
    make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=codec)
    with make(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=3)
    return path


def _open(path: Path) -> Shard:
    (shard,) = ArrowReader().open(Source(str(path)), path.name, Settings())
    return shard


def _tokens(shard: Shard, block_tokens: int = 8) -> list[list[int]]:
    found: list[list[int]] = []
    for part in shard.parts():
        for raw in shard.rows(part, ALL, block_tokens):
            assert raw.row_numbers.tolist() == list(range(len(found), len(found) + raw.row_numbers.size))
            column = raw.columns[Role.INPUT_IDS]
            found += [a.tolist() for a in np.split(column.values, column.offsets[1:-1])]
    return found


@pytest.mark.parametrize("codec", [None, "zstd", "lz4"])
@pytest.mark.parametrize("kind", ["stream", "file"])
def test_rows_in_order(tmp_path: Path, kind: str, codec: str | None) -> None:
    shard = _open(_write(tmp_path / "a.arrow", kind, codec=codec))

    assert shard.format == f"arrow-{kind}"
    assert _tokens(shard) == ROWS
    assert [(p.first_row, p.n_rows) for p in shard.parts()] == [(0, 10)]


@pytest.mark.parametrize("kind", ["stream", "file"])
def test_parts_can_be_read_by_themselves(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_ipc, "_PART_BYTES", 500)
    shard = _open(_write(tmp_path / "a.arrow", kind))
    parts = shard.parts()

    assert [p.index for p in parts] == list(range(len(parts)))
    assert len(parts) > 1
    assert sum(p.n_rows for p in parts) == 10
    assert _tokens(shard) == ROWS
    last = parts[-1]
    numbers = [n for raw in shard.rows(last, ALL, 1) for n in raw.row_numbers.tolist()]
    assert numbers == list(range(last.first_row, 10))


@pytest.mark.parametrize("kind", ["stream", "file"])
def test_no_rows(tmp_path: Path, kind: str) -> None:
    assert list(_open(_write(tmp_path / "a.arrow", kind, n_rows=0)).parts()) == []


def test_truncated_stream_gives_the_rows_before(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.arrow")
    path.write_bytes(path.read_bytes()[:-80])
    shard = _open(path)
    (part,) = shard.parts()
    rows = shard.rows(part, ALL, 1 << 17)
    found: list[int] = []

    with pytest.raises(UnreadableError, match="record batch 3"):
        found.extend(n for raw in rows for n in raw.row_numbers.tolist())
    assert found == list(range(9))


def test_stream_damaged_in_its_first_batch_is_not_silent(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.arrow")
    path.write_bytes(path.read_bytes()[:400])
    shard = _open(path)
    (part,) = shard.parts()

    with pytest.raises(UnreadableError, match="record batch 0"):
        list(shard.rows(part, ALL, 1 << 17))


@pytest.mark.parametrize("keep", [8, 40, 150])
@pytest.mark.parametrize("kind", ["stream", "file"])
def test_truncated_schema(tmp_path: Path, kind: str, keep: int) -> None:
    path = _write(tmp_path / "a.arrow", kind)
    path.write_bytes(path.read_bytes()[:keep])

    with pytest.raises(UnreadableError, match=r"^schema: ") as caught:
        _open(path)
    assert str(tmp_path) not in str(caught.value)


def test_data_set_whose_writer_was_stopped_between_batches(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.arrow")
    (tmp_path / "dataset_info.json").write_text("{}")
    assert _tokens(_open(path)) == ROWS

    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(UnreadableError, match="no end mark after record batch 3"):
        _tokens(_open(path))


@pytest.mark.parametrize("kind", ["stream", "file"])
@pytest.mark.parametrize("seed", range(40))
def test_any_damaged_byte_is_an_error_in_words_or_other_tokens(tmp_path: Path, kind: str, seed: int) -> None:
    path = _write(tmp_path / "a.arrow", kind)
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(seed)
    for place in rng.integers(16, len(data), 3).tolist():
        data[place] = int(rng.integers(256))
    path.write_bytes(bytes(data))

    with suppress(UnreadableError):
        _tokens(_open(path))


def test_datasets_beside_json(tmp_path: Path) -> None:
    path = _write(tmp_path / "data-00000-of-00001.arrow")
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": path.name}]}))
    shard = _open(path)

    assert shard.format == "datasets"
    assert "Hugging Face datasets: state.json beside the file" in shard.layout.evidence


def test_sniff() -> None:
    reader, path = ArrowReader(), Path("x")

    assert reader.sniff(Source(str(path)), b"ARROW1\0\0")
    assert reader.sniff(
        Source(str(path)), (SAMPLES / "trl_bfd/dataset/data-00000-of-00001.arrow").read_bytes()[:4096]
    )
    assert not reader.sniff(Source(str(path)), b"\xff" * 64)
    assert not reader.sniff(Source(str(path)), b"\xff\xff\xff\xff")
    assert not reader.sniff(Source(str(path)), b"PAR1")


@pytest.mark.parametrize(
    ("name", "trainer", "unit", "n_rows"),
    [
        ("trl_bfd/dataset", "trl", Unit.PACK, 7),
        ("trl_bfd_split/dataset", "trl", Unit.PACK, 7),
        ("trl_bfd_completion_mask/dataset", "trl-0", Unit.PACK, 7),
        ("llamafactory_neat_packing/tokenized/train", "llama-factory", Unit.PACK, 7),
        ("llamafactory_packing_no_neat/tokenized/train", "llama-factory-plain", Unit.PACK, 7),
        ("axolotl_prepared/last_run_prepared_hash", "axolotl", Unit.SAMPLE, 24),
        ("xtuner_varlen_arrow/dataset", "xtuner", Unit.PACK, 12),
        ("automodel_packed/dataset", "automodel", Unit.PACK, 7),
    ],
)
def test_samples(name: str, trainer: str, unit: Unit, n_rows: int) -> None:
    path = SAMPLES / name / "data-00000-of-00001.arrow"
    shard = _open(path)

    assert (shard.format, shard.layout.trainer, shard.layout.unit) == ("datasets", trainer, unit)
    with pa.ipc.open_stream(path.read_bytes()) as reader:
        assert _tokens(shard) == reader.read_all()["input_ids"].to_pylist()
    assert len(_tokens(shard)) == n_rows


def test_pickled_shards_still_read(tmp_path: Path) -> None:
    assert _tokens(pickle.loads(pickle.dumps(_open(_write(tmp_path / "a.arrow"))))) == ROWS
