"""Arrow IPC, stream or file, through a memory map; Hugging Face `datasets` directories are made of them."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec
from packlint.readers.columns import blocks, column_kinds, stored_columns, stored_spec
from packlint.readers.decoding import decoding
from packlint.readers.layouts import detect_layout
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings, Shard

__all__ = ["ArrowReader"]

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

    def sniff(self, path: Path, head: bytes) -> bool:
        """Tell whether the file begins with the file magic or with the length of a schema message."""
        return head.startswith(_FILE_MAGIC) or _begins_with_message(head)

    def open(self, path: Path, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard, having read the schema only.

        Raises:
            UnreadableError: the schema is damaged, or no column holds token ids.
        """
        with decoding(path, "header"):
            with path.open("rb") as file:
                is_stream = file.read(len(_FILE_MAGIC)) != _FILE_MAGIC
            n_bytes = path.stat().st_size
        with decoding(path, "schema"), _opened(path, is_stream) as reader:
            schema = reader.schema
            kinds = column_kinds(schema)
        sidecars = [sidecar for sidecar in _SIDECARS if (path.parent / sidecar).is_file()]
        layout = detect_layout(
            kinds, renamed=settings.columns, format_marks=("datasets",) if sidecars else ()
        )
        if sidecars:
            layout = _with_evidence(layout, sidecars)
        shard = _ArrowShard(
            name=name,
            path=path,
            layout=layout,
            spec=stored_spec(schema, layout),
            n_bytes=n_bytes,
            stored=tuple(schema.names),
            format="datasets" if sidecars else "arrow-stream" if is_stream else "arrow-file",
            is_stream=is_stream,
        )
        return (shard,)


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
def _opened(path: Path, is_stream: bool, fields: Sequence[int] = ()) -> Iterator[Any]:
    """Give the reader of a file; batches read from it keep the memory map alive by themselves."""
    options = pa.ipc.IpcReadOptions(included_fields=list(fields), use_threads=False)
    with pa.memory_map(str(path)) as source:
        open_it = pa.ipc.open_stream if is_stream else pa.ipc.open_file
        with open_it(source, options=options) as reader:
            yield reader


@dataclass(frozen=True, slots=True, kw_only=True)
class _ArrowShard:
    """Read one Arrow IPC stream or file.

    Args:
        name: path relative to the inputs.
        path: the file.
        layout: how its rows are laid out.
        spec: the storage type of the ids.
        n_bytes: bytes on disk.
        stored: names of all stored columns, in order.
        format: `datasets`, `arrow-stream` or `arrow-file`.
        is_stream: batches can only be found one after the other.
    """

    name: str
    path: Path
    layout: Layout
    spec: DatasetSpec
    n_bytes: int
    stored: tuple[str, ...]
    format: str
    is_stream: bool

    def parts(self) -> Sequence[Part]:
        """Return pieces of whole record batches, at most 16 of them.

        The last piece of a damaged file ends before the damage; `rows` looks one batch on and reports it.
        """
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
        columns = stored_columns(self.layout, roles, self.stored)
        if not columns:
            return
        first_row, stop = 0, part.first_row + part.n_rows
        for batch in self._batches(sorted({name for names in columns.values() for name in names})):
            if batch.num_rows and first_row >= stop:
                return
            if first_row >= part.first_row:
                yield from blocks(batch, columns, first_row, block_tokens)
            first_row += batch.num_rows

    def _batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the record batches with these columns; without compression nothing is copied."""
        fields = [self.stored.index(name) for name in names]
        with ExitStack() as stack:
            with decoding(self.path, "schema"):
                reader = stack.enter_context(_opened(self.path, self.is_stream, fields))
            index = 0
            while True:
                with decoding(self.path, f"record batch {index}"):
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
        with decoding(self.path, "end mark"), self.path.open("rb") as file:
            file.seek(-len(_END_OF_STREAM), os.SEEK_END)
            tail = file.read()
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
