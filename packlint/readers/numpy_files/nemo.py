"""Packed fine-tuning rows of NeMo 2 and Megatron-Bridge in a `.npy`: a pickled list of dicts.

    header: descr '|O', shape (rows,)
    pickle: [{"input_ids": [1, 5, 2, 1, 7, 2], "loss_mask": [False, True, …], "seq_start_id": [0, 3]}, …]

`loss_mask` is moved left by one: entry *i* is about the prediction made at *i*. `seq_start_id` holds the
starts of the samples and no end. Beside the file may lie `<pack_size>_metadata.jsonl` (see `packing_claims`).

Source: `src/megatron/bridge/data/packing/{algorithms,offline}.py` (NVIDIA-NeMo/Megatron-Bridge, 067f987df);
`nemo/utils/sequence_packing_utils.py` (NVIDIA-NeMo/NeMo, 8cfedd7203).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec
from packlint.readers.collecting import RowBuffer
from packlint.readers.layouts import ColumnKind, Element, detect_layout, factors
from packlint.readers.numpy_files.header import Header
from packlint.readers.numpy_files.pickled import load_object_array
from packlint.readers.numpy_files.pickled_values import Array, Items, Pickled
from packlint.readers.packing_claims import PackingClaims, checked, read_claims
from packlint.readers.shard import Fault, Layout, Part, RawRows, Role, Settings
from packlint.readers.source import Source
from packlint.readers.values import (
    BadRowError,
    kind_of,
    most_common_kinds,
    product,
    row_values,
)

__all__ = ["PickledShard", "open_pickled"]

_SAMPLE_ROWS = 32
_MAX_SHARED = 4
"""Values of all rows per byte of the file: rows may share a list, but not without bound."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PickledShard:
    """Read one pickled array of rows; the rows are built anew at each reading, in about the file's size.

    Args:
        name: path relative to the inputs.
        layout: which key means what.
        source: the file.
        header: how many rows it promises.
        names: keys seen, to tell a key from a product of two.
        claims: what the metadata beside the file says.
    """

    name: str
    layout: Layout
    source: Source
    header: Header
    names: frozenset[str]
    claims: PackingClaims

    @property
    def format(self) -> str:
        """Name of the format."""
        return "npy"

    @property
    def spec(self) -> DatasetSpec:
        """The pack size that the metadata tell."""
        return self.claims.spec

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return self.source.size

    def parts(self) -> Sequence[Part]:
        """Return the file as one piece: a pickle can only be read whole."""
        return [Part(0, 0, self.header.shape[0])]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows in order; one that is no dict of lists becomes a fault.

        Raises:
            UnreadableError: the pickle is damaged, or shares lists so often that they would fill the memory.
        """
        columns = {
            role: factors(name, self.names) for role, name in self.layout.columns.items() if role in roles
        }
        yield from checked(self._rows(columns, block_tokens), self.claims, is_whole=True)

    def _rows(self, columns: Mapping[Role, tuple[str, ...]], block_tokens: int) -> Iterator[RawRows]:
        rows = _load(self.source, self.header)
        buffer = RowBuffer(columns)
        if len(rows) != self.header.shape[0]:
            message = f"the pickle holds {len(rows)} rows, the header says {self.header.shape[0]}"
            yield _only(Fault(code="SHD001", message=message), columns)
        n_values = 0
        for number, row in enumerate(rows):
            try:
                read = {role: _column(row, role, names) for role, names in columns.items()}
                n_values += sum(values.size for values in read.values())
                buffer.add(number, read)
            except BadRowError as bad:
                buffer.add_fault(number, bad.code, bad.message)
            if n_values > _MAX_SHARED * self.source.size:
                raise UnreadableError(f"rows up to {number} hold more values than the file has room for")
            if buffer.is_full(block_tokens):
                yield buffer.take()
        if buffer.n_rows:
            yield buffer.take()


def open_pickled(source: Source, name: str, header: Header, settings: Settings) -> PickledShard:
    """Return the shard over a pickled array of rows.

    Raises:
        UnreadableError: the pickle is damaged, asks for anything but plain data, or holds no token ids.
    """
    if len(header.shape) != 1:
        raise UnreadableError(f"the array of objects has the shape {header.shape}, expected (rows,)")
    rows = [row for row in _load(source, header)[:_SAMPLE_ROWS] if isinstance(row, dict)]
    if not rows:
        raise UnreadableError("the array holds no rows as NeMo writes them: dicts of lists")
    kinds = most_common_kinds({name: _kind(value) for name, value in row.items()} for row in rows)
    layout = detect_layout(kinds, renamed=settings.columns)
    claims = read_claims(source, layout)
    return PickledShard(
        name=name, layout=layout, source=source, header=header, names=frozenset(kinds), claims=claims
    )


def _load(source: Source, header: Header) -> list[Pickled]:
    return load_object_array(source.read(header.n_bytes))


def _only(fault: Fault, columns: Mapping[Role, tuple[str, ...]]) -> RawRows:
    raw = RowBuffer(columns).take()
    return RawRows(row_numbers=raw.row_numbers, columns=raw.columns, faults=(fault,))


def _kind(value: Pickled) -> ColumnKind:
    if isinstance(value, Array):
        value = value.values
    if not isinstance(value, Items):
        return kind_of(value)
    first = next((chunk for chunk in value.chunks if len(chunk)), None)
    if first is None:
        return ColumnKind(Element.NULL, 1)
    inner = kind_of(first)
    if isinstance(first, list) and isinstance(first[0], (Items, Array)):
        return ColumnKind(Element.OTHER, 2)
    return inner


def _column(row: Pickled, role: Role, names: tuple[str, ...]) -> NDArray[Any]:
    if not isinstance(row, dict):
        raise BadRowError("SHD001", f"it is a {type(row).__name__}, expected a dict")
    for name in names:
        if name not in row:
            raise BadRowError("SHD001", f"there is no {name}")
    return product(names, [row_values(role, name, _plain(row[name])) for name in names])


def _plain(value: Pickled) -> Any:
    """Return a list as one array where it holds numbers of one kind, else value by value."""
    if isinstance(value, Array):
        return _plain(value.values)
    if not isinstance(value, Items):
        return value
    arrays = [chunk for chunk in value.chunks if isinstance(chunk, np.ndarray)]
    if len(arrays) == len(value.chunks) and len({array.dtype for array in arrays}) == 1:
        return np.concatenate(arrays)
    return [v for chunk in value.chunks for v in (chunk.tolist() if isinstance(chunk, np.ndarray) else chunk)]
