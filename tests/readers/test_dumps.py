"""Dumped batches: `.npz`, `.safetensors` and `.pt`; samples, writers, claims too large, and damage."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import packlint
from packlint.errors import UnreadableError
from packlint.readers.dumps import NpzReader, SafetensorsReader, TorchReader
from packlint.readers.memory import open_memory
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source
from tests.readers.file_checks import (
    SAMPLES,
    TOY,
    assert_equal,
    batches,
    counts,
    entries,
    read,
    reference,
    segments,
    survives_damage,
)

BATCH: dict[str, NDArray[Any]] = {
    "input_ids": np.array([[1, 11, 2, 1, 12, 2], [1, 13, 14, 15, 2, 0]], np.int32),
    "labels": np.array([[-100, 11, 2, -100, 12, 2], [-100, 13, 14, 15, 2, -100]]),
    "attention_mask": np.array([[1, 1, 1, 2, 2, 2], [1, 1, 1, 1, 1, 0]], np.uint8),
}


def write_safetensors(path: Path, arrays: Mapping[str, NDArray[Any]], **metadata: str) -> Path:
    """Write what `safetensors.numpy.save_file` writes."""
    codes = {"int32": "I32", "int64": "I64", "uint8": "U8", "bool": "BOOL", "float32": "F32", "uint16": "U16"}
    header: dict[str, Any] = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": codes[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def small_file(folder: Path) -> list[Path]:
    """Write a small valid input of each format."""
    np.savez(folder / "a.npz", **BATCH)  # type: ignore[arg-type]  # numpy's stub wants allow_pickle here
    return [folder / "a.npz", write_safetensors(folder / "a.safetensors", BATCH)]


def open_npz(path: Path) -> list[Shard]:
    assert NpzReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    assert not TorchReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    return list(NpzReader().open(Source(str(path)), path.name, Settings()))


# --- samples ---


@pytest.mark.parametrize(
    ("path", "settings", "expected"),
    [
        ("grain_first_fit/rows.npz", {}, [("grain", (9, 24, 576, 76, 500, 0))]),
        (
            "olmo_core_packed_rows/rows.npz",
            {"spec": {**TOY, "pad_id": 0}},
            [("olmo-core", (7, 24, 896, 98, 313, 0))],
        ),
        ("hf_flattening_batch", {}, [("transformers-flattening", (1, 4, 150, 0, 69, 0))]),
        ("trl_padding_free_batch", {}, [("transformers-flattening", (1, 9, 350, 0, 168, 0))]),
        ("maxtext_batch", {}, [("maxtext", (9, 24, 576, 76, 491, 0))]),
        ("axolotl_multipack_batch/v1.npz", {"trainer": "axolotl"}, [("axolotl", (2, 5, 256, 73, 78, 0))]),
        ("axolotl_multipack_batch/v2.npz", {"trainer": "axolotl"}, [("axolotl", (2, 5, 256, 73, 78, 0))]),
        (
            "megatron_gptdataset_rows",
            {},
            [("megatron", (15, 15, 480, 0, 465, 15)), ("megatron", (15, 38, 480, 0, 442, 15))],
        ),
        (
            "seqio_packed_tfrecord/rows.npz",
            {},
            [("seqio-inputs", (9, 24, 576, 91, 0, 0)), ("seqio", (9, 24, 576, 263, 313, 0))],
        ),
    ],
)
def test_sample_counts(path: str, settings: dict[str, Any], expected: list[Any]) -> None:
    found = entries(SAMPLES / path, **settings)
    assert [e.trainer for e in found] == [trainer for trainer, _ in expected]
    assert counts(SAMPLES / path, **settings) == [of for _, of in expected]
    assert {e.format for e in found} == {"npz"}


@pytest.mark.parametrize(
    ("path", "kind"), [("grain_first_fit/rows.npz", "docs"), ("olmo_core_packed_rows/rows.npz", "sft")]
)
def test_samples_hold_the_reference_whole(path: str, kind: str) -> None:
    [batch] = batches(SAMPLES / path, spec={**TOY, "pad_id": 0})
    assert sorted(segments(batch)) == sorted(reference(kind))


def test_encoder_and_decoder_hold_prompts_and_completions() -> None:
    encoder, decoder = batches(SAMPLES / "seqio_packed_tfrecord" / "rows.npz")
    assert sorted(segments(encoder)) == sorted(reference("sft", "prompt_ids"))
    assert sorted(segments(decoder)) == sorted(reference("sft", "completion_ids"))


def test_prefixes_become_names() -> None:
    names = [e.path for e in entries(SAMPLES / "megatron_gptdataset_rows")]
    assert [name.rpartition("/")[2] for name in names] == ["rows.npz:default", "rows.npz:reset"]


# --- the same batch from every format ---


def test_all_formats_give_the_same_batch(tmp_path: Path) -> None:
    npz, safetensors = small_file(tmp_path)
    np.savez_compressed(tmp_path / "b.npz", **{f"x.{k}": v for k, v in BATCH.items()})  # type: ignore[arg-type]
    assert_equal(*batches(npz), *batches(safetensors))
    assert_equal(*batches(npz), *batches(tmp_path / "b.npz"))
    [memory] = packlint.check(BATCH, spec=TOY).inputs
    [dumped] = entries(npz)
    assert (memory.n_tokens, memory.n_segments, memory.n_targets) == (
        dumped.n_tokens,
        dumped.n_segments,
        dumped.n_targets,
    )


@given(
    n_rows=st.integers(1, 5),
    length=st.integers(1, 6),
    dtype=st.sampled_from(["int32", "int64", "uint16"]),
    order=st.sampled_from("CF"),
    block=st.integers(1, 20),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, n_rows: int, length: int, dtype: str, order: Any, block: int
) -> None:
    folder = tmp_path_factory.mktemp("x")
    ids = np.arange(n_rows * length).reshape(n_rows, length).astype(dtype, order=order)
    mask = (ids % 2).astype(bool)
    np.savez(folder / "a.npz", input_ids=ids, loss_mask=mask)
    write_safetensors(folder / "a.safetensors", {"input_ids": ids, "loss_mask": mask})
    for reader, name in ((NpzReader(), "a.npz"), (SafetensorsReader(), "a.safetensors")):
        [shard] = reader.open(Source(str(folder / name)), name, Settings())
        numbers, columns, faults = read(shard, block)
        assert (numbers, faults) == (list(range(n_rows)), [])
        assert columns[Role.INPUT_IDS] == ids.tolist()
        assert columns[Role.LOSS_MASK] == mask.tolist()


def test_values_are_read_when_rows_are(tmp_path: Path) -> None:
    [shard] = open_npz(small_file(tmp_path)[0])
    (tmp_path / "a.npz").unlink()
    with pytest.raises(UnreadableError, match="cannot be read"):
        read(shard)


def test_arrays_of_objects_are_not_there(tmp_path: Path) -> None:
    ids = np.empty(2, object)
    ids[:] = [[1, 2], [3]]
    np.savez(tmp_path / "a.npz", input_ids=ids)
    with pytest.raises(UnreadableError):
        open_npz(tmp_path / "a.npz")


def test_safetensors_as_its_own_package_writes_it(tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy")
    path = tmp_path / "a.safetensors"
    package.save_file(BATCH, path, metadata={"by": "hand"})
    assert SafetensorsReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    [shard] = SafetensorsReader().open(Source(str(path)), "a", Settings())
    assert read(shard)[1][Role.INPUT_IDS] == BATCH["input_ids"].tolist()


# --- claims ---


def npz_with(path: Path, members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy_bytes(array: NDArray[Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = npy_bytes(np.zeros((1, 1), np.int64)).replace(b"(1, 1)", b"(1, 40000000)", 1)
    path = npz_with(tmp_path / "a.npz", {"input_ids.npy": bomb[:118] + b" " * 10 + bytes(320_000_000)})
    assert path.stat().st_size < 400_000
    with pytest.raises(UnreadableError, match="the limit here is"):
        open_npz(path)


@pytest.mark.parametrize("shape", [b"(9, 9)", b"(2**40, 0)", b"(99999999999, 0)", b"(0, 99999999999)"])
def test_shapes_that_claim_too_much(tmp_path: Path, shape: bytes) -> None:
    content = npy_bytes(np.zeros((3, 3), np.int64)).replace(b"(3, 3)", shape, 1)
    with pytest.raises(UnreadableError):
        open_npz(npz_with(tmp_path / "a.npz", {"input_ids.npy": content}))


def test_odd_archives(tmp_path: Path) -> None:
    good = npy_bytes(BATCH["input_ids"])
    path = npz_with(tmp_path / "a.npz", {"input_ids.npy": good, "notes.txt": b"x"})
    assert len(open_npz(path)) == 1
    with pytest.raises(UnreadableError, match="compressed in a way"):
        open_npz(npz_with(tmp_path / "b.npz", {"input_ids.npy": good}, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("input_ids.npy", good)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("input_ids.npy", good)
    with pytest.raises(UnreadableError, match="same name"):
        open_npz(tmp_path / "c.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": [2, 7]}, "its shape needs 56"),
        ({"data_offsets": [0, 40]}, "its shape needs 48"),
        ({"data_offsets": [8, 56]}, "begins at byte 8"),
        ({"shape": [2, -6]}, "nothing of use"),
        ({"shape": [2.0, 6]}, "nothing of use"),
        ({"dtype": 3}, "nothing of use"),
        ({"data_offsets": [0, 2**60]}, "nothing of use"),
    ],
)
def test_safetensors_headers_that_lie(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    entry = {"dtype": "I32", "shape": [2, 6], "data_offsets": [0, 48], **change}
    text = json.dumps({"input_ids": entry}).encode()
    path = tmp_path / "a.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + BATCH["input_ids"].tobytes())
    with pytest.raises(UnreadableError, match=message):
        SafetensorsReader().open(Source(str(path)), "a", Settings())


# --- damage ---


def test_damage_to_npz(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, input_ids=BATCH["input_ids"])
    survives_damage([path], lambda: NpzReader().open(Source(str(path)), "a", Settings()), n_flips=500)


def test_damage_to_safetensors(tmp_path: Path) -> None:
    path = write_safetensors(tmp_path / "a.safetensors", BATCH)
    survives_damage([path], lambda: SafetensorsReader().open(Source(str(path)), "a", Settings()), n_flips=500)


def test_a_damaged_archive_is_not_passed_over(tmp_path: Path) -> None:
    path = small_file(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-30])
    report = packlint.check(tmp_path)
    [finding] = [f for f in report.findings if f.code == "SHD001"]
    assert finding.shard.endswith("a.npz")


# --- PyTorch ---


def test_without_torch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = npz_with(tmp_path / "a.pt", {"a/data.pkl": b"\x80\x02}.", "a/version": b"3\n"}, zipfile.ZIP_STORED)
    assert TorchReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    assert not NpzReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(UnreadableError, match=r"packlint\[torch\]"):
        TorchReader().open(Source(str(path)), "a", Settings())


def save_torch(path: Path, data: object) -> Path:
    torch = pytest.importorskip("torch")
    torch.save(data, path)
    return path


def tensors() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    return {name: torch.from_numpy(array) for name, array in BATCH.items()}


def test_torch_batches_and_rows(tmp_path: Path) -> None:
    batch = tensors()
    rows = [{name: tensor[i] for name, tensor in batch.items()} for i in range(2)]
    np.savez(tmp_path / "a.npz", **BATCH)  # type: ignore[arg-type]
    [expected] = batches(tmp_path / "a.npz")
    for name, data in (("batch", batch), ("rows", rows), ("named", {f"x.{k}": v for k, v in batch.items()})):
        [found] = batches(save_torch(tmp_path / f"{name}.pt", data))
        assert_equal(found, expected)
    [shard] = TorchReader().open(
        Source(str(save_torch(tmp_path / "t.pt", batch["input_ids"]))), "t", Settings()
    )
    assert read(shard)[1][Role.INPUT_IDS] == BATCH["input_ids"].tolist()


def test_torch_runs_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "trace"

    class Trace:
        def __reduce__(self) -> tuple[Any, ...]:
            return open, (str(trace), "w")

    path = save_torch(tmp_path / "a.pt", {**tensors(), "x": Trace()})
    with pytest.raises(UnreadableError, match="weights_only"):
        TorchReader().open(Source(str(path)), "a", Settings())
    assert not trace.exists()


def test_torch_tensors_that_claim_too_much(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    for tensor in (torch.zeros(1, dtype=torch.int64).expand(1, 2**40), torch.zeros((2**40, 0)).long()):
        path = save_torch(tmp_path / "a.pt", {"input_ids": tensor})
        with pytest.raises(UnreadableError, match="claim"):
            TorchReader().open(Source(str(path)), "a", Settings())


def test_damage_to_torch_files(tmp_path: Path) -> None:
    path = save_torch(tmp_path / "a.pt", {"input_ids": tensors()["input_ids"]})
    survives_damage(
        [path], lambda: TorchReader().open(Source(str(path)), "a", Settings()), n_flips=400, every=7
    )


def test_memory_and_dump_share_their_reading() -> None:
    [shard] = open_memory(BATCH, "memory", Settings())
    assert read(shard)[1][Role.INPUT_IDS] == BATCH["input_ids"].tolist()
