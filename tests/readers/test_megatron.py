"""Megatron indexed datasets: samples by real writers, a writer of our own, and damage of every kind."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from packlint.errors import UnreadableError, UsageError
from packlint.model.batch import Unit
from packlint.readers.megatron import MegatronReader, rows, scan
from packlint.readers.megatron import index as index_module
from packlint.readers.shard import Fault, PaddingMark, Role, Settings, Shard
from packlint.readers.source import Source

SAMPLES = Path(__file__).parents[1] / "samples"
ROLES = frozenset({Role.INPUT_IDS, Role.LABELS, Role.DOCUMENT_STARTS})
CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}

Lists = list[list[int]]


def write(
    prefix: Path,
    sequences: Sequence[Sequence[int]],
    dtype: str = "uint16",
    documents: Sequence[int] | None = None,
    modes: Sequence[int] = (),
) -> Path:
    """Write what `IndexedDatasetBuilder` writes, and return the `.idx`."""
    documents = range(len(sequences) + 1) if documents is None else documents
    arrays = [np.array(s, dtype) for s in sequences]
    lengths = np.array([a.size for a in arrays], np.int32)
    pointers = np.append(0, np.cumsum([a.nbytes for a in arrays]))[: len(arrays)].astype(np.int64)
    head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, CODES[dtype], len(arrays), len(documents))
    body = lengths.tobytes() + pointers.tobytes() + np.array(documents, np.int64).tobytes()
    prefix.with_suffix(".bin").write_bytes(b"".join(a.tobytes() for a in arrays))
    path = prefix.with_suffix(".idx")
    path.write_bytes(head + body + np.array(modes, np.int8).tobytes())
    return path


def open_one(path: Path, max_seq_len: int | None = None) -> Shard:
    [shard] = MegatronReader().open(Source(str(path)), path.name, Settings(max_seq_len=max_seq_len))
    return shard


def read(shard: Shard, block_tokens: int = 8) -> tuple[list[int], dict[Role, Lists], list[Fault]]:
    """Return row numbers, rows by role and faults of all parts."""
    numbers: list[int] = []
    columns: dict[Role, Lists] = {}
    faults: list[Fault] = []
    for part in shard.parts():
        for raw in shard.rows(part, ROLES, block_tokens):
            numbers += raw.row_numbers.tolist()
            faults += raw.faults
            for role, column in raw.columns.items():
                assert column.n_rows == raw.row_numbers.size
                pieces = np.split(column.values, column.offsets[1:-1]) if column.n_rows else []
                columns.setdefault(role, []).extend(p.tolist() for p in pieces)
    return numbers, columns, faults


def set_bytes(path: Path, offset: int, fmt: str, *values: int) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(fmt, data, offset, *values)
    path.write_bytes(data)


# --- samples ---


@pytest.mark.parametrize(
    ("sample", "dtype", "n_rows", "n_tokens"),
    [
        ("megatron_uint16_eod", "uint16", 24, 500),
        ("megatron_int32_noeod", "int32", 24, 476),
        ("megatron_multimodal_modes", "int32", 6, 131),
    ],
)
def test_samples_by_megatron_core(sample: str, dtype: str, n_rows: int, n_tokens: int) -> None:
    path = SAMPLES / sample / "toy_text_document.idx"
    assert MegatronReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    shard = open_one(path)
    numbers, columns, faults = read(shard)
    assert shard.layout.unit is Unit.DOCUMENT
    assert shard.layout.trainer == "megatron"
    assert shard.layout.padding is PaddingMark.NEVER_STORED
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == dtype
    assert (numbers, faults) == (list(range(n_rows)), [])
    assert sum(map(len, columns[Role.INPUT_IDS])) == n_tokens
    assert columns[Role.DOCUMENT_STARTS] == [[0]] * n_rows
    assert all(row[-1] == 2 for row in columns[Role.INPUT_IDS]) == (sample != "megatron_int32_noeod")
    assert any("int8[6]" in line for line in shard.layout.evidence) == ("modes" in sample)


def test_sample_of_a_neox_pair() -> None:
    folder = SAMPLES / "neox_text_label_pair"
    shard = open_one(folder / "toy_text_document.idx")
    _, columns, faults = read(shard)
    assert shard.layout.trainer == "neox"
    assert faults == []
    assert sum(label != -100 for row in columns[Role.LABELS] for label in row) == 313
    for ids, labels in zip(columns[Role.INPUT_IDS], columns[Role.LABELS], strict=True):
        assert all(label in (-100, token) for token, label in zip(ids, labels, strict=True))
    assert shard.n_bytes == sum(f.stat().st_size for f in folder.glob("toy_*"))
    assert MegatronReader().open(Source(str(folder / "toy_label_document.idx")), "labels", Settings()) == ()


@pytest.mark.parametrize("sample", ["fairseq_mmap"])
def test_fairseq_is_told_apart(sample: str) -> None:
    path = SAMPLES / sample / "train.idx"
    with pytest.raises(UnreadableError, match="fairseq"):
        MegatronReader().open(Source(str(path)), path.name, Settings())


# --- reader(writer(x)) = x ---

_sequences = st.lists(st.lists(st.integers(0, 120), max_size=9), max_size=12)


@given(
    sequences=_sequences, dtype=st.sampled_from(sorted(CODES)), block=st.integers(1, 20), modes=st.booleans()
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, sequences: Lists, dtype: str, block: int, modes: bool
) -> None:
    prefix = tmp_path_factory.mktemp("set") / "toy"
    path = write(prefix, sequences, dtype, modes=[0] * len(sequences) if modes else ())
    numbers, columns, faults = read(open_one(path), block)
    assert (numbers, faults) == (list(range(len(sequences))), [])
    assert columns.get(Role.INPUT_IDS, []) == sequences


@given(sequences=_sequences, window=st.integers(1, 12), block=st.integers(1, 20))
def test_windows_against_brute_force(
    tmp_path_factory: pytest.TempPathFactory, sequences: Lists, window: int, block: int
) -> None:
    path = write(tmp_path_factory.mktemp("set") / "toy", sequences)
    shard = open_one(path, window)
    numbers, columns, faults = read(shard, block)
    stream = [(token, i == 0) for s in sequences for i, token in enumerate(s)]
    cut = [stream[a : a + window] for a in range(0, len(stream), window)]
    assert shard.layout.unit is Unit.PACK
    assert (numbers, faults) == (list(range(len(cut))), [])
    assert columns.get(Role.INPUT_IDS, []) == [[token for token, _ in row] for row in cut]
    starts = [[i for i, (_, is_start) in enumerate(row) if is_start or i == 0] for row in cut]
    assert columns.get(Role.DOCUMENT_STARTS, []) == starts


@given(sequences=_sequences, window=st.none() | st.integers(1, 12))
def test_sections_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, sequences: Lists, window: int | None
) -> None:
    path = write(tmp_path_factory.mktemp("set") / "toy", sequences)
    whole = read(open_one(path, window))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "SECTION_TOKENS", 7)
        patch.setattr("packlint.readers.megatron.reader.SECTION_TOKENS", 7)
        patch.setattr(index_module, "_SCAN_SEQUENCES", 3)
        shard = open_one(path, window)
        assert read(shard) == whole
    parts = shard.parts()
    assert [p.first_row for p in parts[1:]] == [p.first_row + p.n_rows for p in parts[:-1]]
    assert [p.index for p in parts] == list(range(len(parts)))


def test_windows_say_what_megatron_drops(tmp_path: Path) -> None:
    path = write(tmp_path / "toy", [list(range(8))])
    assert any("draws 1 of 4 + 1 tokens and drops the last 4" in s for s in open_one(path, 4).layout.evidence)


def test_a_window_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="max_seq_len"):
        open_one(write(tmp_path / "toy", [[1]]), 0)


def test_tokens_are_views_in_the_stored_type(tmp_path: Path) -> None:
    shard = open_one(write(tmp_path / "toy", [[1, 2], [3]]))
    [raw] = shard.rows(shard.parts()[0], frozenset({Role.INPUT_IDS}), 100)
    values: Any = raw.columns[Role.INPUT_IDS].values
    assert raw.columns.keys() == {Role.INPUT_IDS}
    assert values.dtype == np.uint16
    assert values.base is not None
    assert not values.flags.writeable


def test_long_sequences_come_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PIECE_TOKENS", 4)
    numbers, columns, _ = read(open_one(write(tmp_path / "toy", [[9], list(range(9)), [], [8] * 4])))
    assert numbers == [0, 1, 1, 1, 2, 3]
    assert columns[Role.INPUT_IDS] == [[9], [0, 1, 2, 3], [4, 5, 6, 7], [8], [], [8] * 4]
    assert columns[Role.DOCUMENT_STARTS] == [[0]] * 6


def test_an_empty_set_has_no_rows(tmp_path: Path) -> None:
    for window in (None, 4):
        shard = open_one(write(tmp_path / "toy", []), window)
        assert read(shard)[0] == []
        assert sum(part.n_rows for part in shard.parts()) == 0


# --- GPT-NeoX pairs ---


def write_pair(folder: Path, text: Lists, labels: Lists) -> Path:
    write(folder / "p_label_document", labels, "int32")
    return write(folder / "p_text_document", text)


@pytest.mark.parametrize("window", [None, 2])
def test_unlike_labels_are_left_out(tmp_path: Path, window: int | None) -> None:
    text = [[1, 2], [3, 4, 5, 6], [7, 8], [9, 10]]
    path = write_pair(tmp_path, text, [[1, 2], [3, -100, 5], [-100, 8]])
    numbers, columns, faults = read(open_one(path, window))
    assert columns[Role.INPUT_IDS] == [[1, 2], [7, 8]]
    assert columns[Role.LABELS] == [[1, 2], [-100, 8]]
    assert columns[Role.DOCUMENT_STARTS] == [[0], [0]]
    left_out = {None: ([0, 2], [1, 3]), 2: ([0, 3], [1, 2, 4])}[window]
    assert (numbers, [fault.row for fault in faults]) == left_out
    assert {fault.code for fault in faults} == {"SHD002"}
    assert faults[0].message == "sequence 1 has 3 labels for 4 tokens"
    assert faults[-1].message == "sequence 3 is not in the label set"


def test_many_unlike_labels_are_counted_exactly(tmp_path: Path) -> None:
    path = write_pair(tmp_path, [[1]] * 50, [[1, 2]] * 53)
    numbers, _, faults = read(open_one(path))
    assert numbers == []
    assert len(faults) < 50
    assert sum(f.n_hits for f in faults) == 53
    assert faults[0].row == -1


def test_a_damaged_label_set_is_not_passed_over(tmp_path: Path) -> None:
    path = write_pair(tmp_path, [[1]], [[1]])
    (tmp_path / "p_label_document.bin").unlink()
    with pytest.raises(
        UnreadableError, match=r"label set p_label_document.idx: p_label_document.bin is missing"
    ):
        open_one(path)


# --- damage ---


def refused(path: Path) -> str:
    with pytest.raises(UnreadableError) as caught:
        MegatronReader().open(Source(str(path)), path.name, Settings())
    return str(caught.value)


def test_truncation_at_every_byte(tmp_path: Path) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3], [4, 5, 6]], modes=[0, 0, 0])
    whole = path.read_bytes()
    without_modes = len(whole) - 3
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size == without_modes:
            assert read(open_one(path))[2] == []
        else:
            refused(path)


@pytest.mark.parametrize("count", [1 << 60, (1 << 64) - 1, 4])
@pytest.mark.parametrize("offset", [18, 26])
def test_absurd_counts_cost_nothing(tmp_path: Path, count: int, offset: int) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3]])
    set_bytes(path, offset, "<Q", count)
    assert "bytes" in refused(path)


@pytest.mark.parametrize(
    ("offset", "fmt", "value", "message"),
    [
        (0, "<B", 0, "does not begin with MMIDIDX"),
        (9, "<Q", 2, "version 2"),
        (17, "<B", 6, "floats"),
        (17, "<B", 7, "floats"),
        (17, "<B", 9, "unknown dtype code 9"),
        (34, "<i", -1, "sequence 0 has the length -1"),
        (38, "<i", 2**31 - 1, "sequence 1 takes 4294967294 bytes from byte 4"),
        (42, "<q", -2, "sequence 0 takes 4 bytes from byte -2"),
        (50, "<q", 5, "no multiple of the 2 bytes"),
        (50, "<q", 2**63 - 2, "but toy.bin has 6 bytes"),
        (50, "<q", 6, "sequence 1 takes 2 bytes from byte 6, but toy.bin has 6 bytes"),
    ],
)
def test_hostile_fields(tmp_path: Path, offset: int, fmt: str, value: int, message: str) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3]])
    set_bytes(path, offset, fmt, value)
    assert message in refused(path)


def test_sequences_may_not_add_up_to_more_than_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3]])
    set_bytes(path, 38, "<i", 2)
    set_bytes(path, 50, "<q", 0)
    assert "toy.bin has 6 bytes, the first 2 sequences alone have 8" in refused(path)


def test_a_short_bin(tmp_path: Path) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3]])
    path.with_suffix(".bin").write_bytes(b"\1\0\2\0\3")
    assert "sequence 1 takes 2 bytes from byte 4, but toy.bin has 5 bytes" in refused(path)
    path.with_suffix(".bin").unlink()
    assert "toy.bin is missing beside toy.idx" in refused(path)


def test_a_long_bin_is_an_incomplete_set(tmp_path: Path) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3]])
    path.with_suffix(".bin").write_bytes(b"\1\0\2\0\3\0\4\0\5")
    _, columns, [fault] = read(open_one(path))
    assert columns[Role.INPUT_IDS] == [[1, 2], [3]]
    assert (fault.code, fault.message) == ("SHD006", "toy.bin has 9 bytes, the index ends at byte 6")


@pytest.mark.parametrize("window", [None, 2])
def test_jumping_pointers_are_read_and_reported(tmp_path: Path, window: int | None) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3, 4]])
    set_bytes(path, 42, "<qq", 4, 0)
    _, columns, [fault] = read(open_one(path, window))
    assert columns[Role.INPUT_IDS] == [[3, 4], [1, 2]]
    assert (fault.code, fault.row, fault.n_hits) == ("SHD001", -1, 2)
    assert "sequence 0 begins at byte 4, expected byte 0" in fault.message


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "runs from 0 to 0, expected 0 to 2"),
        ([0, 1], "runs from 0 to 1, expected 0 to 2"),
        ([1, 2], "runs from 1 to 2, expected 0 to 2"),
        ([0, 2, 1, 2], "falls at entry 2"),
        ([-1, 2], "falls at entry 0"),
    ],
)
def test_a_wrong_document_index_is_reported(tmp_path: Path, documents: list[int], message: str) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3]], documents=documents)
    _, columns, [fault] = read(open_one(path))
    assert columns[Role.INPUT_IDS] == [[1, 2], [3]]
    assert fault.code == "SHD001"
    assert message in fault.message


def test_documents_of_several_sequences_are_counted(tmp_path: Path) -> None:
    shard = open_one(write(tmp_path / "toy", [[1], [2], [3]], documents=[0, 2, 3]))
    assert "3 sequences in 2 documents, 3 tokens" in shard.layout.evidence
    assert read(shard)[0] == [0, 1, 2]


@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.mktemp("set")
    path = folder / "toy.idx"
    path.write_bytes(b"MMIDIDX\0\0" + struct.pack("<QB", 1, 8) + data)
    path.with_suffix(".bin").write_bytes(bytes(range(64)))
    with contextlib.suppress(UnreadableError):
        read(open_one(path))


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path) -> None:
    path = write(tmp_path / "toy", [[1, 2], [3]])
    shard = open_one(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(UnreadableError, match="ended at byte"):
        read(shard)
