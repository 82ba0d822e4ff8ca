"""Arrow IPC, stream or file, through a memory map; Hugging Face `datasets` directories are made of them."""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec
from packlint.readers.columns import blocks, column_kinds, stored_columns, stored_spec
from packlint.readers.decoding import decoding
from packlint.readers.joining import joined
from packlint.readers.layouts import ChoosesLayout, layout_by_names
from packlint.readers.metadata.arrow import lacks_field, pieces, stored_path
from packlint.readers.metadata.values import METADATA_ROWS, Column
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings, Shard
from packlint.readers.source import Source

__all__ = ["ArrowFileShard", "ArrowReader", "opened_ipc"]

_FILE_MAGIC = b"ARROW1"
_CONTINUATION = b"\xff\xff\xff\xff"
_END_OF_STREAM = _CONTINUATION + bytes(4)
_MAX_SCHEMA_BYTES = 1 << 26
_MAX_PARTS = 16
_PART_BYTES = 64 << 20
"""Smallest piece: finding the beginning of a piece of a stream costs a walk over the messages before it."""
_SIDECARS = ("state.json", "dataset_info.json")


@dataclass(frozen=True, slots=True)
class ArrowReader:
    """Open Arrow IPC streams and files by their first bytes."""

    format: str = "arrow"
    title: str = "Arrow IPC stream or file, datasets.save_to_disk: TRL, Axolotl, LLaMA-Factory, XTuner"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell whether the file begins with the file magic or with the length of a schema message."""
        return head.startswith(_FILE_MAGIC) or _begins_with_message(head)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard, having read the schema only.

        Raises:
            UnreadableError: the schema is damaged, or no column holds token ids.
        """
        return (self.open_as(source, name, layout_by_names(settings.columns)),)

    def open_as(self, source: Source, name: str, choose: ChoosesLayout) -> ArrowFileShard:
        """Return the shard with the layout that is chosen by what its columns hold.

        Raises:
            UnreadableError: the schema is damaged.
        """
        is_stream = source.read(0, len(_FILE_MAGIC)) != _FILE_MAGIC
        with decoding(source, "schema"), opened_ipc(source, is_stream=is_stream) as reader:
            schema = reader.schema
            kinds = column_kinds(schema)
        sidecars = [sidecar for sidecar in _SIDECARS if source.sibling(sidecar).is_file()]
        layout = choose(kinds, ("datasets",) if sidecars else ())
        if sidecars:
            layout = _with_evidence(layout, sidecars)
        return ArrowFileShard(
            name=name,
            source=source,
            layout=layout,
            spec=stored_spec(schema, layout),
            n_bytes=source.size,
            schema=schema,
            format="datasets" if sidecars else "arrow-stream" if is_stream else "arrow-file",
            is_stream=is_stream,
        )


def _with_evidence(layout: Layout, sidecars: Sequence[str]) -> Layout:
    seen = f"Hugging Face datasets: {' and '.join(sidecars)} beside the file"
    return replace(layout, evidence=(*layout.evidence, seen))


def _begins_with_message(head: bytes) -> bool:
    if len(head) < 16 or not head.startswith(_CONTINUATION):
        return False
    # A stream of 16-bit tokens can begin with 0xFFFF twice; a message then has a length and a root table.
    length, root = struct.unpack_from("<iI", head, 4)
    return bool(0 < length <= _MAX_SCHEMA_BYTES and length % 4 == 0 and 4 <= root < length)


@contextmanager
def opened_ipc(source: Source, *, is_stream: bool, fields: Sequence[int] = ()) -> Iterator[Any]:
    """Give the reader of a file; batches read from it keep the memory map alive by themselves.

    A remote file in the file format gives the wanted columns only, a remote stream all of them.
    """
    options = pa.ipc.IpcReadOptions(included_fields=list(fields), use_threads=False)
    with _mapped(source) as file:
        open_it = pa.ipc.open_stream if is_stream else pa.ipc.open_file
        with open_it(file, options=options) as reader:
            yield reader


def _mapped(source: Source) -> pa.NativeFile:
    if source.is_remote:
        return pa.PythonFile(source.open(), mode="r")
    return pa.memory_map(source.location)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowFileShard:
    """Read one Arrow IPC stream or file.

    Args:
        name: path relative to the inputs.
        source: the file.
        layout: how its rows are laid out.
        spec: the storage type of the ids.
        n_bytes: bytes on disk.
        schema: names and types of all stored columns, in order.
        format: `datasets`, `arrow-stream` or `arrow-file`.
        is_stream: batches can only be found one after the other.
    """

    name: str
    source: Source
    layout: Layout
    spec: DatasetSpec
    n_bytes: int
    schema: pa.Schema
    format: str
    is_stream: bool

    def parts(self) -> Sequence[Part]:
        """Return pieces of whole record batches, at most 16 of them.

        The last piece of a damaged file ends before the damage; `rows` looks one batch on and reports it.
        A remote file is one piece, read once: only the way through it tells its batches.
        """
        if self.source.is_remote:
            return [Part(0, 0, 0)]
        sizes: list[int] = []
        is_damaged = False
        try:
            for batch in self._batches([self.layout.columns[Role.INPUT_IDS]]):
                sizes.append(batch.num_rows)
        except UnreadableError:
            is_damaged = True
        found = _grouped(sizes, self.n_bytes)
        return [Part(0, 0, 0)] if is_damaged and not found else found

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a piece in order.

        Raises:
            UnreadableError: a record batch of the piece, or the one after it, cannot be decoded.
        """
        columns = stored_columns(self.layout, roles, self.schema.names)
        if not columns:
            return
        wanted = sorted({name for names in columns.values() for name in names})
        batches = self._batches_of(part, wanted)
        pairs = self.layout.pairs
        decoded = (blocks(batch, columns, first_row, block_tokens, pairs) for first_row, batch in batches)
        yield from joined(chain.from_iterable(decoded), block_tokens)

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column."""
        return lacks_field(self.schema, name)

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of a piece in order.

        Raises:
            UnreadableError: a record batch of the piece, or the one after it, cannot be decoded.
        """
        wanted = sorted({stored_path(self.schema, name)[0] for name in names})
        for first_row, batch in self._batches_of(part, wanted):
            with decoding(self.source, f"rows from {first_row}, columns {', '.join(names)}"):
                batch.validate(full=True)
                found = list(pieces(batch, self.schema, names, most_rows))
            yield from found

    def _batches_of(self, part: Part, names: Sequence[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the record batches of a piece, each with the number of its first row."""
        first_row, stop = 0, sys.maxsize if self.source.is_remote else part.first_row + part.n_rows
        for batch in self._batches(names):
            if batch.num_rows and first_row >= stop:
                return
            if first_row >= part.first_row:
                yield first_row, batch
            first_row += batch.num_rows

    def _batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the record batches with these columns; without compression nothing is copied."""
        fields = [self.schema.names.index(name) for name in names]
        with ExitStack() as stack:
            with decoding(self.source, "schema"):
                reader = stack.enter_context(opened_ipc(self.source, is_stream=self.is_stream, fields=fields))
            index = 0
            while True:
                with decoding(self.source, f"record batch {index}"):
                    batch = _next_batch(reader, index, self.is_stream)
                if batch is None:
                    break
                yield batch
                index += 1
        self._demand_end(index)

    def _demand_end(self, n_batches: int) -> None:
        """Refuse a data set whose writer was stopped between two batches: what is there reads well."""
        if self.format != "datasets" or not self.is_stream:
            return
        tail = self.source.read(max(self.n_bytes - len(_END_OF_STREAM), 0))
        if tail != _END_OF_STREAM:
            raise UnreadableError(f"no end mark after record batch {n_batches - 1}: the file is cut off")


def _next_batch(reader: Any, index: int, is_stream: bool) -> pa.RecordBatch | None:
    batch: pa.RecordBatch | None = None
    if is_stream:
        with suppress(StopIteration):
            batch = reader.read_next_batch()
    elif index < reader.num_record_batches:
        batch = reader.get_batch(index)
    return batch


def _grouped(sizes: Sequence[int], n_bytes: int) -> list[Part]:
    """Return pieces of whole batches with about the same number of rows each."""
    n_parts = min(max(n_bytes // _PART_BYTES, 1), _MAX_PARTS)
    least = -(-sum(sizes) // n_parts)
    found: list[Part] = []
    first_row = n_rows = 0
    for index, size in enumerate(sizes):
        n_rows += size
        if n_rows and (n_rows >= least or index == len(sizes) - 1):
            found.append(Part(len(found), first_row, n_rows))
            first_row, n_rows = first_row + n_rows, 0
    return found
