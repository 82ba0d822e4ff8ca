"""IBM fms-fsdp: an Arrow IPC file with one record batch per document.

    toy/shard0.arrow         batch 0: tokens u32[15]   batch 1: tokens u32[11]   ...   footer
    meta/*counts*.csv        dataset/filename,documents,tokens[,size]      beside or above the folder

The column is scalar: a row of the file is a token, a batch is a document. The loader adds begin and end
tokens itself, so shards hold none as a rule. It reads blocks of `max_seq_len + 1` tokens.

Source: foundation-model-stack/fms-fsdp 5a296af `fms_fsdp/utils/{dataset_utils,dataloader_utils}.py`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pat
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array, empty_int64
from packlint.readers.arrow_ipc import opened_ipc
from packlint.readers.arrow_numpy import as_numpy
from packlint.readers.decoding import decoding
from packlint.readers.remote import MissingError
from packlint.readers.shard import Fault, Settings, Shard
from packlint.readers.source import ArrayView, Source
from packlint.readers.stream import (
    Held,
    Marks,
    Stream,
    StreamKind,
    check_documents,
    known_dtype,
    open_stream,
    wanted_window,
)

__all__ = ["FmsArrowReader"]

_MAGIC = b"ARROW1"
_COLUMNS = ("tokens", "input_ids")
_COUNTS_BYTES = 1 << 24
_FOLDERS_ABOVE = 3
_KIND = StreamKind(format="fms-arrow", producer="fms-fsdp", trainer="fms-fsdp", documents="record batches")
_MANNER = "as fms-fsdp cuts (max_seq_len + 1, begin and end tokens still to be added)"


@dataclass(frozen=True, slots=True)
class FmsArrowReader:
    """Open Arrow files whose one column holds a token per row; must be asked before the Arrow reader."""

    format: str = _KIND.format
    title: str = "Arrow file with one record batch per document: IBM fms-fsdp"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the file magic and a schema of one scalar integer column of tokens."""
        if not head.startswith(_MAGIC):
            return False
        try:
            return _column(source) is not None
        except UnreadableError:
            return False  # the Arrow reader says what is wrong

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard; reads the header of every batch, as nothing else tells its length.

        Raises:
            UnreadableError: a batch is damaged.
            UsageError: `max_seq_len` is not positive.
        """
        column = _column(source)
        if column is None:
            raise UnreadableError("no column of tokens")
        ends, dtype, broken = _measure(source, column)
        n_tokens = int(ends[-1]) if ends.size else 0
        documents, _ = check_documents(Held(ends), n_tokens, "the record batches")
        counts, count_faults = _counts(source, int(ends.size), n_tokens)
        why = f"type of column {column}: tokens are {dtype.name}"
        kept = f"Arrow file, one scalar column {column}: a record batch is a document"
        tokens = _Batches(source, column, ends, dtype.str)
        shard = open_stream(
            _KIND,
            name,
            Stream(tokens=tokens, documents=documents, marks=Marks.told(settings)),
            spec=known_dtype(dtype, why),
            evidence=[kept, why, *counts],
            n_bytes=source.size,
            window=wanted_window(settings, extra=1, manner=_MANNER, is_rest_trained=True),
            faults=broken or count_faults,
        )
        return (shard,)


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    with decoding(source, "schema"), opened_ipc(source, is_stream=False) as reader:
        yield reader


def _column(source: Source) -> str | None:
    """Return the name of the one column of tokens, if the file is of this kind."""
    with _opened(source) as reader:
        schema = reader.schema
        if len(schema.names) == 1 and schema.names[0] in _COLUMNS and pat.is_integer(schema.field(0).type):
            return str(schema.names[0])
    return None


def _measure(source: Source, column: str) -> tuple[Int64Array, np.dtype[Any], tuple[Fault, ...]]:
    """Return `int64[document]`, where documents end, up to the first batch that is damaged."""
    lengths: list[int] = []
    faults: tuple[Fault, ...] = ()
    with _opened(source) as reader:
        dtype = np.dtype(str(reader.schema.field(column).type))
        n_batches = reader.num_record_batches
        try:
            for index in range(n_batches):
                with decoding(source, f"record batch {index}"):
                    lengths.append(_values(reader.get_batch(index)).size)
        except UnreadableError as error:
            n_lost = n_batches - len(lengths)
            message = f"{error}; {n_lost} of {n_batches} documents are not read"
            faults = (Fault(code="SHD001", message=message, n_hits=n_lost),)
    ends = np.cumsum(np.array(lengths, np.int64)) if lengths else empty_int64()
    return ends, dtype, faults


def _values(batch: pa.RecordBatch) -> NDArray[Any]:
    """Return `int[token]` of one document, without copy."""
    batch.validate()
    column: Any = batch.column(0)
    if column.null_count:
        raise UnreadableError("a token is null")
    return as_numpy(column)


@dataclass(frozen=True, slots=True, eq=False)
class _Batches:
    """Give the tokens of all batches as one array.

    Args:
        source: the file.
        column: name of the column.
        ends: `int64[document]`, where each batch ends.
        dtype: type of one token.
    """

    source: Source
    column: str
    ends: Int64Array
    dtype: str

    @property
    def size(self) -> int:
        """Tokens in all batches."""
        return int(self.ends[-1]) if self.ends.size else 0

    def view(self) -> ArrayView:
        """Return the tokens for slicing."""
        return _View(self)


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    batches: _Batches

    @property
    def size(self) -> int:
        return self.batches.size

    def __getitem__(self, key: slice, /) -> NDArray[Any]:
        begin, stop, step = key.indices(self.size)
        ends = self.batches.ends
        first, last = int(np.searchsorted(ends, begin, "right")), int(np.searchsorted(ends, stop, "left"))
        if stop <= begin:
            return np.empty(0, self.batches.dtype)
        base = int(ends[first - 1]) if first else 0
        with _opened(self.batches.source) as reader:
            found = []
            for index in range(first, last + 1):
                with decoding(self.batches.source, f"record batch {index}"):
                    found.append(_values(reader.get_batch(index)))
        joined: NDArray[Any] = np.concatenate(found)
        return joined[begin - base : stop - base : step]


def _counts(source: Source, n_documents: int, n_tokens: int) -> tuple[list[str], tuple[Fault, ...]]:
    """Compare with the line of `meta/*counts*.csv` that names the file, if there is one."""
    folder = source
    for _ in range(_FOLDERS_ABOVE):
        folder = folder.parent
        if folder.is_remote and len(folder.parts) < 2:
            break  # above the bucket
        for table in _tables(folder.child("meta")):
            line = _line(table, source)
            if line is None:
                continue
            declared, measured = line, (n_documents, n_tokens)
            text = f"{table.name} declares {declared[0]} documents and {declared[1]} tokens"
            if declared == measured:
                return [text], ()
            message = f"{text}, the file holds {n_documents} and {n_tokens}"
            return [text], (Fault(code="MAN003", message=message),)
    return [], ()


def _tables(folder: Source) -> list[Source]:
    try:
        found = [entry for entry, is_folder in folder.children() if not is_folder]
    except UnreadableError as error:
        if folder.is_remote and not isinstance(error, MissingError):
            raise
        return []
    return [table for table in found if fnmatch(table.name, "*counts*.csv")][:8]


def _line(table: Source, source: Source) -> tuple[int, int] | None:
    """Return documents and tokens from the line that ends in the file's folder and name."""
    wanted = (source.parent.name, source.name)
    try:
        text = table.read(0, _COUNTS_BYTES).decode()
        for row in csv.DictReader(text.splitlines()):
            named = PurePath(row.get("dataset/filename") or "").parts[-2:]
            if named == wanted or named == wanted[1:]:
                return int(row["documents"]), int(row["tokens"])
    except (UnreadableError, ValueError, KeyError, TypeError, csv.Error):
        return None
    return None
