"""Compressed files: JSON lines through every codec, limits, and damage."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import packlint
from packlint.errors import UnreadableError
from packlint.readers import inflate
from packlint.readers.inflate import Codec, codec_of, open_content, read_content
from packlint.readers.jsonl import JsonlReader
from packlint.readers.shard import Role, Settings, Shard
from packlint.readers.source import Source
from tests.readers.file_checks import SAMPLES, TOY, assert_equal, batches, read, survives_damage

ROWS = [{"input_ids": [1, 10 + i, 2], "labels": [-100, 10 + i, 2]} for i in range(5)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": lambda data: bytes(pa.Codec("zstd").compress(data, asbytes=True)),
    "bz2": bz2.compress,
}


def write(path: Path, how: str, data: bytes = LINES) -> Path:
    path.write_bytes(PACKERS[how](data))
    return path


def small_file(folder: Path) -> list[Path]:
    """Write a small valid input of each codec."""
    return [write(folder / f"a.jsonl.{how}", how) for how in PACKERS]


def open_one(path: Path) -> Shard:
    assert JsonlReader().sniff(Source(str(path)), path.read_bytes()[:4096])
    [shard] = JsonlReader().open(Source(str(path)), path.name, Settings())
    return shard


@pytest.mark.parametrize("how", PACKERS)
def test_compressed_lines_read_as_plain_ones(tmp_path: Path, how: str) -> None:
    shard = open_one(write(tmp_path / "a", how))
    assert shard.parts()[0].n_rows == 5
    numbers, columns, faults = read(shard)
    assert (numbers, faults) == (list(range(5)), [])
    assert columns[Role.INPUT_IDS] == [row["input_ids"] for row in ROWS]
    assert codec_of((tmp_path / "a").read_bytes()) == Codec(how)


@pytest.mark.parametrize("how", PACKERS)
def test_the_same_batch_as_plain(tmp_path: Path, how: str) -> None:
    plain = SAMPLES / "torchtune_packed_sft" / "packs.jsonl"
    packed = write(tmp_path / "packs.jsonl", how, plain.read_bytes())
    assert_equal(*batches(packed), *batches(plain))


def test_several_gzip_members_are_one_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(LINES) + gzip.compress(LINES))
    assert len(read(open_one(path))[0]) == 10


@pytest.mark.parametrize("how", PACKERS)
def test_a_bomb_stops_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(inflate, "FREE_BYTES", 1 << 17)
    path = write(tmp_path / "a", how, LINES + b"\n" * (1 << 20))
    stream = open_content(Source(str(path)), Codec(how))
    with stream, pytest.raises(UnreadableError, match="the limit here"):
        stream.read()
    report = packlint.check(path, spec=TOY)
    assert any("the limit here" in f.message for f in report.findings if f.code == "SHD001")
    assert report.inputs[0].n_packs == 5


@pytest.mark.parametrize("how", PACKERS)
def test_what_came_before_the_damage_is_kept(tmp_path: Path, how: str) -> None:
    lines = "".join(json.dumps({"input_ids": [i * 7919 % 65_521, i, 2]}) + "\n" for i in range(40_000))
    path = write(tmp_path / "a.jsonl", how, lines.encode())
    path.write_bytes(path.read_bytes()[:-300])
    report = packlint.check(tmp_path, spec=TOY)
    [finding] = [f for f in report.findings if f.code == "SHD001"]
    assert f"{how} data damaged after" in finding.message
    assert 0 < (report.inputs[0].n_packs or 0) < 40_000


def test_reading_the_beginning() -> None:
    path = SAMPLES / "torchtune_packed_sft" / "packs.jsonl"
    assert read_content(Source(str(path)), None, 10) == path.read_bytes()[:10]


def test_damage(tmp_path: Path) -> None:
    for path in small_file(tmp_path):

        def open_it(path: Path = path) -> list[Shard]:
            reader = JsonlReader()
            is_known = reader.sniff(Source(str(path)), path.read_bytes()[:4096])
            return list(reader.open(Source(str(path)), "a", Settings())) if is_known else []

        survives_damage([path], open_it, n_flips=200)
