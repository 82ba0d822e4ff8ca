"""One MDS shard → rows.

    n     offsets      config   sample 0                                         sample 1 …
    u32   u32[n + 1]   JSON     u32 size of each value of variable size, values
    0     4            4n + 8   offsets[0]                                       offsets[1]

Offsets count from the beginning of the file; values stand in the order of the columns' names.

Source: `streaming/base/format/mds/writer.py` (mosaicml-streaming 0.13.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array
from packlint.model.spec import DatasetSpec
from packlint.readers.collecting import RowBuffer
from packlint.readers.layouts import factors
from packlint.readers.mds.encodings import Encoding
from packlint.readers.mds.files import Content, read_shard_file
from packlint.readers.mds.index import Entry
from packlint.readers.mds.layout import INDICES
from packlint.readers.mds.metadata import lacks_value, read_value
from packlint.readers.metadata.values import METADATA_ROWS, Column
from packlint.readers.shard import Fault, Layout, Part, RawRows, Role
from packlint.readers.source import Source
from packlint.readers.values import BadRowError, product, row_values

__all__ = ["MdsShard", "Table", "open_table"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MdsShard:
    """Read one shard of an MDS directory.

    Args:
        name: path relative to the inputs.
        layout: which column means what.
        spec: the storage type of the ids.
        index: the `index.json`, or the shard itself when there is none.
        entry: what the index says.
        encodings: how each column is stored.
        is_listed: the index lists the shard.
    """

    name: str
    layout: Layout
    spec: DatasetSpec
    index: Source
    entry: Entry
    encodings: Mapping[str, Encoding]
    is_listed: bool = True

    @property
    def format(self) -> str:
        """Name of the format."""
        return "mds"

    @property
    def n_bytes(self) -> int:
        """Bytes on disk, as the index says."""
        return (self.entry.packed or self.entry.raw).n_bytes

    def parts(self) -> Sequence[Part]:
        """Return the shard as one piece: writers keep shards at 64 MiB."""
        return [Part(0, 0, self.entry.n_samples)]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the samples in order; a damaged one becomes a fault.

        Raises:
            UnreadableError: the shard cannot be decompressed, or its offsets are damaged.
        """
        columns = {
            role: factors(name, self.encodings) for role, name in self.layout.columns.items() if role in roles
        }
        buffer = RowBuffer(columns)
        content = read_shard_file(self.index, self.entry)
        faults = [*content.faults, *self._unlisted()]
        for at, row in self._decoded(content, columns, faults):
            if isinstance(row, BadRowError):
                buffer.add_fault(at, row.code, row.message)
            else:
                buffer.add(at, row)
            if buffer.is_full(block_tokens):
                yield _with(buffer.take(), faults)
        if buffer.n_rows or faults:
            yield _with(buffer.take(), faults)

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column."""
        return lacks_value(name, self.encodings)

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of all samples in order, nulls for damaged ones.

        Raises:
            UnreadableError: the shard cannot be decompressed, or its offsets are damaged.
        """
        data = read_shard_file(self.index, self.entry).data
        table = None if data is None else open_table(data, self.entry)
        for first in range(0, 0 if table is None else table.n_samples, most_rows):
            assert table is not None, "the range is empty without one"
            samples = range(first, min(first + most_rows, table.n_samples))
            places = [_places(table, at) for at in samples]
            yield {
                name: [read_value(name, self.encodings, table.data, place) for place in places]
                for name in names
            }

    def _unlisted(self) -> list[Fault]:
        if self.is_listed:
            return []
        message = "the index.json beside it does not list it, so that no trainer reads it"
        return [Fault(code="SHD006", message=message)]

    def _decoded(
        self, content: Content, columns: Mapping[Role, tuple[str, ...]], faults: list[Fault]
    ) -> Iterator[tuple[int, dict[Role, NDArray[Any]] | BadRowError]]:
        if content.data is None:
            return
        table = open_table(content.data, self.entry)
        if table.n_samples != self.entry.n_samples:
            message = f"the shard holds {table.n_samples} samples, the index says {self.entry.n_samples}"
            faults.append(Fault(code="MAN003", message=message))
        for at in range(table.n_samples):
            try:
                places = table.places(at)
                yield at, {role: self._column(role, names, table, places) for role, names in columns.items()}
            except BadRowError as bad:
                yield at, bad

    def _column(
        self, role: Role, names: tuple[str, ...], table: Table, places: Mapping[str, tuple[int, int]]
    ) -> NDArray[Any]:
        parts = []
        for name in names:
            try:
                value = self.encodings[name].decode(table.data, *places[name])
            except BadRowError as bad:
                raise BadRowError(bad.code, f"{name}: {bad.message}") from None
            parts.append(_offsets_of(value) if name == INDICES else row_values(role, name, value))
        return product(names, parts)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Say where the samples of a shard lie.

    Args:
        data: `uint8[byte]`, the shard.
        offsets: `int64[sample + 1]`, never falling.
        names: columns in the order of their values.
        sizes: bytes of each, none where they vary.
    """

    data: NDArray[np.uint8]
    offsets: Int64Array
    names: tuple[str, ...]
    sizes: tuple[int | None, ...]

    @property
    def n_samples(self) -> int:
        """Samples in the shard."""
        return int(self.offsets.size - 1)

    def places(self, sample: int) -> dict[str, tuple[int, int]]:
        """Return first byte and one past the last of each value of a sample.

        Raises:
            BadRowError: SHD001, the sample lies beyond the shard or contradicts its own sizes.
        """
        begin, stop = int(self.offsets[sample]), int(self.offsets[sample + 1])
        n_varying = sum(size is None for size in self.sizes)
        at = begin + 4 * n_varying
        if stop > self.data.size:
            raise BadRowError("SHD001", f"the sample ends at byte {stop}, the shard at byte {self.data.size}")
        if at > stop:
            raise BadRowError("SHD001", f"the sample has {stop - begin} bytes, too few for its sizes")
        varying = iter(np.frombuffer(self.data, "<u4", n_varying, begin).tolist() if n_varying else ())
        found: dict[str, tuple[int, int]] = {}
        for name, fixed in zip(self.names, self.sizes, strict=True):
            size = next(varying) if fixed is None else fixed
            found[name] = (at, at + size)
            at += size
        if at != stop:
            raise BadRowError("SHD001", f"its values end at byte {at}, the sample at byte {stop}")
        return found


def _places(table: Table, sample: int) -> Mapping[str, tuple[int, int]]:
    """Return where the values of a sample lie; nowhere for a damaged one, which `rows` reports."""
    try:
        return table.places(sample)
    except BadRowError:
        return {}


def open_table(data: NDArray[np.uint8], entry: Entry) -> Table:
    """Return where the samples of a shard lie.

    Raises:
        UnreadableError: the offsets are damaged.
    """
    if data.size < 8:
        raise UnreadableError(f"truncated: {data.size} bytes are no MDS shard")
    n_samples = int.from_bytes(data[:4].tobytes(), "little")
    begin = 8 + 4 * n_samples
    if begin > data.size:
        raise UnreadableError(f"{n_samples} samples need {begin} bytes of offsets, the shard has {data.size}")
    offsets = np.frombuffer(data, "<u4", n_samples + 1, 4).astype(np.int64)
    if offsets[0] < begin or (np.diff(offsets) < 0).any():
        raise UnreadableError("the offsets of the samples fall")
    return Table(data, offsets, entry.names, entry.sizes)


def _offsets_of(indices: NDArray[Any]) -> Int64Array:
    """Return `int64[n + 1]`, the offsets that pairs of start and end stand for.

    Raises:
        BadRowError: SHD001, the pairs leave gaps or overlap, or there is none.
    """
    if indices.dtype.kind not in "iu" or indices.size == 0 or indices.size % 2:
        raise BadRowError("SHD001", f"{INDICES} holds {indices.size} numbers, expected pairs")
    pairs = indices.astype(np.int64).reshape(-1, 2)
    apart = np.flatnonzero(pairs[1:, 0] != pairs[:-1, 1])
    if apart.size:
        at = int(apart[0]) + 1
        message = f"{INDICES}[{at}] begins at {pairs[at, 0]}, the one before ends at {pairs[at - 1, 1]}"
        raise BadRowError("SHD001", message)
    return np.append(pairs[:, 0], pairs[-1, 1])


def _with(raw: RawRows, faults: list[Fault]) -> RawRows:
    """Return the rows with the faults of the shard as a whole, which are thereby reported."""
    joined = RawRows(row_numbers=raw.row_numbers, columns=raw.columns, faults=(*faults, *raw.faults))
    faults.clear()
    return joined
