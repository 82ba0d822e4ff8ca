"""The table of documents beside raw tokens: a gzipped csv, of which two columns of numbers count."""

from __future__ import annotations

import io
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array, empty_int64
from packlint.readers.arrow_numpy import as_numpy
from packlint.readers.inflate import Codec, open_content
from packlint.readers.source import Source

__all__ = ["read_ranges"]

_BLOCK_BYTES = 1 << 20
_PEEK_BYTES = 256


def read_ranges(table: Source, n_most: int) -> tuple[Int64Array, Int64Array]:
    """Return where documents start and end, `int64[document]` each.

    Args:
        table: the gzipped csv.
        n_most: documents that there can be; more of them are refused before they fill memory.

    Raises:
        UnreadableError: it is damaged, holds something else, or too much.
    """
    try:
        with open_content(table, Codec.GZIP) as stream:
            return _parsed(cast(io.BufferedReader, stream), n_most)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableError((str(error).splitlines() or [type(error).__name__])[0]) from error


def _parsed(stream: io.BufferedReader, n_most: int) -> tuple[Int64Array, Int64Array]:
    line = stream.peek(_PEEK_BYTES)[:_PEEK_BYTES].split(b"\n", 1)[0]
    if not line.strip():
        return empty_int64(), empty_int64()
    has_names = not line.split(b",", 1)[0].strip().isdigit()
    source: Any = pa.PythonFile(stream, mode="r")  # the stubs take a path or a file opened for text
    reader = pa.csv.open_csv(
        source,
        read_options=pa.csv.ReadOptions(
            use_threads=False,
            block_size=_BLOCK_BYTES,
            autogenerate_column_names=True,
            skip_rows=int(has_names),
        ),
        convert_options=pa.csv.ConvertOptions(
            include_columns=["f0", "f1"], column_types={"f0": pa.int64(), "f1": pa.int64()}
        ),
    )
    starts, ends = [empty_int64()], [empty_int64()]
    for batch in reader:
        n_most -= batch.num_rows
        if n_most < 0:
            raise UnreadableError("more documents than the tokens can make")
        for found, column in zip((starts, ends), cast(Any, batch.columns), strict=True):
            if column.null_count:
                raise UnreadableError("a start or end is missing")
            found.append(as_numpy(column))
    return np.concatenate(starts), np.concatenate(ends)
