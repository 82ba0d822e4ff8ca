"""TFRecord and ArrayRecord of Examples: samples, a writer of our own, the checksum, and damage."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import packlint
from packlint.errors import UnreadableError
from packlint.readers.inflate import FREE_BYTES
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.tfrecord import ArrayRecordReader, TFRecordReader
from packlint.readers.tfrecord.crc32c import LANE_BYTES, crc32c, crc32c_of_each
from packlint.readers.tfrecord.framing import read_records
from packlint.readers.tfrecord.wire import decode_varints
from tests.readers.file_checks import (
    SAMPLES,
    TOY,
    Lists,
    assert_equal,
    batches,
    counts,
    entries,
    read,
    reference,
    segments,
    survives_damage,
)

SEQIO = SAMPLES / "seqio_packed_tfrecord" / "packed.tfrecord"
GRAIN = SAMPLES / "arrayrecord_tfexample" / "toy.tfrecord"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = b""
    while value >= 0x80:
        found += bytes([value & 0x7F | 0x80])
        value >>= 7
    return found + bytes([value])


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(values: Sequence[Any], packed: bool = True) -> bytes:
    """Return a Feature as TensorFlow writes it; unpacked lists are what old writers and proto2 give."""
    if values and isinstance(values[0], bytes):
        return message(1, b"".join(message(1, value) for value in values))
    if values and isinstance(values[0], float):
        raw = [struct.pack("<f", value) for value in values]
        return message(2, message(1, b"".join(raw)) if packed else b"".join(b"\x0d" + r for r in raw))
    if not packed:
        return message(3, b"".join(b"\x08" + varint(value) for value in values))
    return message(3, message(1, b"".join(map(varint, values))) if values else b"")


def example(row: Mapping[str, Sequence[Any]], packed: bool = True) -> bytes:
    entries = [
        message(1, message(1, name.encode()) + message(2, feature(values, packed)))
        for name, values in row.items()
    ]
    return message(1, b"".join(entries))


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(record: bytes) -> bytes:
    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


def write(path: Path, rows: Sequence[Mapping[str, Sequence[Any]]], packed: bool = True) -> Path:
    path.write_bytes(b"".join(frame(example(row, packed)) for row in rows))
    return path


def small_file(folder: Path) -> list[Path]:
    """Write a small valid input of the format."""
    rows = [{"input_ids": [1, 300, 2], "labels": [-100, 300, 2]}, {"input_ids": [7], "labels": [7]}]
    return [write(folder / "a.tfrecord", rows)]


def open_all(path: Path) -> list[Shard]:
    assert TFRecordReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    return list(TFRecordReader().open(Source(str(path)), path.name, Settings()))


# --- samples ---


def test_sample_of_grain() -> None:
    assert counts(GRAIN) == [(9, 24, 576, 76, 500, 0)]
    [batch] = batches(GRAIN)
    assert sorted(segments(batch)) == sorted(reference("docs"))
    [entry] = entries(GRAIN)
    assert (entry.format, entry.trainer) == ("tfrecord", "grain")


def test_sample_of_seqio() -> None:
    assert counts(SEQIO) == [(9, 24, 576, 91, 0, 0), (9, 24, 576, 263, 313, 0)]
    encoder, decoder = batches(SEQIO)
    assert sorted(segments(encoder)) == sorted(reference("sft", "prompt_ids"))
    assert sorted(segments(decoder)) == sorted(reference("sft", "completion_ids"))
    assert [e.trainer for e in entries(SEQIO)] == ["seqio-inputs", "seqio"]


def test_npz_and_tfrecord_give_the_same_batches() -> None:
    [record], [npz] = batches(GRAIN), batches(SAMPLES / "grain_first_fit" / "rows.npz")
    assert_equal(record, npz)
    for record, npz in zip(batches(SEQIO), batches(SEQIO.parent / "rows.npz"), strict=True):
        assert_equal(record, npz)


# --- reader(writer(x)) = x ---

_values = st.integers(-(2**63), 2**63 - 1) | st.integers(0, 200_000)


@given(
    rows=st.lists(st.lists(_values, max_size=9), min_size=1, max_size=6),
    packed=st.booleans(),
    zipped=st.booleans(),
    block=st.integers(1, 20),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: Lists, packed: bool, zipped: bool, block: int
) -> None:
    path = tmp_path_factory.mktemp("x") / "a.tfrecord"
    write(
        path, [{"input_ids": r, "loss_weights": [float(v % 2) for v in r]} for r in [[1, 2], *rows]], packed
    )
    if zipped:
        path.write_bytes(gzip.compress(path.read_bytes()))
    [shard] = open_all(path)
    numbers, columns, faults = read(shard, block)
    assert (numbers, faults) == (list(range(len(rows) + 1)), [])
    assert columns[Role.INPUT_IDS] == [[1, 2], *rows]
    assert columns[Role.LOSS_MASK] == [[v % 2 for v in r] for r in [[1, 2], *rows]]


def test_long_records_and_many(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [{"input_ids": rng.integers(0, 70_000, n).tolist()} for n in (3, 500_000, 0, 2, *[40] * 300)]
    [shard] = open_all(write(tmp_path / "a.tfrecord", rows))
    _, columns, faults = read(shard, 1000)
    assert faults == []
    assert columns[Role.INPUT_IDS] == [row["input_ids"] for row in rows]


@given(blocks=st.integers(1, 90), lengths=st.lists(st.integers(0, 40), max_size=8))
def test_framing_does_not_depend_on_the_block(blocks: int, lengths: list[int]) -> None:
    records = [bytes([i]) * n for i, n in enumerate(lengths)]
    data = b"".join(map(frame, records))
    found: list[bytes] = []
    for block in read_records(io.BytesIO(data), len(data), blocks):
        assert block.first == len(found)
        assert not block.damaged.any()
        found += [
            block.data[a : a + n] for a, n in zip(block.starts.tolist(), block.lengths.tolist(), strict=True)
        ]
    assert found == records


@given(values=st.lists(_values, max_size=50))
def test_varints(values: list[int]) -> None:
    raw = b"".join(map(varint, values))
    found, stops, too_long = decode_varints(np.frombuffer(raw, np.uint8))
    assert found.tolist() == values
    assert stops.tolist() == np.cumsum([len(varint(v)) for v in values]).astype(int).tolist()
    assert not too_long.any()


# --- the checksum ---


def test_crc32c_of_rfc_3720() -> None:
    for data, expected in (
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (b"123456789", 0xE3069283),
        (b"", 0),
    ):
        assert crc32c(data) == expected


@given(lengths=st.lists(st.integers(0, 3 * LANE_BYTES), max_size=6), seed=st.integers(0, 99))
def test_crc32c_of_many_equals_one_by_one(lengths: list[int], seed: int) -> None:
    chance = random.Random(seed)
    buffer = chance.randbytes(LANE_BYTES)
    starts = []
    for length in lengths:
        starts.append(len(buffer))
        buffer += chance.randbytes(length + chance.randrange(3))
    sums = crc32c_of_each(
        np.frombuffer(buffer, np.uint8), np.array(starts, np.int64), np.array(lengths, np.int64)
    )
    assert sums.tolist() == [crc32c(buffer[a : a + n]) for a, n in zip(starts, lengths, strict=True)]


# --- bad records ---


@pytest.mark.parametrize(
    ("record", "message_part"),
    [
        (b"", "there is no input_ids"),
        (b"\x0b", "wire type 3"),
        (b"\x0a\x05abc", "reaches beyond its message"),
        (b"\xff" * 12, "a varint does not end"),
        (example({"labels": [1]}), "there is no input_ids"),
        (example({"input_ids": [b"text"]}), "holds strings"),
        (example({"input_ids": [1.5]}), "float32"),
        (
            message(1, message(1, message(1, b"input_ids") + message(2, message(3, b"\x0a\x02\x01\x81")))),
            "end",
        ),
        (
            message(1, message(1, message(1, b"input_ids") + message(2, message(3, b"\x0a\x01\x01\x01")))),
            "split",
        ),
        (message(1, message(1, message(1, b"input_ids") + message(2, message(3, b"\x10\x01")))), "damaged"),
        (
            message(
                1,
                message(
                    1, message(1, b"input_ids") + message(2, message(3, message(1, b"\x80" * 10 + b"\x01")))
                ),
            ),
            "more than 10 bytes",
        ),
    ],
)
def test_a_bad_record_is_a_fault_of_its_own(tmp_path: Path, record: bytes, message_part: str) -> None:
    good = example({"input_ids": [1, 2]})
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(good) + frame(record) + frame(good))
    numbers, columns, [fault] = read(open_all(path)[0])
    assert numbers == [0, 2]
    assert columns[Role.INPUT_IDS] == [[1, 2]] * 2
    assert (fault.code, fault.row) == ("SHD001", 1)
    assert message_part in fault.message


def test_checksums(tmp_path: Path) -> None:
    frames = [frame(example({"input_ids": [1, 300 + i]})) for i in range(3)]
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frames[0] + frames[1][:-5] + b"\x00" + frames[1][-4:] + frames[2])
    numbers, _, [fault] = read(open_all(path)[0])
    assert numbers == [0, 2]
    assert (fault.row, fault.message) == (1, "the checksum of the record is wrong")
    path.write_bytes(frames[0] + b"\x01" + frames[1][1:] + frames[2])
    report = packlint.check(path, spec=TOY)
    [finding] = [f for f in report.findings if f.code == "SHD001"]
    assert f"record 1 at byte {len(frames[0])}: the checksum of its length is wrong" in finding.message
    assert report.inputs[0].n_packs == 1


def test_a_length_beyond_the_file_takes_no_room(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 60)
    path = tmp_path / "a.tfrecord"
    path.write_bytes(frame(example({"input_ids": [1, 2]})) + length + masked(length) + b"xyz")
    with pytest.raises(UnreadableError, match="more than are left"):
        read(open_all(path)[0])


def test_a_gzip_bomb_stops_at_the_limit(tmp_path: Path) -> None:
    good = frame(example({"input_ids": [1, 2]}))
    length = struct.pack("<Q", FREE_BYTES + 100)
    path = tmp_path / "a.tfrecord.gz"
    path.write_bytes(gzip.compress(good + length + masked(length) + bytes(FREE_BYTES)))
    with pytest.raises(UnreadableError, match="more than"):
        read(open_all(path)[0])


def test_damage(tmp_path: Path) -> None:
    [path] = small_file(tmp_path)
    survives_damage([path], lambda: TFRecordReader().open(Source(str(path)), "a", Settings()), n_flips=400)


def test_damage_behind_right_checksums(tmp_path: Path) -> None:
    record = example({"input_ids": [1, 300, 2], "x": [1.5], "y": [b"z"]}, packed=False)
    chance, path = random.Random(0), tmp_path / "a.tfrecord"
    good = frame(example({"input_ids": [1, 300, 2]}))
    for _ in range(500):
        damaged = bytearray(record)
        damaged[chance.randrange(len(record))] = chance.randrange(256)
        path.write_bytes(good + frame(bytes(damaged)))
        numbers, _, faults = read(open_all(path)[0])
        assert len(numbers) + len(faults) == 2


def test_gzip_that_is_cut_off_keeps_what_came_before(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [{"input_ids": rng.integers(0, 70_000, 400).tolist()} for _ in range(300)]
    path = write(tmp_path / "a.tfrecord", rows)
    path.write_bytes(gzip.compress(path.read_bytes())[:-2000])
    report = packlint.check(path, spec=TOY)
    assert any("gzip data damaged" in f.message for f in report.findings if f.code == "SHD001")
    assert 150 < (report.inputs[0].n_packs or 0) < 300


# --- ArrayRecord ---


def write_array_record(path: Path, records: Sequence[bytes]) -> Path:
    module = pytest.importorskip("array_record.python.array_record_module")
    writer = module.ArrayRecordWriter(str(path), "group_size:1")
    for record in records:
        writer.write(record)
    writer.close()
    return path


def grain_records() -> list[bytes]:
    with GRAIN.open("rb") as stream:
        [block] = read_records(stream, GRAIN.stat().st_size, 1 << 20)
    return [block.data[a : a + n] for a, n in zip(block.starts, block.lengths, strict=True)]


def test_array_record_and_tfrecord_give_the_same_batch(tmp_path: Path) -> None:
    path = write_array_record(tmp_path / "toy.array_record", grain_records())
    assert ArrayRecordReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    assert_equal(*batches(path), *batches(GRAIN))
    assert counts(path) == [(9, 24, 576, 76, 500, 0)]
    [entry] = entries(path)
    assert (entry.format, entry.trainer) == ("array_record", "grain")


def test_damage_to_array_record(tmp_path: Path) -> None:
    path = write_array_record(tmp_path / "a.array_record", grain_records()[:2])
    whole = path.read_bytes()
    places = [i for i, byte in enumerate(whole) if byte]
    chance = random.Random(0)
    for number in range(300):
        damaged = bytearray(whole)
        damaged[chance.choice(places)] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged if number % 4 else damaged[: chance.randrange(len(damaged))])
        with contextlib.suppress(UnreadableError):
            for shard in ArrayRecordReader().open(Source(str(path)), "a", Settings()):
                assert {fault.code for fault in read(shard)[2]} <= {"SHD001"}


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.array_record"
    path.write_bytes(bytes.fromhex("83af70d10d884a3f") + bytes(1 << 16))
    monkeypatch.setitem(__import__("sys").modules, "array_record.python.array_record_module", None)
    with pytest.raises(UnreadableError, match=r"packlint\[array-record\]"):
        ArrayRecordReader().open(Source(str(path)), "a", Settings())
