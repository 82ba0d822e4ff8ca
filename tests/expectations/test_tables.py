"""The tables as Parquet files: what is written is what was seen, and the same bytes every time."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from packlint.errors import UsageError
from packlint.expectations.tables import write_tables
from packlint.model.metadata import Categories
from packlint.summaries.columns import COLUMNS, Table, Values
from packlint.summaries.tables import TableRows
from tests.expectations.builds import build, tables_of


def test_files_hold_the_tables(tmp_path: Path) -> None:
    tables = tables_of(build())

    write_tables(tables, tmp_path / "new" / "folder")

    for name, table in tables.items():
        stored = pq.read_table(tmp_path / "new" / "folder" / f"{name}.parquet")
        assert stored.column_names == list(table.names)
        for column, values in table.columns().items():
            found = stored[column].to_pylist()
            if isinstance(values, Categories):
                assert found == [values.names[code] if code >= 0 else None for code in values.codes]
            elif isinstance(values, Values) and values.known is None:
                assert found == values.values.tolist()


def test_unknown_values_are_null(tmp_path: Path) -> None:
    table = tables_of(build())["samples"]

    write_tables({"samples": table}, tmp_path)

    stored = pq.read_table(tmp_path / "samples.parquet")
    assert 0 < stored["domain"].null_count < stored.num_rows


def test_columns_are_described(tmp_path: Path) -> None:
    write_tables(tables_of(build()), tmp_path)

    for name, columns in COLUMNS.items():
        schema = pq.read_schema(tmp_path / f"{name}.parquet")
        for field in schema:
            about = (field.metadata or {})[b"description"].decode()
            assert about == columns[field.name] if field.name in columns else about.startswith("metadata")


def test_bytes_do_not_depend_on_how_the_rows_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("packlint.expectations.tables._ROWS_PER_GROUP", 16)
    rows = build()
    turned = TableRows(rows.packs[::-1], rows.samples[::-1])

    write_tables(tables_of(rows), tmp_path / "one")
    write_tables(tables_of(turned), tmp_path / "other")

    for name in COLUMNS:
        one, other = (tmp_path / folder / f"{name}.parquet" for folder in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()
        groups = pq.ParquetFile(one).metadata
        assert {groups.row_group(i).num_rows for i in range(groups.num_row_groups - 1)} == {16}


def test_no_rows_make_files_with_columns(tmp_path: Path) -> None:
    write_tables(TableRows().tables([]), tmp_path)

    for name in COLUMNS:
        stored = pq.read_table(tmp_path / f"{name}.parquet")
        assert stored.num_rows == 0
        assert stored.schema.field("target_fraction").type == pa.float64()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="--tables"):
        write_tables(tables_of(build()), tmp_path / "file")


def test_a_shard_name_that_is_no_unicode_is_escaped(tmp_path: Path) -> None:
    table: Table = build().tables(["a\udc80.parquet"])["packs"]

    write_tables({"packs": table}, tmp_path)

    assert pq.read_table(tmp_path / "packs.parquet")["shard"][0].as_py() == "a\\udc80.parquet"
