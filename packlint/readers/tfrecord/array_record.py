"""The reader of ArrayRecord files whose records are `tf.train.Example`s, through the package `array_record`.

ArrayRecord is chunked and compressed in ways of its own (Riegeli); its package decodes it. Files begin with

    83 af 70 d1 0d 88 4a 3f  00 00 00 00 00 00 00 00

Source: https://github.com/google/array_record (2455322); signature as observed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec
from packlint.readers.layouts import factors
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.tfrecord.examples import example_rows
from packlint.readers.tfrecord.framing import Records, join_records
from packlint.readers.tfrecord.reader import example_layouts

__all__ = ["ArrayRecordReader", "ArrayRecordShard"]

_MAGIC = bytes.fromhex("83af70d10d884a3f") + bytes(8)
_PART_ROWS = 1 << 14
_BLOCK_ROWS = 64
_DAMAGE = (ValueError, RuntimeError, IndexError, OSError)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ArrayRecordShard:
    """Read one ArrayRecord file.

    Args:
        name: path relative to the inputs.
        layout: which feature means what.
        source: the file.
        names: features seen, to tell a feature from a product of two.
        n_records: records in the file, as its footer says.
    """

    name: str
    layout: Layout
    source: Source
    names: frozenset[str]
    n_records: int

    @property
    def format(self) -> str:
        """Name of the format."""
        return ArrayRecordReader.format

    @property
    def spec(self) -> DatasetSpec:
        """Nothing: an Example stores every integer alike."""
        return DatasetSpec()

    @property
    def n_bytes(self) -> int:
        """Bytes on disk."""
        return self.source.size

    def parts(self) -> Sequence[Part]:
        """Return ranges of 16,384 rows."""
        firsts = range(0, self.n_records, _PART_ROWS)
        return [Part(i, first, min(_PART_ROWS, self.n_records - first)) for i, first in enumerate(firsts)]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a part in order; a damaged record becomes a fault.

        Raises:
            UnreadableError: the package cannot read on.
        """
        columns = {
            role: factors(name, self.names) for role, name in self.layout.columns.items() if role in roles
        }
        stop = part.first_row + part.n_rows
        yield from example_rows(_records(self.source, part.first_row, stop), columns, block_tokens)


class ArrayRecordReader:
    """Recognise and open ArrayRecord files."""

    format = "array_record"
    title = "ArrayRecord of tf.train.Example with token lists: Grain, MaxText (extra `array-record`)"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the signature of its first block."""
        return head.startswith(_MAGIC)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the one shard, or two for encoder-decoder rows; reads the first few records.

        Raises:
            UnreadableError: the package is missing, the file is damaged, or no feature holds token ids.
        """
        n_records = _count(source)
        if n_records > source.size:  # a claim that would make a list of parts without end
            raise UnreadableError(f"damaged: {n_records} records in {source.size} bytes")
        names, layouts = example_layouts(_records(source, 0, n_records), settings)
        return [
            ArrayRecordShard(
                name=name + suffix, layout=layout, source=source, names=names, n_records=n_records
            )
            for suffix, layout in layouts.items()
        ]


def _count(source: Source) -> int:
    with _opened(source) as reader:
        return int(reader.num_records())


def _records(source: Source, first: int, stop: int) -> Iterator[Records]:
    with _opened(source) as reader:
        for at in range(first, stop, _BLOCK_ROWS):
            yield join_records(reader.read(list(range(at, min(at + _BLOCK_ROWS, stop)))), at)


@contextmanager
def _opened(source: Source) -> Iterator[Any]:
    """Give the package's own reader, and one kind of error for all that it raises."""
    if source.is_remote:
        raise UnreadableError("ArrayRecord is read from local files only; copy the shard first")
    try:
        from array_record.python.array_record_module import ArrayRecordReader as Module
    except ImportError:
        raise UnreadableError("ArrayRecord needs a package: pip install 'packlint[array-record]'") from None
    reader = None
    try:
        reader = Module(source.location)
        yield reader
    except _DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UnreadableError(f"damaged: {reason}") from None
    finally:
        with suppress(*_DAMAGE):  # closing a reader that failed raises again
            if reader is not None:
                reader.close()
