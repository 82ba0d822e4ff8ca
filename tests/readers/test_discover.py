"""Paths, globs and directories → candidates → shards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packlint.errors import NoInputError
from packlint.readers.discover import discover, load_readers, open_shards
from packlint.readers.shard import Settings

SAMPLES = Path(__file__).parents[1] / "samples"
INDEX = b"MMIDIDX\x00\x00" + bytes(40)


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _parquet(path: str | Path) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"input_ids": pa.array([[1, 2]], pa.list_(pa.int32()))}), path)
    return path


def _stream(path: str | Path) -> Path:
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"input_ids": pa.array([[1, 2]], pa.list_(pa.int32()))})
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    return path


def _data_set(directory: str, *names: str) -> None:
    for name in names:
        _stream(f"{directory}/{name}")
    Path(directory, "state.json").write_text(json.dumps({"_data_files": [{"filename": n} for n in names]}))
    Path(directory, "dataset_info.json").write_text("{}")


def _names(*inputs: str) -> list[str]:
    return [candidate.name for candidate in discover(inputs)]


def _shards(*inputs: str) -> tuple[list[str], list[tuple[str, str]]]:
    shards, errors = open_shards(inputs, Settings())
    return [shard.name for shard in shards], [(name, str(error)) for name, error in errors]


def test_a_file_keeps_the_path_it_was_given_by() -> None:
    _parquet("data/a.parquet")

    assert _names("data/a.parquet") == ["data/a.parquet"]
    assert _names("./data/a.parquet") == ["data/a.parquet"]
    assert _names(os.path.abspath("data/a.parquet")) == ["data/a.parquet"]


def test_a_file_elsewhere_goes_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _parquet("a.parquet")
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")

    assert _names("../a.parquet") == ["a.parquet"]
    assert _names(str(tmp_path / "a.parquet")) == ["a.parquet"]


def test_a_directory_is_searched_to_the_bottom_and_sorted() -> None:
    for name in ("b.parquet", "a/z.parquet", "a/.hidden.parquet", ".cache/c.parquet", "README.md"):
        _parquet(f"data/{name}")

    assert _names("data") == ["data/a/z.parquet", "data/b.parquet"]
    assert _names("data/") == _names("./data") == _names(os.path.abspath("data")) == _names("data")


def test_the_working_directory_has_a_name(tmp_path: Path) -> None:
    _parquet("a.parquet")

    assert _names(".") == [f"{tmp_path.name}/a.parquet"]


def test_globs() -> None:
    for name in ("one/a.parquet", "two/b.parquet", "two/c.txt"):
        _parquet(f"data/{name}")

    assert _names("data/*/*.parquet") == ["data/one/a.parquet", "data/two/b.parquet"]
    assert _names("data/**") == ["data/one/a.parquet", "data/two/b.parquet"]
    assert _names("data/t*") == ["two/b.parquet"]


def test_the_same_file_twice_is_one_shard() -> None:
    _parquet("data/a.parquet")

    assert _names("data", "data/a.parquet", "data/*.parquet") == ["data/a.parquet"]
    assert _shards("data", "data/a.parquet", "data/*.parquet") == (["data/a.parquet"], [])


def test_equal_names_are_told_apart_whatever_the_order() -> None:
    for name in ("x/set/a.parquet", "y/set/a.parquet", "y/set/b.parquet"):
        _parquet(name)

    assert _names("x/set", "y/set") == ["set/b.parquet", "x/set/a.parquet", "y/set/a.parquet"]
    assert _names("y/set", "x/set") == _names("x/set", "y/set")


@pytest.mark.parametrize("missing", ["no.parquet", "no*.parquet", "empty", "dir/no/such"])
def test_nothing_there(missing: str) -> None:
    Path("empty").mkdir()
    with pytest.raises(NoInputError, match=r"^\S+: no "):
        discover([missing])


def test_a_directory_with_nothing_readable() -> None:
    Path("junk").mkdir()
    Path("junk/a.xyz").write_bytes(b"junk")
    _parquet("a.parquet")

    with pytest.raises(NoInputError, match=r"^junk: no file here is of a format"):
        open_shards(["a.parquet", "junk"], Settings())


def test_caches_beside_a_data_set_are_not_part_of_it() -> None:
    _data_set("set/train", "data-00000-of-00002.arrow", "data-00001-of-00002.arrow")
    _stream("set/train/cache-0123456789abcdef.arrow")
    Path("set/dataset_dict.json").write_text('{"splits": ["train"]}')
    expected = ["set/train/data-00000-of-00002.arrow", "set/train/data-00001-of-00002.arrow"]

    assert _shards("set") == (expected, [])
    assert _names("set/train/*.arrow") == expected
    assert _names("set/train/cache-0123456789abcdef.arrow") == ["set/train/cache-0123456789abcdef.arrow"]


def test_a_file_that_the_data_set_names_but_lacks() -> None:
    _data_set("set", "data-00000-of-00002.arrow", "data-00001-of-00002.arrow")
    Path("set/data-00001-of-00002.arrow").unlink()

    assert _shards("set") == (
        ["set/data-00000-of-00002.arrow"],
        [("set/data-00001-of-00002.arrow", "cannot be read: No such file or directory")],
    )


@pytest.mark.parametrize("state", ["[]", "{", '{"_data_files": [{"filename": "../../etc/passwd"}]}', "null"])
def test_odd_state_files(state: str) -> None:
    _parquet("set/a.parquet")
    Path("set/state.json").write_text(state)

    assert _shards("set") == (["set/a.parquet"], [])


def test_unknown_and_damaged_files() -> None:
    _parquet("set/good.parquet")
    Path("set/bad.parquet").write_bytes(b"PAR1")
    Path("set/empty.arrow").write_bytes(b"")
    Path("set/notes.xyz").write_bytes(b"junk")
    names, errors = _shards("set", "set/notes.xyz")

    assert names == ["set/good.parquet"]
    assert [name for name, _ in errors] == ["set/bad.parquet", "set/empty.arrow", "set/notes.xyz"]
    assert errors[1][1] == "the file is empty"
    assert "unknown format" in errors[2][1]


def test_all_damaged_is_not_no_input() -> None:
    Path("bad.parquet").write_bytes(b"PAR1")

    assert _shards("bad.parquet")[0] == []


def test_a_bin_or_a_prefix_means_its_index() -> None:
    Path("data").mkdir()
    Path("data/x_text_document.idx").write_bytes(INDEX)
    Path("data/x_text_document.bin").write_bytes(bytes(8))

    for given in ("x_text_document.bin", "x_text_document", "x_text_document.idx", "*.bin", "*"):
        assert _names(f"data/{given}") == ["data/x_text_document.idx"]
    assert _names("data") == ["data/x_text_document.idx"]


def test_a_bin_without_an_index_is_what_it_is() -> None:
    Path("x.bin").write_bytes(bytes(8))
    Path("x.idx").write_bytes(b"something else")

    assert _names("x.bin") == ["x.bin"]


def test_links_that_lead_back_up_end() -> None:
    _parquet("data/sub/a.parquet")
    Path("data/sub/up").symlink_to(Path("data").absolute())
    Path("data/linked").symlink_to(Path("data/sub").absolute())

    assert _names("data") == ["data/linked/a.parquet", "data/sub/a.parquet"]


def test_pipes_are_not_opened() -> None:
    _parquet("data/a.parquet")
    os.mkfifo("data/pipe.arrow")

    assert _shards("data") == (["data/a.parquet"], [])


def test_names_that_are_no_text() -> None:
    _parquet("data/a.parquet")
    os.rename("data/a.parquet", os.fsdecode(b"data/\xff.parquet"))

    assert _names("data") == [r"data/\xff.parquet"]


def test_every_reader_in_the_table_can_be_imported() -> None:
    assert {"parquet", "arrow", "megatron", "jsonl"} <= {reader.format for reader in load_readers()}


def test_samples_as_one_directory() -> None:
    names, errors = _shards(str(SAMPLES / "trl_bfd"), str(SAMPLES / "llamafactory_neat_packing"))

    assert names == [
        "llamafactory_neat_packing/tokenized/train/data-00000-of-00001.arrow",
        "trl_bfd/dataset/data-00000-of-00001.arrow",
        "trl_bfd/packed.parquet",
    ]
    assert errors == []
