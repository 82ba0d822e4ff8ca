"""The pack table and the sample table as Parquet files and as pandas frames."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from packlint.errors import UsageError
from packlint.model.metadata import Categories
from packlint.summaries.columns import COLUMNS, Column, Table, kind_of

__all__ = ["to_frame", "write_tables"]

_ROWS_PER_GROUP = 1 << 18
_TEXT = frozenset({"shard"})


def write_tables(tables: Mapping[str, Table], folder: Path) -> None:
    """Write `packs.parquet` and `samples.parquet`, a row group at a time: the same bytes for the same rows.

    Raises:
        UsageError: a file cannot be written.
    """
    import pyarrow.parquet as pq

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            schema = _schema(table)
            with pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd") as writer:
                for block in table.blocks(_ROWS_PER_GROUP):
                    writer.write_table(_to_arrow(block, schema))
    except OSError as error:
        raise UsageError(f"--tables {folder}: {error.strerror or error}") from None


def to_frame(table: Table) -> Any:
    """Return a `pandas.DataFrame`: text as categories, counts with unknown values as floats."""
    pandas = import_module("pandas")
    return pandas.DataFrame({name: _to_series(pandas, column) for name, column in table.columns().items()})


def _to_series(pandas: Any, column: Column) -> Any:
    if isinstance(column, Categories):
        return pandas.Categorical.from_codes(column.codes, list(column.names))
    if column.known is None:
        return column.values
    return np.where(column.known, column.values, np.nan)


def _schema(table: Table) -> Any:
    import pyarrow as pa

    ours = COLUMNS[table.name]
    fields = []
    for name in table.names:
        is_text = name in _TEXT or name not in ours
        kind = (
            pa.dictionary(pa.int32(), pa.string())
            if is_text
            else pa.from_numpy_dtype(np.dtype(kind_of(name)))
        )
        about = ours.get(name, "metadata: one value of all segments of the pack, else null")
        if name not in ours and table.name == "samples":
            about = "metadata"
        fields.append(pa.field(name, kind, metadata={"description": about}))
    return pa.schema(fields, metadata={"packlint": f"{table.name}, form v1"})


def _to_arrow(block: Mapping[str, Column], schema: Any) -> Any:
    import pyarrow as pa

    return pa.table([_to_array(column) for column in block.values()], schema=schema)


def _to_array(column: Column) -> Any:
    import pyarrow as pa

    if isinstance(column, Categories):
        codes: Any = pa.array(column.codes, mask=column.codes < 0)
        return pa.DictionaryArray.from_arrays(codes, pa.array(_encoded(column), pa.string()))
    return pa.array(column.values, mask=None if column.known is None else ~column.known)


def _encoded(column: Categories) -> list[str]:
    """Return the names as Arrow takes them: a lone surrogate, from a file name, is escaped."""
    return [name.encode(errors="backslashreplace").decode() for name in column.names]
