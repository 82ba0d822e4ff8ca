"""MDS directories: samples, a writer, every encoding, compression, an index that lies, and damage."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import packlint
from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.readers.discover import open_shards
from packlint.readers.mds import MdsReader
from packlint.readers.mds.raw_bytes import infer_dtype
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source
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

Samples = Sequence[Mapping[str, Any]]
CODES = {"uint8": 8, "uint16": 16, "uint32": 32, "int32": 33, "int64": 65, "float32": 34}
SUFFIXES = {"zstd": "zstd", "gz": "gz", "bz2": "bz2", "br": "br", "snappy": "snappy"}


def encode(encoding: str, value: Any) -> bytes:
    """Return a value as MDSWriter stores it."""
    if encoding == "str":
        return str(value).encode()
    if encoding == "int":
        return bytes(np.int64(value).tobytes())
    if encoding in CODES:
        return bytes(np.dtype(encoding).type(value).tobytes())
    if encoding in ("bytes", "pkl", "json"):
        return bytes(value)
    _, dtype, shape = (*encoding.split(":"), "", "")[:3]
    array = np.asarray(value, dtype or np.asarray(value).dtype)
    head = b"" if dtype else bytes([CODES[array.dtype.name]])
    if not (dtype and shape):
        width = next(k for k in range(4) if max(array.shape) < 1 << (8 << k))
        head += bytes([array.ndim << 2 | width]) + np.array(array.shape, f"<u{1 << width}").tobytes()
    return head + array.tobytes()


def size_of(encoding: str) -> int | None:
    if encoding == "int":
        return 8
    if encoding in CODES:
        return np.dtype(encoding).itemsize
    parts = encoding.split(":")
    if len(parts) == 3:
        return int(np.prod([int(n) for n in parts[2].split(",")])) * np.dtype(parts[1]).itemsize
    return None


def encode_shard(columns: Mapping[str, str], samples: Samples, compression: str | None) -> bytes:
    names = sorted(columns)
    config = {
        "column_encodings": [columns[name] for name in names],
        "column_names": names,
        "column_sizes": [size_of(columns[name]) for name in names],
        "compression": compression,
        "format": "mds",
        "hashes": [],
        "size_limit": 1 << 26,
        "version": 2,
    }
    text = json.dumps(config, sort_keys=True).encode()
    encoded = []
    for sample in samples:
        values = [encode(columns[name], sample[name]) for name in names]
        sizes = [len(v) for v, name in zip(values, names, strict=True) if size_of(columns[name]) is None]
        encoded.append(np.array(sizes, "<u4").tobytes() + b"".join(values))
    offsets = np.cumsum([4 + 4 * (len(samples) + 1) + len(text), *map(len, encoded)])
    head = np.array(len(samples), "<u4").tobytes() + offsets.astype("<u4").tobytes()
    return head + text + b"".join(encoded)


def compress(data: bytes, how: str) -> bytes:
    if how == "gz":
        return gzip.compress(data)
    if how == "bz2":
        return bz2.compress(data)
    codec: Any = {"zstd": "zstd", "br": "brotli", "snappy": "snappy"}[how]
    return bytes(pa.Codec(codec).compress(data, asbytes=True))


def write(
    folder: Path,
    columns: Mapping[str, str],
    shards: Sequence[Samples],
    compression: str | None = None,
    hashes: Sequence[str] = (),
) -> Path:
    """Write what `MDSWriter` writes, and return the `index.json`."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for number, samples in enumerate(shards):
        raw = encode_shard(columns, samples, compression)
        claim = {"basename": f"shard.{number:05}.mds", "bytes": len(raw), "hashes": digests(raw, hashes)}
        packed = None
        content, name = raw, claim["basename"]
        if compression is not None:
            content, name = compress(raw, compression), f"{name}.{compression}"
            packed = {"basename": name, "bytes": len(content), "hashes": digests(content, hashes)}
        (folder / str(name)).write_bytes(content)
        names = sorted(columns)
        listed.append(
            {
                "column_encodings": [columns[n] for n in names],
                "column_names": names,
                "column_sizes": [size_of(columns[n]) for n in names],
                "compression": compression,
                "format": "mds",
                "hashes": list(hashes),
                "raw_data": claim,
                "samples": len(samples),
                "size_limit": 1 << 26,
                "version": 2,
                "zip_data": packed,
            }
        )
    index = folder / "index.json"
    index.write_text(json.dumps({"shards": listed, "version": 2}, sort_keys=True))
    return index


def digests(data: bytes, names: Sequence[str]) -> dict[str, str]:
    known = [name for name in names if name in hashlib.algorithms_available]
    return {name: hashlib.new(name, data).hexdigest() for name in known} | {
        name: "0" * 16 for name in names if name not in known
    }


def small_file(folder: Path) -> list[Path]:
    """Write a small valid input of the format."""
    samples = [{"tokens": [1, 2, 3]}, {"tokens": [4, 5, 2]}]
    index = write(folder, {"tokens": "ndarray:int32"}, [samples])
    return [index, folder / "shard.00000.mds"]


def open_all(path: Path, **settings: Any) -> list[Shard]:
    assert MdsReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    return list(MdsReader().open(Source(str(path)), path.name, Settings(**settings)))


# --- samples ---


@pytest.mark.parametrize(
    ("sample", "trainer", "expected"),
    [
        ("mds_concat_tokens", "llm-foundry", (7, 27, 448, 0, 448, 0)),
        ("mds_tokens_bytes_int64", "llm-foundry", (7, 27, 448, 0, 448, 0)),
        ("mds_prolong_indices", "prolong", (7, 24, 798, 0, 313, 0)),
        ("mds_sft_input_ids_labels", "llm-foundry-finetuning", (24, 24, 798, 0, 313, 0)),
    ],
)
def test_sample_counts(sample: str, trainer: str, expected: tuple[int, ...]) -> None:
    [entry] = entries(SAMPLES / sample)
    assert (entry.format, entry.trainer) == ("mds", trainer)
    assert entry.path.startswith(f"{sample}/")
    assert counts(SAMPLES / sample) == [expected]


@pytest.mark.parametrize("sample", ["mds_prolong_indices", "mds_sft_input_ids_labels"])
def test_samples_hold_the_reference_whole(sample: str) -> None:
    [batch] = batches(SAMPLES / sample)
    assert sorted(segments(batch)) == sorted(reference("sft"))


def test_the_stream_is_that_of_the_reference() -> None:
    stream = [token for document in reference("docs") for token in document]
    for sample in ("mds_concat_tokens", "mds_tokens_bytes_int64"):
        [batch] = batches(SAMPLES / sample)
        assert batch.tokens.tolist() == stream[:448]


def test_bytes_and_arrays_give_the_same_batch() -> None:
    [as_bytes] = batches(SAMPLES / "mds_tokens_bytes_int64")
    [as_array] = batches(SAMPLES / "mds_concat_tokens")
    assert_equal(as_bytes, as_array)


def test_what_was_inferred_is_said() -> None:
    [entry] = entries(SAMPLES / "mds_tokens_bytes_int64")
    assert any("inferred: only as int64" in line for line in entry.evidence)
    assert not any("inferred" in line for line in entries(SAMPLES / "mds_concat_tokens")[0].evidence)


# --- reader(writer(x)) = x ---

_encodings = st.sampled_from(
    ["ndarray:int32", "ndarray:uint16", "ndarray:int64", "ndarray", "ndarray:uint32"]
)


@given(
    rows=st.lists(st.lists(st.integers(0, 60_000), min_size=1, max_size=300), min_size=1, max_size=5),
    encoding=_encodings,
    compression=st.sampled_from([None, *SUFFIXES]),
    block=st.integers(1, 20),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, rows: Lists, encoding: str, compression: str | None, block: int
) -> None:
    columns = {"input_ids": encoding, "labels": "ndarray:int32", "name": "str", "id": "int", "n": "uint8"}
    samples = [
        {"input_ids": r, "labels": r, "name": "x" * len(r), "id": i, "n": 7} for i, r in enumerate(rows)
    ]
    index = write(tmp_path_factory.mktemp("x"), columns, [samples[:2], samples[2:]], compression)
    shards = open_all(index)
    found: Lists = []
    for shard in shards:
        assert shard.layout.unit is Unit.SAMPLE
        _, found_columns, faults = read(shard, block)
        assert faults == []
        found += found_columns.get(Role.INPUT_IDS, [])
        assert found_columns.get(Role.LABELS) == found_columns.get(Role.INPUT_IDS)
    assert found == rows
    assert [i for shard in shards for [i] in read(shard)[1].get(Role.SAMPLE_IDS, [])] == list(
        range(len(rows))
    )


def test_fixed_shapes_and_indices(tmp_path: Path) -> None:
    columns = {"input_ids": "ndarray:uint32:6", "indices": "ndarray:uint32:2,2", "mask": "ndarray:uint8"}
    sample = {"input_ids": [1, 5, 2, 1, 6, 2], "indices": [[0, 3], [3, 6]], "mask": [0, 1, 1, 0, 1, 1]}
    [shard] = open_all(write(tmp_path, columns, [[sample]]))
    _, found, faults = read(shard)
    assert faults == []
    assert found[Role.CU_SEQLENS] == [[0, 3, 6]]
    assert found[Role.LOSS_MASK] == [sample["mask"]]
    assert shard.layout.trainer == "prolong"


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, 3], [4, 6]], "indices[1] begins at 4, the one before ends at 3"),
        ([[0, 4], [3, 6]], "indices[1] begins at 3, the one before ends at 4"),
    ],
)
def test_indices_that_do_not_adjoin(tmp_path: Path, indices: Lists, message: str) -> None:
    columns = {"input_ids": "ndarray:uint32", "indices": "ndarray:uint32"}
    sample = {"input_ids": [1, 5, 2, 1, 6, 2], "indices": indices}
    good = {**sample, "indices": [[0, 6]]}
    [shard] = open_all(write(tmp_path, columns, [[good, sample]]))
    numbers, _, [fault] = read(shard)
    assert numbers == [0]
    assert (fault.code, fault.row) == ("SHD001", 1)
    assert message in fault.message


# --- bytes without a type ---


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16"])
def test_the_type_of_bytes_is_inferred_where_it_is_plain(tmp_path: Path, dtype: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 50_000, (4, 32)).astype(dtype)
    index = write(tmp_path, {"tokens": "bytes"}, [[{"tokens": row.tobytes()} for row in rows]])
    [shard] = open_all(index)
    assert read(shard)[1][Role.INPUT_IDS] == rows.tolist()
    assert shard.spec.token_dtype is not None
    assert (shard.spec.token_dtype.value, shard.spec.token_dtype.origin) == (dtype, "detected")


@pytest.mark.parametrize("content", [b"", bytes(64), b"\xff" * 64, np.arange(3).tobytes(), b"abc" * 5])
def test_the_type_of_bytes_is_not_guessed(tmp_path: Path, content: bytes) -> None:
    index = write(tmp_path, {"tokens": "bytes"}, [[{"tokens": content}]])
    with pytest.raises(UnreadableError, match=r'give \[spec\] token_dtype, for instance "int64"'):
        open_all(index)
    assert infer_dtype([content]) is None


def test_the_type_of_bytes_can_be_told(tmp_path: Path) -> None:
    ids = np.array([1, 2, 3], np.uint16)
    index = write(tmp_path, {"tokens": "bytes"}, [[{"tokens": ids.tobytes()}, {"tokens": b"odd"}]])
    [shard] = open_all(index, token_dtype="uint16")
    _, columns, [fault] = read(shard)
    assert columns[Role.INPUT_IDS] == [[1, 2, 3]]
    assert fault.row == 1
    assert "bytes has 3 bytes" in fault.message
    with pytest.raises(UnreadableError, match="token_dtype"):
        open_all(index, token_dtype="complex64")


# --- what is never decoded ---


@pytest.mark.parametrize("encoding", ["pkl", "json"])
def test_pickles_are_refused_by_name(tmp_path: Path, encoding: str) -> None:
    trace = tmp_path / "trace"
    hostile = f"cposix\nsystem\n(S'touch {trace}'\ntR.".encode()
    index = write(tmp_path / "d", {"tokens": encoding}, [[{"tokens": hostile}]])
    with pytest.raises(UnreadableError, match=f"column tokens is stored as {encoding}"):
        open_all(index)
    mixed = write(
        tmp_path / "e", {"tokens": "ndarray:int32", "x": encoding}, [[{"tokens": [1], "x": hostile}]]
    )
    assert read(open_all(mixed)[0])[1][Role.INPUT_IDS] == [[1]]
    assert not trace.exists()


# --- finding the shards ---


def test_a_folder_an_index_and_a_shard_give_the_same(tmp_path: Path) -> None:
    samples = [{"tokens": [1, 2, 3]}]
    index = write(tmp_path / "set", {"tokens": "ndarray:int32"}, [samples, samples], "gz")
    names = [
        [shard.name.rpartition("/")[2] for shard in open_shards([str(path)], Settings())[0]]
        for path in (tmp_path / "set", index, tmp_path / "set" / "shard.00001.mds.gz")
    ]
    assert names == [["shard.00000.mds", "shard.00001.mds"]] * 2 + [["shard.00001.mds"]]


def test_merged_indices_count_once(tmp_path: Path) -> None:
    merged = []
    for part in ("a", "b"):
        index = write(tmp_path / part, {"tokens": "ndarray:int32"}, [[{"tokens": [1, 2, 3]}]])
        [shard] = json.loads(index.read_text())["shards"]
        shard["raw_data"]["basename"] = f"{part}/{shard['raw_data']['basename']}"
        merged.append(shard)
    (tmp_path / "index.json").write_text(json.dumps({"shards": merged, "version": 2}))
    for path in (tmp_path, tmp_path / "index.json"):
        shards, errors = open_shards([str(path)], Settings())
        assert errors == []
        assert [shard.name[-17:] for shard in shards] == ["a/shard.00000.mds", "b/shard.00000.mds"]
        assert [read(shard)[1][Role.INPUT_IDS] for shard in shards] == [[[1, 2, 3]]] * 2


def test_a_lone_shard_is_read_by_its_own_configuration(tmp_path: Path) -> None:
    index, shard_path = small_file(tmp_path)
    index.unlink()
    [shard] = open_all(shard_path)
    assert read(shard) == ([0, 1], {Role.INPUT_IDS: [[1, 2, 3], [4, 5, 2]]}, [])
    (tmp_path / "index.json").write_text('{"shards": [], "version": 2}')
    assert open_all(shard_path)[0].name == shard_path.name


def test_a_shard_that_the_index_does_not_list(tmp_path: Path) -> None:
    _, shard_path = small_file(tmp_path)
    stale = tmp_path / "shard.00009.mds"
    stale.write_bytes(shard_path.read_bytes())
    [shard] = open_all(stale)
    [fault] = read(shard)[2]
    assert fault.code == "SHD006"
    assert "does not list it" in fault.message


# --- an index that lies ---


def changed(index: Path, **changes: Any) -> list[Any]:
    table = json.loads(index.read_text())
    for path, value in changes.items():
        *keys, last = path.split("__")
        target = table["shards"][0]
        for key in keys:
            target = target[key]
        target[last] = value
    index.write_text(json.dumps(table))
    return read(open_all(index)[0])[2]


def test_what_the_index_says_is_checked(tmp_path: Path) -> None:
    index = small_file(tmp_path)[0]
    [fault] = changed(index, samples=5)
    assert (fault.code, fault.message) == ("MAN003", "the shard holds 2 samples, the index says 5")
    [fault] = changed(index, samples=2, raw_data__bytes=7)
    assert fault.code == "SHD006"
    assert "shard.00000.mds has" in fault.message


def test_a_missing_shard_leaves_the_others(tmp_path: Path) -> None:
    samples = [{"tokens": [1, 2, 3]}]
    write(tmp_path, {"tokens": "ndarray:int32"}, [samples, samples], "zstd")
    (tmp_path / "shard.00001.mds.zstd").unlink()
    first, second = open_shards([str(tmp_path)], Settings())[0]
    assert read(first)[2] == []
    [fault] = read(second)[2]
    assert fault.code == "SHD006"
    assert fault.message == "shard.00001.mds.zstd is missing, the index says that it holds 1 samples"
    report = packlint.check(tmp_path, spec=TOY)
    assert [e.n_packs for e in report.inputs] == [1, 0]


def test_hashes(tmp_path: Path) -> None:
    names = ["sha1", "md5", "xxh64", "shake_128"]
    columns, samples = {"tokens": "ndarray:int32"}, [{"tokens": [1, 2, 3]}]
    index = write(tmp_path / "plain", columns, [samples], None, ["sha1", "md5", "xxh64"])
    assert read(open_all(index)[0])[2] == []
    [fault] = changed(index, raw_data__hashes={**dict.fromkeys(names, "00")}, samples=1)[:1]
    assert fault.code == "MAN003"
    assert "sha1 of shard.00000.mds is" in fault.message
    index = write(tmp_path / "packed", columns, [samples], "zstd", ["sha1"])
    assert read(open_all(index)[0])[2] == []
    [fault] = changed(index, zip_data__hashes={"sha1": "00"})
    assert fault.code == "MAN003"


def test_content_that_is_larger_than_the_index_says(tmp_path: Path) -> None:
    index = write(tmp_path, {"tokens": "ndarray:int32"}, [[{"tokens": [1, 2, 3]}]], "gz")
    [fault] = changed(index, raw_data__bytes=3)
    assert fault.code == "SHD006"
    assert "the index says 3" in fault.message


@pytest.mark.parametrize("how", SUFFIXES)
def test_bombs(tmp_path: Path, how: str) -> None:
    index = write(tmp_path, {"tokens": "ndarray:int32"}, [[{"tokens": [1, 2, 3]}]], how)
    packed = tmp_path / f"shard.00000.mds.{how}"
    if how == "snappy":
        packed.write_bytes(b"\xff\xff\xff\xff\x0f" + packed.read_bytes()[2:])
    else:
        packed.write_bytes(compress(bytes(1 << 27), how))
    with pytest.raises(UnreadableError, match="limit here"):
        changed(index, zip_data__bytes=packed.stat().st_size)


@pytest.mark.parametrize(
    "name", ["../x.mds", "/etc/passwd", "a/../../x", "", "C:\\..\\x", "s3://b/x", "a\0b", 7, None]
)
def test_names_that_lead_elsewhere(tmp_path: Path, name: object) -> None:
    index = small_file(tmp_path)[0]
    with pytest.raises(UnreadableError):
        changed(index, raw_data__basename=name)


@pytest.mark.parametrize(
    "text",
    [
        '{"shards": 3, "version": 2, "mds": 1}',
        '{"shards": [3], "version": 2, "mds": 1}',
        '{"shards": [{"format": "mds"}], "version": 2}',
        '{"shards": [{"format": "csv"}], "version": 2, "x": "mds"}',
        '{"shards": [], "version": 1, "x": "mds"}',
        '{"shards": [], "version": 2, "x": "mds"}',
        '{"shards": [' + "[" * 100_000 + ', "mds"',
    ],
)
def test_damaged_indices(tmp_path: Path, text: str) -> None:
    path = tmp_path / "index.json"
    path.write_text(text.replace('{"shards"', '{"mds": "mds", "shards"'))
    with pytest.raises(UnreadableError):
        open_all(path)


# --- damage ---


@pytest.mark.parametrize("compression", [None, "zstd", "snappy"])
def test_damage(tmp_path: Path, compression: str | None) -> None:
    columns = {"input_ids": "ndarray", "indices": "ndarray:uint32", "id": "int"}
    samples = [{"input_ids": [1, 5, 2], "indices": [[0, 2], [2, 3]], "id": 7}] * 3
    index = write(tmp_path, columns, [samples], compression)
    [shard] = [path for path in tmp_path.iterdir() if path != index]
    survives_damage(
        [shard], lambda: MdsReader().open(Source(str(index)), "index.json", Settings()), n_flips=500
    )


def test_damage_to_the_index_and_to_a_lone_shard(tmp_path: Path) -> None:
    index, shard = small_file(tmp_path)
    survives_damage(
        [index], lambda: MdsReader().open(Source(str(index)), "index.json", Settings()), n_flips=500
    )
    index.unlink()

    def open_lone() -> Sequence[Shard]:
        head = shard.read_bytes()[:4096]
        return (
            MdsReader().open(Source(str(shard)), "x", Settings())
            if MdsReader().sniff(Source(str(shard)), head)
            else ()
        )

    survives_damage([shard], open_lone, n_flips=500)


def test_offsets_that_would_cost_quadratic_time(tmp_path: Path) -> None:
    samples = [{"tokens": [1, 2, 3]}] * 50
    index = write(tmp_path, {"tokens": "ndarray:int32"}, [samples])
    shard = tmp_path / "shard.00000.mds"
    data = bytearray(shard.read_bytes())
    n_bytes = len(data)
    for i in range(2, 50, 2):
        data[4 + 4 * i : 8 + 4 * i] = n_bytes.to_bytes(4, "little")
    shard.write_bytes(data)
    with pytest.raises(UnreadableError, match="offsets of the samples fall"):
        read(open_all(index)[0])
