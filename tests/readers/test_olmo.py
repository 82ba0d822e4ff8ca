"""Raw `.npy` tokens with a table of documents: a sample, a writer, tables that lie, and damage."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packlint.errors import UnreadableError
from packlint.readers.discover import open_shards
from packlint.readers.olmo import OlmoReader
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

READER = OlmoReader()


def write(
    folder: Path,
    documents: Lists,
    dtype: str = "<u2",
    *,
    mask: list[int] | None = None,
    more: str = "",
    head: str = "",
) -> Path:
    """Write what dolma or open-instruct writes, and return the file of tokens."""
    path = folder / "token_ids_part_0000.npy"
    path.write_bytes(np.array(chained(documents), dtype).tobytes())
    ends = np.cumsum([0, *map(len, documents)]).tolist()
    lines = [f"{a},{b}{more}\n" for a, b in pairwise(ends)]
    path.with_suffix(".csv.gz").write_bytes(gzip.compress((head + "".join(lines)).encode()))
    if mask is not None:
        (folder / "labels_mask_part_0000.npy").write_bytes(np.array(mask, bool).tobytes())
    return path


def small_file(folder: Path) -> list[Path]:
    path = write(folder, [[5, 6, 2], [7, 2], [8, 9, 2]], mask=[0, 1, 1, 1, 1, 0, 0, 1])
    return [path, path.with_suffix(".csv.gz"), folder / "labels_mask_part_0000.npy"]


def test_sample() -> None:
    folder = SAMPLES / "olmo_core_sft_numpy"
    shard = open_one(READER, folder / "token_ids_part_0000.npy")
    _, columns, faults = read(shard)
    assert columns[Role.INPUT_IDS] == reference("sft")
    assert sum(chained(columns[Role.LOSS_MASK])) == 313
    assert faults == []
    assert shard.layout.trainer == "olmo-core"
    assert any("the .csv.gz ends at token 798, and 798 * 2 bytes" in line for line in shard.layout.evidence)
    assert shard.n_bytes == sum(f.stat().st_size for f in folder.glob("*part*"))


def test_sidecars_are_no_shards_of_their_own(tmp_path: Path) -> None:
    small_file(tmp_path)
    shards, errors = open_shards([str(tmp_path / "*")], Settings())
    assert [shard.name.rsplit("/", 1)[-1] for shard in shards] == ["token_ids_part_0000.npy"]
    assert errors == []


@settings(deadline=None)
@given(
    documents=st.lists(st.lists(st.integers(0, 200), min_size=1, max_size=6), min_size=1, max_size=8),
    dtype=st.sampled_from(["<u1", "<u2", "<u4", "<u8"]),
    window=st.none() | st.integers(1, 7),
    more=st.sampled_from(["", ',"a,b",src,3']),
    head=st.sampled_from(["", "start,end\n"]),
)
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    documents: Lists,
    dtype: str,
    window: int | None,
    more: str,
    head: str,
) -> None:
    if more and head:
        head = "start,end,id,src,loc\n"
    path = write(tmp_path_factory.mktemp("set"), documents, dtype, more=more, head=head)
    shard = open_one(READER, path, Settings(max_seq_len=window))
    _, columns, faults = read(shard)
    rows, starts = windows(documents, window) if window else (documents, [[0]] * len(documents))
    assert faults == []
    assert columns[Role.INPUT_IDS] == rows
    assert columns[Role.DOCUMENT_STARTS] == starts
    assert shard.spec.token_dtype is not None
    assert shard.spec.token_dtype.value == np.dtype(dtype).name


def test_the_mask_tells_the_type_where_the_table_does_not(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    files[1].unlink()
    shard = open_one(READER, files[0])
    assert tokens_of(shard) == [[5, 6, 2, 7, 2, 8, 9, 2]]
    assert any("the loss mask has 8 values" in line for line in shard.layout.evidence)


def test_nothing_is_guessed(tmp_path: Path) -> None:
    path = write(tmp_path, [[1, 2], [3]])
    path.write_bytes(path.read_bytes() + b"\0\0")
    with pytest.raises(UnreadableError, match=r"\[spec\] token_dtype"):
        open_one(READER, path)
    _, columns, [fault] = read(open_one(READER, path, Settings(token_dtype="uint16")))
    assert columns[Role.INPUT_IDS] == [[1, 2], [3], [0]]
    assert fault.code == "SHD006"
    with pytest.raises(UnreadableError, match="token_dtype = 'float32'"):
        open_one(READER, path, Settings(token_dtype="float32"))
    with pytest.raises(UnreadableError, match="token_dtype = 'tokens'"):
        open_one(READER, path, Settings(token_dtype="tokens"))


@pytest.mark.parametrize(
    ("table", "code", "message"),
    [
        ("0,2\n3,3\n", "SHD001", "document 1 begins at token 3, expected 2"),
        ("0,2\n2\n", "SHD001", "csv.gz"),
        ("0,2\n2,x\n", "SHD001", "csv.gz"),
        ("0,2\n2,\n", "SHD001", "a start or end is missing"),
        ("0,2\n2,99999999999999999999\n", "SHD001", "csv.gz"),
        ("", "SHD006", "ends at token 0, but there are 3 tokens"),
    ],
)
def test_tables_that_lie(tmp_path: Path, table: str, code: str, message: str) -> None:
    path = write(tmp_path, [[1, 2], [3]])
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(table.encode()))
    _, columns, [fault] = read(open_one(READER, path, Settings(token_dtype="uint16")))
    assert chained(columns[Role.INPUT_IDS]) == [1, 2, 3]
    assert fault.code == code
    assert message in fault.message


def test_a_table_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [[1, 2], [3]])
    path.with_suffix(".csv.gz").write_bytes(gzip.compress(b"0,0\n" * (1 << 21)))
    _, _, [fault] = read(open_one(READER, path, Settings(token_dtype="uint16")))
    assert "more documents than the tokens can make" in fault.message


def test_a_mask_of_another_size_is_not_used(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    files[2].write_bytes(b"\1" * 7)
    shard = open_one(READER, files[0])
    assert [fault.code for fault in read(shard)[2]] == ["SHD006"]
    assert Role.LOSS_MASK not in shard.layout.columns


def test_numpy_files_are_left_to_others(tmp_path: Path) -> None:
    path = write(tmp_path, [[1, 2], [3]])
    np.save(path, np.arange(3))
    assert not READER.sniff(Source(str(path)), path.read_bytes()[:4096])


def test_damage(tmp_path: Path) -> None:
    files = small_file(tmp_path)
    told = Settings(token_dtype="uint16")
    survives_damage(files, lambda: READER.open(Source(str(files[0])), "toy", told), n_flips=150)
    survives_damage(files[:2], lambda: READER.open(Source(str(files[0])), "toy", Settings()), n_flips=150)
