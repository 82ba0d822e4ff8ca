"""Remote inputs give the same findings, under the same names, as local files."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import packlint
from packlint.cli.main import main
from packlint.readers.discover import discover
from packlint.readers.megatron.stretches import take
from packlint.readers.naming import unique_names
from packlint.readers.range_file import RangeFile
from packlint.readers.source import Source
from tests.readers.loopback import s3_server

SAMPLES = Path(__file__).parents[1] / "samples"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir() and not path.name.startswith("_"))
OVER_S3 = frozenset(
    {
        "datatrove_ds",
        "fms_fsdp_arrow",
        "instructlab_data_jsonl",
        "litdata_tokens",
        "mds_concat_tokens",
        "megatron_uint16_eod",
        "nemo_packed_npy",
        "neox_text_label_pair",
        "olmo_core_sft_numpy",
        "seqio_packed_tfrecord",
        "trl_bfd",
        "xtuner_varlen_arrow",
    }
)
STREAMS = (
    "datatrove_ds",
    "litdata_tokens",
    "llmc_gpt2_bin",
    "nanogpt_bin",
    "neox_text_label_pair",
    "tinyllama_litpkds",
)
TOLD = {"max_seq_len": 16, "token_dtype": "uint16", "eos_ids": [2], "bos_id": 1}


def put(scheme: str, root: Path, below: str) -> None:
    """Copy a folder into a store."""
    fsspec.filesystem(scheme).put(f"{root}/", below, recursive=True)


@pytest.fixture(scope="module", autouse=True)
def _stores() -> Iterator[None]:
    """Fill an S3 server and the store in memory with all samples."""
    with s3_server():
        fsspec.filesystem("s3").mkdir("toys")
        for name in OVER_S3:
            put("s3", SAMPLES / name, f"toys/samples/{name}")
        put("memory", SAMPLES, "toys/samples")
        yield
        fsspec.filesystem("memory").rm("/toys", recursive=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_report_does_not_depend_on_the_store(name: str) -> None:
    local = packlint.check(SAMPLES / name).to_json()

    for scheme in ("memory", "s3") if name in OVER_S3 else ("memory",):
        assert packlint.check(f"{scheme}://toys/samples/{name}").to_json() == local


@pytest.mark.parametrize("name", STREAMS)
def test_windows_of_streams_do_not_depend_on_the_store(name: str) -> None:
    local = packlint.check(SAMPLES / name, spec=TOLD).to_json()

    assert packlint.check(f"memory://toys/samples/{name}", spec=TOLD).to_json() == local


def test_array_records_need_a_local_copy() -> None:
    fsspec.filesystem("memory").pipe("/toys/a.array_record", bytes.fromhex("83af70d10d884a3f") + bytes(100))
    [finding] = packlint.check("memory://toys/a.array_record").findings

    assert finding.code == "SHD001"
    assert "local files only; copy the shard first" in finding.message


@pytest.mark.parametrize("scheme", ["memory", "s3"])
def test_jobs_and_many_inputs(scheme: str) -> None:
    names = ["trl_bfd", "datatrove_ds", "neox_text_label_pair"]
    local = packlint.check([SAMPLES / name for name in names])

    assert packlint.check([f"{scheme}://toys/samples/{name}" for name in names], jobs=4) == local


def tree(folder: Path) -> Path:
    """Write a folder with shards, hidden files, sidecars, and caches of a data set."""
    table = pa.table({"input_ids": pa.array([[1, 2]], pa.list_(pa.int32()))})
    for name in ("a.parquet", "sub/b.parquet", "sub/.hidden.parquet", ".cache/c.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, folder / name)
    (folder / "set").mkdir()
    for name in ("data-0.arrow", "cache-1.arrow"):
        with pa.ipc.new_stream(str(folder / "set" / name), table.schema) as writer:
            writer.write_table(table)
    listed = [{"filename": "data-0.arrow"}, {"filename": "data-1.arrow"}]
    (folder / "set" / "state.json").write_text(json.dumps({"_data_files": listed}))
    (folder / "README.md").write_text("words")
    return folder


def test_names_are_those_of_local_files(tmp_path: Path) -> None:
    folder = tree(tmp_path / "data")
    for scheme in ("memory", "s3"):
        put(scheme, folder, "toys/tree/data")
        local = [c.name for c in discover([str(folder)])]

        assert local == [
            "data/a.parquet",
            "data/set/data-0.arrow",
            "data/set/data-1.arrow",
            "data/sub/b.parquet",
        ]
        for given_as in ("toys/tree/data", "toys/tree/data/"):
            assert [c.name for c in discover([f"{scheme}://{given_as}"])] == local
        for pattern in ("*.parquet", "*/*.parquet", "**/*.parquet", "set/*.arrow", "su*", "s?b/[b].parquet"):
            local_names = [c.name for c in discover([f"{folder}/{pattern}"])]
            assert [c.name for c in discover([f"{scheme}://toys/tree/data/{pattern}"])] == local_names


def test_a_bin_or_a_prefix_means_its_index() -> None:
    for name in ("toy_text_document.bin", "toy_text_document", "toy_text_document.idx"):
        [found] = discover([f"s3://toys/samples/megatron_uint16_eod/{name}"])
        assert found.name == "toy_text_document.idx"


def test_the_same_name_in_two_places_is_told_apart() -> None:
    first, second = Source("s3://one/x/a.parquet"), Source("s3://two/x/a.parquet")
    signed = [Source("https://h/a.parquet?v=1"), Source("https://h/a.parquet?v=2")]

    assert unique_names({first: "a.parquet", second: "a.parquet"}) == {
        first: "one/x/a.parquet",
        second: "two/x/a.parquet",
    }
    assert set(unique_names(dict.fromkeys(signed, "a.parquet")).values()) == {
        "https:/h/a.parquet",
        "https:/h/a.parquet (2)",
    }


@pytest.mark.parametrize(
    ("location", "name", "parent", "sibling"),
    [
        ("s3://b/k/a.bin", "a.bin", "s3://b/k", "s3://b/k/a.idx"),
        ("s3://b/a.bin", "a.bin", "s3://b", "s3://b/a.idx"),
        ("s3://b/k/", "k", "s3://b", "s3://b/a.idx"),
        ("memory://a.bin", "a.bin", "memory://", "memory://a.idx"),
        ("memory:///k/a.bin", "a.bin", "memory:///k", "memory:///k/a.idx"),
        ("https://h/k/a.bin?s=1/2#x", "a.bin", "https://h/k?s=1/2#x", "https://h/k/a.idx?s=1/2#x"),
        ("k/a.bin", "a.bin", "k", "k/a.idx"),
    ],
)
def test_parts_of_a_location(location: str, name: str, parent: str, sibling: str) -> None:
    source = Source(location)

    assert (source.name, source.parent.location) == (name, parent)
    assert source.sibling("a.idx").location == sibling
    assert (source.stem, source.suffix) == (Path(name).stem, Path(name).suffix)


def test_nothing_is_remembered_between_runs() -> None:
    store = fsspec.filesystem("s3")
    content = (SAMPLES / "trl_bfd" / "packed.parquet").read_bytes()
    store.pipe("toys/changing/a.parquet", content)
    first = packlint.check("s3://toys/changing")
    store.pipe("toys/changing/a.parquet", content[:100])
    store.pipe("toys/changing/b.parquet", content)
    second = packlint.check("s3://toys/changing")

    assert [entry.path for entry in first.inputs] == ["changing/a.parquet"]
    assert {entry.path for entry in second.inputs} >= {"changing/b.parquet"}
    assert "SHD001" in {finding.code for finding in second.findings}


def test_no_backend_is_loaded_for_local_files() -> None:
    code = (
        "import sys, packlint; packlint.check(sys.argv[1]);"
        "sys.exit(' '.join({'fsspec', 's3fs', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(SAMPLES / "trl_bfd")], capture_output=True, text=True, check=False
    )

    assert done.stderr.strip() == ""


def test_file_urls_are_local() -> None:
    path = SAMPLES / "trl_bfd"

    assert packlint.check(path.as_uri()) == packlint.check(path)


def test_what_to_type_is_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    url = "s3://toys/samples/trl_bfd/packed.parquet"
    main(["check", "s3://toys/samples/trl_bfd", "--trainer", "transformers", "--verbose"])

    assert "packlint show s3://toys/samples/trl_bfd/dataset/data-00000-of-00001.arrow" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["show", url, "--pack", "1"]) == 0
    remote = capsys.readouterr().out
    assert main(["show", str(SAMPLES / "trl_bfd" / "packed.parquet"), "--pack", "1"]) == 0
    assert remote.splitlines()[1:] == capsys.readouterr().out.splitlines()[1:]


def test_show_knows_what_was_declared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "packlint.toml"
    config.write_text('[spec]\ntoken_dtype = "uint16"\neos_ids = [2]\nmax_seq_len = 8\n')
    url = "memory://toys/samples/nanogpt_bin"
    names = [source.name for source, _ in Source(url).children() if source.suffix == ".bin"]

    assert main(["show", f"{url}/{names[0]}", "--config", str(config)]) == 0
    assert "8 tokens" in capsys.readouterr().out


@given(
    content=st.binary(min_size=1, max_size=300),
    steps=st.lists(st.tuples(st.integers(0, 320), st.integers(0, 200)), max_size=12),
    ahead=st.booleans(),
)
def test_a_range_file_reads_like_any_file(content: bytes, steps: list[tuple[int, int]], ahead: bool) -> None:
    fsspec.filesystem("memory").pipe("/toys/ranges", content)
    plain = io.BytesIO(content)
    with io.BufferedReader(RangeFile("memory://toys/ranges", len(content), reads_ahead=ahead), 16) as remote:
        for at, n_bytes in steps:
            assert remote.seek(at) == plain.seek(at)
            assert remote.read(n_bytes) == plain.read(n_bytes)
        assert remote.seek(-1, io.SEEK_END) == plain.seek(-1, io.SEEK_END)
        assert remote.read() == plain.read()


class Slices:
    """A stored array that gives slices only, as remote ones do."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.values = values
        self.size = values.size
        self.n_fetched = 0

    def __getitem__(self, key: slice, /) -> np.ndarray[Any, Any]:
        assert isinstance(key, slice)
        self.n_fetched += 1
        return self.values[key]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=12))
def test_stretches_end_to_end(pieces: list[tuple[int, int]]) -> None:
    values = np.arange(50) * 3
    starts, lengths = (np.array([piece[i] for piece in pieces], np.int64) for i in (0, 1))
    expected = [value for start, length in pieces for value in values[start : start + length].tolist()]
    stored = Slices(values)

    assert take(values, starts, lengths).tolist() == expected
    assert take(stored, starts, lengths).tolist() == expected
    assert stored.n_fetched <= max(len(pieces), 1)
