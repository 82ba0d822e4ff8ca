"""datatrove `.ds`: a sample by its own writer, a writer of our own, sidecars that disagree, and damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.model.batch import Unit
from packlint.readers.datatrove import DatatroveReader
from packlint.readers.discover import open_shards
from packlint.readers.shard import Role, Settings
from packlint.readers.source import Source
from tests.readers.stream_checks import (
    SAMPLES,
    Lists,
    chained,
    open_one,
    read,
    reference,
    survives_damage,
    tokens_of,
    windows,
)

READER = DatatroveReader()


def write(path: Path, documents: Lists, n_token_bytes: int = 2, loss: list[int] | None = None) -> Path:
    """Write what `TokenizedFile` writes, and return the `.ds`."""
    tokens = chained(documents)
    path.write_bytes(np.array(tokens, f"<u{n_token_bytes}").tobytes())
    ends = np.cumsum([len(document) for document in documents], dtype=np.int64)
    Path(f"{path}.index").write_bytes(ends.astype("<u8").tobytes())
    Path(f"{path}.metadata").write_text(f"gpt2|{n_token_bytes}\n{len(tokens)}\n{len(tokens)} T")
    if loss is not None:
        Path(f"{path}.loss").write_bytes(np.array(loss, bool).tobytes())
    return path


def small_file(folder: Path) -> list[Path]:
    path = write(folder / "toy.ds", [[5, 6, 2], [7, 2], [], [8, 9, 10, 2]], loss=[1, 0, 1] * 3)
    return [path, *(Path(f"{path}{suffix}") for suffix in (".index", ".metadata", ".loss"))]


def test_sample() -> None:
    path = SAMPLES / "datatrove_ds" / "toy_00000_unshuffled.ds"
    shard = open_one(READER, path)
    assert tokens_of(shard) == reference()
    assert shard.layout.trainer == "nanotron"
    assert shard.n_bytes == sum(f.stat().st_size for f in path.parent.glob("*.ds*"))


def test_sidecars_are_no_shards_of_their_own(tmp_path: Path) -> None:
    small_file(tmp_path)
    shards, errors = open_shards([str(tmp_path / "*")], Settings())
    assert [shard.name.rsplit("/", 1)[-1] for shard in shards] == ["toy.ds"]
    assert errors == []


@settings(deadline=None)
@given(
    documents=st.lists(st.lists(st.integers(0, 60000), max_size=6), max_size=8),
    n_token_bytes=st.sampled_from([2, 4]),
    window=st.none() | st.integers(1, 7),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory, documents: Lists, n_token_bytes: int, window: int | None
) -> None:
    path = write(tmp_path_factory.mktemp("set") / "toy.ds", documents, n_token_bytes)
    shard = open_one(READER, path, Settings(max_seq_len=window))
    numbers, columns, faults = read(shard)
    rows, starts = windows(documents, window + 1) if window else (documents, [[0]] * len(documents))
    assert shard.layout.unit is (Unit.PACK if window else Unit.DOCUMENT)
    assert (numbers, faults) == (list(range(len(rows))), [])
    assert columns.get(Role.INPUT_IDS, []) == rows
    assert columns.get(Role.DOCUMENT_STARTS, []) == starts
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == f"uint{8 * n_token_bytes}"


def test_loss_is_read(tmp_path: Path) -> None:
    shard = open_one(READER, small_file(tmp_path)[0])
    assert read(shard)[1][Role.LOSS_MASK] == [[1, 0, 1], [1, 0], [], [1, 1, 0, 1]]


@pytest.mark.parametrize("n_token_bytes", [2, 4])
def test_without_metadata_the_index_tells_the_type(tmp_path: Path, n_token_bytes: int) -> None:
    path = write(tmp_path / "toy.ds", [[1, 2], [3]], n_token_bytes)
    Path(f"{path}.metadata").unlink()
    assert tokens_of(open_one(READER, path)) == [[1, 2], [3]]


def test_nothing_is_guessed(tmp_path: Path) -> None:
    path = write(tmp_path / "toy.ds", [[1, 2], [3]])
    Path(f"{path}.metadata").unlink()
    Path(f"{path}.index").write_bytes((5).to_bytes(8, "little"))
    with pytest.raises(UnreadableError, match=r"\[spec\] token_dtype"):
        open_one(READER, path)
    _, columns, faults = read(open_one(READER, path, Settings(token_dtype="uint16")))
    assert columns[Role.INPUT_IDS] == [[1, 2, 3]]
    assert [fault.code for fault in faults] == ["SHD006"]
    Path(f"{path}.metadata").write_text("gpt2|3\n3\n3 T")
    with pytest.raises(UnreadableError, match="3 bytes per token"):
        open_one(READER, path)


def test_without_index_documents_are_for_the_scan(tmp_path: Path) -> None:
    path = write(tmp_path / "toy.ds", [[5, 2], [6, 2]])
    Path(f"{path}.index").unlink()
    shard = open_one(READER, path, Settings(eos_ids=(2,)))
    assert tokens_of(shard) == [[5, 2, 6, 2]]
    assert Role.DOCUMENT_STARTS not in shard.layout.columns


@pytest.mark.parametrize(
    ("suffix", "content", "code", "message"),
    [
        (".metadata", b"gpt2|2\n10\n10 T", "MAN003", "declares 10 tokens, the file holds 9"),
        (".metadata", b"gpt2", "SHD001", "not as datatrove writes it"),
        (".index", np.array([3, 5], "<u8").tobytes(), "SHD006", "ends at token 5, but there are 9"),
        (".index", np.array([3, 11], "<u8").tobytes(), "SHD006", "ends at token 11, but there are 9"),
        (".index", np.array([5, 3, 9], "<u8").tobytes(), "SHD001", "entry 1 is 3, less than the 5"),
        (".index", np.array([3, 9], "<u8").tobytes() + b"\0", "SHD001", "no multiple of 8"),
        (".loss", b"\1" * 8, "SHD006", "has 8 values for 9 tokens"),
        ("", bytes(19), "SHD001", "1 bytes after the last whole token"),
    ],
)
def test_sidecars_that_disagree(tmp_path: Path, suffix: str, content: bytes, code: str, message: str) -> None:
    path = small_file(tmp_path)[0]
    Path(f"{path}{suffix}").write_bytes(content)
    _, columns, [fault] = read(open_one(READER, path))
    assert len(chained(columns[Role.INPUT_IDS])) == 9
    assert fault.code == code
    assert message in fault.message


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    survives_damage(files, lambda: READER.open(Source(str(files[0])), "toy.ds", Settings()), n_flips=250)
