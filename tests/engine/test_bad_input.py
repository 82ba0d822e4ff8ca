"""Anything can be in a file: one clear finding each, the other shards are still checked."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import packlint
from packlint.errors import NoInputError
from packlint.report import Report

ROWS = {
    "input_ids": [[1, 11, 2], [1, 12, 2]],
    "labels": [[-100, 11, 2], [-100, 12, 2]],
    "seq_lengths": [[3], [3]],
}


def write_good(folder: Path) -> Path:
    path = folder / "good.parquet"
    pq.write_table(pa.table(ROWS), path)
    return path


def finding_of(report: Report, code: str) -> tuple[str, str]:
    (finding,) = (f for f in report.findings if f.code == code)
    return finding.shard, finding.message


def assert_good_was_checked(report: Report) -> None:
    (entry,) = (e for e in report.inputs if e.path.endswith("good.parquet"))
    assert (entry.n_packs, entry.n_tokens) == (2, 6)
    assert report.exit_code == 1


def test_missing_path(tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match=r"nowhere\.parquet"):
        packlint.check(tmp_path / "nowhere.parquet")


def test_empty_glob(tmp_path: Path) -> None:
    with pytest.raises(NoInputError, match=r"\*\.parquet"):
        packlint.check(str(tmp_path / "*.parquet"))


def test_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(NoInputError):
        packlint.check(tmp_path)


@pytest.mark.parametrize("keep", [0, 3, 4, 100, -1, -8])
def test_truncated_parquet(tmp_path: Path, keep: int) -> None:
    good = write_good(tmp_path)
    (tmp_path / "cut.parquet").write_bytes(good.read_bytes()[:keep])

    report = packlint.check(tmp_path)

    shard, message = finding_of(report, "SHD001")
    assert shard.endswith("cut.parquet")
    assert "\n" not in message
    assert str(tmp_path) not in message
    assert_good_was_checked(report)


def test_index_that_claims_2_to_the_60_sequences(tmp_path: Path) -> None:
    write_good(tmp_path)
    (tmp_path / "huge.idx").write_bytes(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, 2**60, 2))
    (tmp_path / "huge.bin").write_bytes(b"\x01\x00" * 8)

    report = packlint.check(tmp_path)

    shard, message = finding_of(report, "SHD001")
    assert shard.endswith("huge.idx")
    assert "\n" not in message
    assert_good_was_checked(report)


def test_ragged_row(tmp_path: Path) -> None:
    write_good(tmp_path)
    ragged = {**ROWS, "labels": [[-100, 11, 2], [-100, 12]]}
    pq.write_table(pa.table(ragged), tmp_path / "ragged.parquet")

    report = packlint.check(tmp_path)

    shard, message = finding_of(report, "SHD002")
    assert shard.endswith("ragged.parquet")
    assert "labels has 2 values for 3 input_ids" in message
    assert_good_was_checked(report)


def test_line_that_is_no_json(tmp_path: Path) -> None:
    write_good(tmp_path)
    lines = [
        '{"input_ids": [1, 11, 2], "labels": [-100, 11, 2]}',
        "{not json",
        '{"input_ids": [1, 2], "labels": [1, 2]}',
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines) + "\n")

    report = packlint.check(tmp_path)

    shard, message = finding_of(report, "SHD001")
    assert shard.endswith("rows.jsonl")
    assert "\n" not in message
    (entry,) = (e for e in report.inputs if e.path.endswith("rows.jsonl"))
    assert entry.n_tokens == 5
    assert_good_was_checked(report)


def test_null_row(tmp_path: Path) -> None:
    write_good(tmp_path)
    pq.write_table(pa.table({**ROWS, "labels": [[-100, 11, 2], None]}), tmp_path / "nulls.parquet")

    report = packlint.check(tmp_path)

    assert finding_of(report, "SHD005")[0].endswith("nulls.parquet")
    assert_good_was_checked(report)


def test_shard_without_packs(tmp_path: Path) -> None:
    write_good(tmp_path)
    pq.write_table(pa.table(ROWS).slice(0, 0), tmp_path / "none.parquet")

    report = packlint.check(tmp_path)

    assert finding_of(report, "SHD003")[0].endswith("none.parquet")


def test_text_file_named_parquet(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    path.write_text("these are notes\n")

    report = packlint.check(path)

    assert finding_of(report, "SHD001")[0].endswith("notes.parquet")
    assert report.exit_code == 1
