"""One array of token ids in a `.npy`: rows side by side, or one stream.

    shape (rows, tokens)     each row is a pack
    shape (tokens,)          a stream: windows of `max_seq_len` tokens

Source: none; whoever calls `numpy.save` on a batch of packs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from packlint.errors import UnreadableError, UsageError
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.numpy_files.header import Header
from packlint.readers.shard import Layout, Part, Ragged, RawRows, Role, Settings
from packlint.readers.source import Source

__all__ = ["ArrayShard", "open_array"]

_PART_TOKENS = 1 << 24


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArrayShard:
    """Read an array of integers as rows of one length; the last may be shorter.

    Args:
        name: path relative to the inputs.
        layout: that it holds token ids only.
        source: the file.
        header: type and shape.
        row_tokens: tokens per row, at least 1.
    """

    name: str
    layout: Layout
    source: Source
    header: Header
    row_tokens: int

    @property
    def format(self) -> str:
        """Name of the format."""
        return "npy"

    @property
    def spec(self) -> DatasetSpec:
        """The storage type."""
        return DatasetSpec(token_dtype=Known(self.header.dtype.name, Origin.FORMAT, "descr in the header"))

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return self.source.size

    def parts(self) -> Sequence[Part]:
        """Return ranges of rows of about 16 Mi tokens."""
        n_rows = -(-self.header.n_values // self.row_tokens)
        step = max(_PART_TOKENS // self.row_tokens, 1)
        return [Part(i, a, min(step, n_rows - a)) for i, a in enumerate(range(0, n_rows, step))]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a part in order, as views of the mapped file.

        Raises:
            UnreadableError: the file shrank since it was opened.
        """
        if Role.INPUT_IDS not in roles:
            return
        header, length = self.header, self.row_tokens
        tokens = self.source.array(header.dtype, header.n_bytes, header.n_values)
        stop = part.first_row + part.n_rows
        step = max(block_tokens // length, 1)
        for first in range(part.first_row, stop, step):
            end = min(first + step, stop)
            values = np.asarray(tokens[first * length : min(end * length, header.n_values)])
            native = values.astype(values.dtype.newbyteorder("="), copy=False)
            offsets = np.minimum(np.arange(end - first + 1) * length, values.size)
            yield RawRows(
                row_numbers=np.arange(first, end), columns={Role.INPUT_IDS: Ragged(native, offsets)}
            )


def open_array(source: Source, name: str, header: Header, settings: Settings) -> ArrayShard:
    """Return the shard over an array of integers.

    Raises:
        UnreadableError: it holds something else, is cut off, or is a stream and no window is given.
        UsageError: the window is not positive.
    """
    if header.dtype.kind not in "iu":
        raise UnreadableError(f"the array holds {header.dtype}, expected integers")
    if len(header.shape) not in (1, 2):
        raise UnreadableError(f"the array has the shape {header.shape}, expected (rows, tokens) or (tokens,)")
    if header.n_values * header.dtype.itemsize > source.size - header.n_bytes:
        raise UnreadableError(f"truncated: the shape {header.shape} needs more than {source.size} bytes")
    is_stream = len(header.shape) == 1
    window = settings.max_seq_len if is_stream else header.shape[1]
    if window is None:
        raise UnreadableError("the array is one stream of tokens; give [spec] max_seq_len, its window")
    if is_stream and window < 1:
        raise UsageError(f"max_seq_len must be positive, not {window}")
    if header.is_fortran and not is_stream and header.shape[0] > 1:
        raise UnreadableError("the array is in Fortran order; save it with numpy.ascontiguousarray")
    return ArrayShard(
        name=name,
        layout=Layout(
            producer="a numpy array",
            trainer=None,
            columns={Role.INPUT_IDS: "the array"},
            evidence=(_evidence(header, window, is_stream),),
        ),
        source=source,
        header=header,
        row_tokens=max(window, 1),
    )


def _evidence(header: Header, window: int, is_stream: bool) -> str:
    what = f"numpy array of {header.dtype.name}, shape {header.shape}"
    if is_stream:
        return f"{what}: windows of max_seq_len = {window} tokens, the last may be shorter"
    return f"{what}: one pack per row"
