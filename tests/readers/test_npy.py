"""numpy arrays: packed rows of NeMo, the pickle machine that reads them, arrays of ids, and damage."""

from __future__ import annotations

import json
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import packlint
from packlint.errors import UnreadableError, UsageError
from packlint.readers.numpy_files import NpyReader
from packlint.readers.numpy_files.pickled import load_object_array
from packlint.readers.parquet import ParquetReader
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source
from tests.readers.file_checks import (
    SAMPLES,
    assert_equal,
    batches,
    counts,
    read,
    reference,
    segments,
    survives_damage,
)

ROWS: list[dict[str, Any]] = [
    {"input_ids": [1, 5, 2, 1, 7000, 2], "loss_mask": [False, True] * 3, "seq_start_id": [0, 3]},
    {"input_ids": [1, 100_000, 2], "loss_mask": [False, True, True], "seq_start_id": [0]},
]
NEMO = SAMPLES / "nemo_packed_npy" / "training_64.npy"


def write(path: Path, rows: list[Any]) -> Path:
    """Write rows as NeMo does."""
    array = np.empty(len(rows), object)
    array[:] = rows
    np.save(path, array, allow_pickle=True)
    return path


def write_pickle(path: Path, pickled: bytes, shape: str = "(2,)") -> Path:
    """Write a header of an object array and any pickle after it."""
    text = f"{{'descr': '|O', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + pickled)
    return path


def open_one(path: Path, **settings: Any) -> Shard:
    assert NpyReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    [shard] = NpyReader().open(Source(str(path)), path.name, Settings(**settings))
    return shard


def small_file(folder: Path) -> list[Path]:
    """Write a small valid input of the format."""
    path = write(folder / "training_64.npy", ROWS)
    (folder / "64_metadata.jsonl").write_text(json.dumps([{"pack_size": 64, "max_samples_per_bin": 2}]))
    return [path, folder / "64_metadata.jsonl"]


# --- the sample ---


def test_sample_counts() -> None:
    assert counts(NEMO) == [(14, 24, 798, 0, 313, 0)]


def test_sample_holds_the_reference_whole() -> None:
    [batch] = batches(NEMO)
    assert sorted(segments(batch)) == sorted(reference("sft"))
    assert batch.spec.max_seq_len is not None
    assert (batch.spec.max_seq_len.value, batch.spec.max_seq_len.origin) == (64, "format")


def test_the_same_rows_from_bridge_parquet_give_the_same_batch() -> None:
    [npy] = batches(NEMO)
    [parquet] = batches(SAMPLES / "bridge_packed_parquet" / "training_64.idx.parquet")
    assert_equal(npy, parquet)
    assert npy.spec.max_seq_len == parquet.spec.max_seq_len


# --- reader(writer(x)) = x ---

_tokens = st.lists(st.integers(-(2**40), 2**40) | st.integers(0, 70_000), max_size=9)


@given(
    rows=st.lists(st.tuples(_tokens, st.booleans()), min_size=1, max_size=6),
    protocol=st.sampled_from([3, 4]),
    block=st.integers(1, 20),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[int], bool]], protocol: int, block: int
) -> None:
    packed = [{"input_ids": ids, "loss_mask": [flag] * len(ids), "seq_start_id": [0]} for ids, flag in rows]
    array = np.empty(len(packed), object)
    array[:] = packed
    folder = tmp_path_factory.mktemp("x")
    path = write_pickle(folder / "a.npy", pickle.dumps(array, protocol), f"({len(rows)},)")
    numbers, columns, faults = read(open_one(path), block)
    assert (numbers, faults) == (list(range(len(rows))), [])
    assert columns[Role.INPUT_IDS] == [ids for ids, _ in rows]
    assert columns[Role.LOSS_MASK] == [[flag] * len(ids) for ids, flag in rows]


def test_lists_beyond_one_batch_of_the_pickler(tmp_path: Path) -> None:
    ids = list(np.random.default_rng(0).integers(0, 200_000, 12_345).tolist())
    rows = [{"input_ids": ids, "loss_mask": [True] * len(ids), "seq_start_id": [0, 7]}] * 1
    _, columns, _ = read(open_one(write(tmp_path / "a.npy", rows)))
    assert columns[Role.INPUT_IDS] == [ids]


@pytest.mark.parametrize("dtype", ["int32", "uint16", "int64", ">i4"])
def test_arrays_and_numpy_numbers_inside_rows(tmp_path: Path, dtype: str) -> None:
    ids = np.array([1, 300, 2], dtype)
    rows = [
        {"input_ids": ids, "loss_mask": np.array([True, False, True]), "seq_start_id": [np.int64(0)]},
        {"input_ids": list(ids), "loss_mask": [0.5, 1.0, 0.0], "seq_start_id": np.array([0, 1])},
    ]
    _, columns, faults = read(open_one(write(tmp_path / "a.npy", rows)))
    assert faults == []
    assert columns[Role.INPUT_IDS] == [[1, 300, 2]] * 2
    assert columns[Role.LOSS_MASK] == [[1, 0, 1], [0.5, 1, 0]]
    assert columns[Role.SEGMENT_STARTS] == [[0], [0, 1]]


@pytest.mark.parametrize(
    ("row", "code", "message"),
    [
        ("text", "SHD001", "it is a str, expected a dict"),
        ({"loss_mask": [1], "seq_start_id": [0]}, "SHD001", "there is no input_ids"),
        ({**ROWS[0], "input_ids": [1, None]}, "SHD005", "input_ids[1] is null"),
        ({**ROWS[0], "input_ids": None}, "SHD005", "input_ids is null"),
        ({**ROWS[0], "input_ids": [1, 2.5]}, "SHD001", "input_ids[1] is the float 2.5"),
        ({**ROWS[0], "input_ids": [[1], [2]]}, "SHD001", "expected integers"),
        ({**ROWS[0], "input_ids": [1, 2**70]}, "SHD001", "beyond int64"),
    ],
)
def test_a_bad_row_is_a_fault_of_its_own(tmp_path: Path, row: object, code: str, message: str) -> None:
    numbers, _, [fault] = read(open_one(write(tmp_path / "a.npy", [ROWS[0], row, ROWS[1]])))
    assert numbers == [0, 2]
    assert (fault.code, fault.row) == (code, 1)
    assert message in fault.message


# --- nothing runs ---


class Trace:
    """Leave a file behind when it is unpickled."""

    def __init__(self, path: Path, how: int) -> None:
        self.path, self.how = str(path), how

    def __reduce__(self) -> tuple[Any, ...]:
        if self.how == 0:
            import os

            return os.system, (f"touch {self.path}",)
        if self.how == 1:
            return eval, (f"open({self.path!r}, 'w').close()",)
        if self.how == 2:
            return open, (self.path, "w")
        return np.save, (self.path, 1)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("how", range(4))
def test_nothing_in_a_pickle_runs(tmp_path: Path, protocol: int, how: int) -> None:
    trace = tmp_path / "trace"
    places: list[list[Any]] = [
        [Trace(trace, how)],
        [{**ROWS[0], "input_ids": Trace(trace, how)}],
        [{**ROWS[0], "input_ids": [1, Trace(trace, how)]}],
        [*ROWS, {"other": Trace(trace, how)}],
    ]
    for place, rows in enumerate(places):
        array = np.empty(len(rows), object)
        array[:] = rows
        path = write_pickle(tmp_path / f"{place}.npy", pickle.dumps(array, protocol), f"({len(rows)},)")
        report = packlint.check(path)
        assert [f.code for f in report.findings if f.code == "SHD001"] == ["SHD001"]
        assert not trace.exists()
        assert not Path(f"{trace}.npy").exists()


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (b"cos\nsystem\n(S'touch x'\ntR.", "os.system"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x01x\x85R.", "os.system"),
        (b"cnumpy\nsave\n.", "numpy.save"),
        (b"cnumpy\ndtype.__new__\n.", "numpy.dtype.__new__"),
        (b"cnumpy.core.multiarray\n_reconstruct\n(tR)b.", "damaged"),
        (b"cnumpy\nndarray\n)R.", "calls numpy.ndarray"),
        (b"Pid\n.", "opcode 0x50"),
        (b"(Q.", "opcode 0x51"),
        (b"\x82\x01.", "opcode 0x82"),
        (b"(i__main__\nX\n.", "opcode 0x69"),
        (b"cnumpy\ndtype\nX\x01\x00\x00\x00O\x85Rcnumpy\ndtype\n)b.", "sets the state"),
        (b"}X\x01\x00\x00\x00a(K\x01e.", "damaged"),
        (b"}(K\x01K\x02u.", "no string"),
        (b"]r\xff\xff\xff\xff0.", "opcode 0x30"),
        (b"]j\xff\xff\xff\xff.", "damaged"),
        (b"\x8e" + b"\xff" * 7 + b"\x7f.", "damaged"),
        (b"X\xff\xff\xff\xffa.", "damaged"),
        (b"h\x00.", "damaged"),
        (b"", "damaged"),
        (b"N.", "no array of objects"),
    ],
)
def test_hostile_pickles(pickled: bytes, message: str) -> None:
    with pytest.raises(UnreadableError, match=message.replace(".", r"\.")):
        load_object_array(pickled)


def test_a_huge_memo_index_takes_no_room() -> None:
    [numbers] = load_object_array(b"]r\xff\xff\xff\x7f(K\x01K\x02e.")
    assert numbers.tolist() == [1, 2]
    machine_result = load_object_array(b"]r\xff\xff\xff\x7fj\xff\xff\xff\x7fa.")
    assert len(machine_result) == 1


@pytest.mark.parametrize("op", [b"\x85", b"\x94\x85", b"]\x94a", b"(t"])
def test_deep_nesting_breaks_nothing(tmp_path: Path, op: bytes) -> None:
    deep = b")" + op * 100_000
    with pytest.raises(UnreadableError):
        load_object_array(deep + b"X\x01\x00\x00\x00a\x93.")
    with pytest.raises(UnreadableError):
        load_object_array(b"X\x01\x00\x00\x00a" + deep + b"\x93.")
    with pytest.raises(UnreadableError):
        load_object_array(b"}(" + deep + b"K\x01u.")
    path = write_pickle(tmp_path / "a.npy", b"](}(X\x09\x00\x00\x00input_ids" + deep + b"ue.", "(1,)")
    with pytest.raises(UnreadableError):
        NpyReader().open(Source(str(path)), "a.npy", Settings())


def test_a_list_that_holds_itself(tmp_path: Path) -> None:
    ids: list[Any] = [1]
    ids.append(ids)
    _, _, faults = read(open_one(write(tmp_path / "a.npy", [*ROWS, {**ROWS[0], "input_ids": ids}])))
    assert [fault.row for fault in faults] == [2]


def test_rows_that_share_a_list_without_bound(tmp_path: Path) -> None:
    shared = {**ROWS[0], "input_ids": list(range(50_000)), "loss_mask": [True] * 50_000}
    path = write(tmp_path / "a.npy", [shared] * 1000)
    shard = open_one(path)
    with pytest.raises(UnreadableError, match="more values than the file"):
        read(shard, 1 << 16)


# --- the metadata beside it ---


def faults_with(folder: Path, claims: object, rows: list[Any] | None = None) -> list[tuple[str, int, str]]:
    (folder / "64_metadata.jsonl").write_text(json.dumps(claims))
    _, _, faults = read(open_one(write(folder / "training_64.npy", rows or ROWS)))
    return [(fault.code, fault.row, fault.message) for fault in faults]


TRUE = {
    "pack_size": 64,
    "dataset_max_seqlen": 2,
    "max_samples_per_bin": 2,
    "min_packed_seqlen": 2,
    "packing_factor": 1.5,
    "packing_efficiency": 4.69,
}


def test_true_claims(tmp_path: Path) -> None:
    assert faults_with(tmp_path, [TRUE]) == []
    assert faults_with(tmp_path, [{**TRUE, "packing_factor": 9, "min_packed_seqlen": 50}, TRUE]) == []
    shard = open_one(tmp_path / "training_64.npy")
    assert shard.spec.max_seq_len is not None
    assert shard.spec.max_seq_len.value == 64


@pytest.mark.parametrize(
    ("claim", "row", "message"),
    [
        ({"pack_size": 3}, 0, "pack_size would be 4, 64_metadata.jsonl says 3"),
        ({"max_samples_per_bin": 1}, 0, "max_samples_per_bin would be 2"),
        ({"dataset_max_seqlen": 1}, 0, "dataset_max_seqlen would be 2"),
        ({"min_packed_seqlen": 3}, 1, "min_packed_seqlen would be 2"),
        ({"dataset_max_seqlen": 5}, -1, "dataset_max_seqlen is 2, 64_metadata.jsonl says 5"),
        ({"min_packed_seqlen": 1}, -1, "min_packed_seqlen is 2"),
        ({"packing_factor": 1.71}, -1, "packing_factor is 1.5, 64_metadata.jsonl says 1.71"),
    ],
)
def test_false_claims(tmp_path: Path, claim: dict[str, float], row: int, message: str) -> None:
    [(code, at, text)] = faults_with(tmp_path, [{**TRUE, **claim}])
    assert (code, at) == ("MAN003", row)
    assert message in text


@pytest.mark.parametrize("claims", ['{"pack_size": 64}', "[1]", "[", "[" * 100_000, "\x00"])
def test_damaged_metadata(tmp_path: Path, claims: str) -> None:
    write(tmp_path / "training_64.npy", ROWS)
    (tmp_path / "64_metadata.jsonl").write_text(claims)
    _, columns, [fault] = read(open_one(tmp_path / "training_64.npy"))
    assert len(columns[Role.INPUT_IDS]) == 2
    assert (fault.code, fault.row) == ("SHD006", -1)


def test_claims_of_odd_values_are_passed_over(tmp_path: Path) -> None:
    assert faults_with(tmp_path, [{"pack_size": "64", "max_samples_per_bin": None, "x": 1e400}]) == []


def test_claims_beside_bridge_parquet(tmp_path: Path) -> None:
    table = pa.table({key: [row[key] for row in ROWS] for key in ROWS[0]})
    pq.write_table(table, tmp_path / "training_64.idx.parquet")
    (tmp_path / "64_metadata.jsonl").write_text(json.dumps([{**TRUE, "max_samples_per_bin": 1}]))
    path = tmp_path / "training_64.idx.parquet"
    [shard] = ParquetReader().open(Source(str(path)), path.name, Settings())
    _, _, [fault] = read(shard, 1 << 20)
    assert (fault.code, fault.row) == ("MAN003", 0)
    assert fault.message == "max_samples_per_bin would be 2, 64_metadata.jsonl says 1"


# --- arrays of ids ---


@given(
    n_rows=st.integers(0, 6),
    length=st.integers(1, 7),
    dtype=st.sampled_from(["uint8", "uint16", "int32", "int64", "uint32", ">i4"]),
    block=st.integers(1, 20),
)
def test_rows_of_an_array(
    tmp_path_factory: pytest.TempPathFactory, n_rows: int, length: int, dtype: str, block: int
) -> None:
    ids = np.arange(n_rows * length).reshape(n_rows, length).astype(dtype)
    path = tmp_path_factory.mktemp("x") / "a.npy"
    np.save(path, ids)
    numbers, columns, faults = read(open_one(path), block)
    assert (numbers, faults) == (list(range(n_rows)), [])
    assert columns.get(Role.INPUT_IDS, []) == ids.tolist()


def test_a_stream_needs_a_window(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(7))
    with pytest.raises(UnreadableError, match=r"give \[spec\] max_seq_len"):
        open_one(tmp_path / "a.npy")
    with pytest.raises(UsageError, match="positive"):
        open_one(tmp_path / "a.npy", max_seq_len=0)
    shard = open_one(tmp_path / "a.npy", max_seq_len=3)
    assert read(shard)[1][Role.INPUT_IDS] == [[0, 1, 2], [3, 4, 5], [6]]
    assert any("windows of max_seq_len = 3" in line for line in shard.layout.evidence)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2)), "float64"),
        (np.zeros((2, 2, 2), int), "shape"),
        (np.zeros((), int), "shape"),
        (np.asfortranarray(np.zeros((2, 3), int)), "Fortran"),
        (np.zeros(2, "datetime64[s]"), "expected integers"),
        (np.zeros(2, [("a", "i4")]), "expected integers"),
        (np.array(["a"]), "expected integers"),
    ],
)
def test_arrays_of_something_else(tmp_path: Path, array: np.ndarray[Any, Any], message: str) -> None:
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(UnreadableError, match=message):
        open_one(tmp_path / "a.npy")


def test_headers_that_claim_too_much(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((2, 3), np.int32))
    whole = path.read_bytes()
    for shape in (b"(2, 4)", b"(9**9, 9)", b"(2**50, 4)", b"(999999999999999, 9)", b"(-1, 3)", b"[2, 3]"):
        path.write_bytes(whole.replace(b"(2, 3)", shape, 1))
        with pytest.raises(UnreadableError):
            open_one(path)


def test_an_xtuner_plan_is_called_by_its_name(tmp_path: Path) -> None:
    np.save(tmp_path / "boundaries.npy", np.arange(3))
    np.save(tmp_path / "samples.npy", np.zeros((2, 6), np.int64))
    (tmp_path / "paths.json").write_text('["a.jsonl"]')
    report = packlint.check(tmp_path)
    [finding] = [f for f in report.findings if f.code == "SHD001"]
    assert "XTuner pack plan" in finding.message
    assert finding.shard.endswith("boundaries.npy")


# --- damage ---


def test_damage_to_packed_rows(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    survives_damage(files[:1], lambda: NpyReader().open(Source(str(files[0])), "a", Settings()), n_flips=800)
    survives_damage(files[1:], lambda: NpyReader().open(Source(str(files[0])), "a", Settings()), n_flips=100)


def test_damage_to_an_array(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.arange(12, dtype=np.int32).reshape(3, 4))
    survives_damage([path], lambda: NpyReader().open(Source(str(path)), "a", Settings()), n_flips=150)


def test_a_wrong_number_of_rows(tmp_path: Path) -> None:
    array = np.empty(2, object)
    array[:] = ROWS
    path = write_pickle(tmp_path / "a.npy", pickle.dumps(array, 4), "(3,)")
    _, columns, [fault] = read(open_one(path))
    assert len(columns[Role.INPUT_IDS]) == 2
    assert (fault.code, fault.message) == ("SHD001", "the pickle holds 2 rows, the header says 3")
