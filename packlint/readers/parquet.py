"""Parquet: one piece per row group, or for several small ones; a bounded number of rows decoded at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import pyarrow as pa
import pyarrow.parquet as pq

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec
from packlint.readers.columns import blocks, column_kinds, stored_columns, stored_spec
from packlint.readers.decoding import decoding
from packlint.readers.joining import joined
from packlint.readers.layouts import ChoosesLayout, layout_by_names
from packlint.readers.metadata.arrow import lacks_field, pieces, stored_path
from packlint.readers.metadata.values import METADATA_ROWS, Column
from packlint.readers.packing_claims import PackingClaims, checked, read_claims
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings, Shard
from packlint.readers.source import Source

__all__ = ["ParquetReader", "ParquetShard"]

_MAGIC = b"PAR1"
_ENCRYPTED = b"PARE"
_DECODED_TOKENS = 1 << 21
"""Tokens decoded at a time, so that a row group of any size fits into memory."""
_DECODED_ROWS = 1 << 16
_PROBED_ROWS = 16
_BUFFER_BYTES, _PROBE_BUFFER_BYTES = 1 << 22, 1 << 16
"""Bytes of a column that are fetched at a time from a remote file, and when looking at the first rows."""
_PART_BYTES = 1 << 23
"""Encoded bytes up to which neighbouring row groups make one piece: a million tokens or two."""
_FEW_ROWS = 64
"""Row groups of no more rows are decoded at once: rows of 128 Ki tokens make 8 Mi of them."""


@dataclass(frozen=True, slots=True)
class ParquetReader:
    """Open Parquet files by the magic at their beginning."""

    format: str = "parquet"
    title: str = "Apache Parquet: TRL, Megatron-Bridge (.idx.parquet), any data set exported by Hugging Face"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell whether the file begins as Parquet does."""
        return head.startswith((_MAGIC, _ENCRYPTED))

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard, having read the footer only.

        Raises:
            UnreadableError: the footer is damaged, or no column holds token ids.
        """
        return (self.open_as(source, name, layout_by_names(settings.columns)),)

    def open_as(self, source: Source, name: str, choose: ChoosesLayout) -> ParquetShard:
        """Return the shard with the layout that is chosen by what its columns hold.

        Raises:
            UnreadableError: the footer is damaged.
        """
        with decoding(source, "footer"):
            with _opened(source) as file:
                schema, metadata = file.schema_arrow, file.metadata
                kinds = column_kinds(schema)
                groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
                sizes = tuple((group.num_rows, group.total_byte_size) for group in groups)
            n_bytes = source.size
        layout = choose(kinds, _marks(schema))
        claims = read_claims(source, layout)
        return ParquetShard(
            name=name,
            source=source,
            layout=layout,
            spec=stored_spec(schema, layout).or_else(claims.spec),
            claims=claims,
            n_bytes=n_bytes,
            row_groups=sizes,
            schema=schema,
            footer=metadata if source.is_remote else None,
        )


def _opened(
    source: Source, footer: pq.FileMetaData | None = None, buffer_bytes: int = _BUFFER_BYTES
) -> pq.ParquetFile:
    """Open the file: mapped, or as ranges of the wanted columns only, a buffer of each at a time."""
    if not source.is_remote:
        return pq.ParquetFile(source.path, memory_map=True)
    ranges = pa.PythonFile(source.open_ranges(), mode="r")
    return pq.ParquetFile(ranges, metadata=footer, buffer_size=buffer_bytes, pre_buffer=False)


def _marks(schema: pa.Schema) -> tuple[str, ...]:
    """Return what the metadata says of who wrote the file."""
    return ("datasets",) if b"huggingface" in (schema.metadata or {}) else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetShard:
    """Read one Parquet file.

    Args:
        name: path relative to the inputs.
        source: the file.
        layout: how its rows are laid out.
        spec: the storage type of the ids, and the pack size that metadata beside the file tell.
        claims: what such metadata say of the rows.
        n_bytes: bytes on disk.
        row_groups: rows, and bytes before compression, of each row group.
        schema: types of all stored columns.
        footer: what the end of a remote file says, so that it is fetched only once.
    """

    name: str
    source: Source
    layout: Layout
    spec: DatasetSpec
    claims: PackingClaims
    n_bytes: int
    row_groups: tuple[tuple[int, int], ...]
    schema: pa.Schema
    footer: pq.FileMetaData | None = None
    format: str = "parquet"

    def parts(self) -> Sequence[Part]:
        """Return one piece per row group that has rows; small neighbours are one piece together."""
        rows = [sum(self.row_groups[i][0] for i in groups) for groups in self._pieces()]
        firsts = accumulate(rows, initial=0)
        return [Part(i, first, n) for i, (first, n) in enumerate(zip(firsts, rows, strict=False))]

    def _pieces(self) -> list[list[int]]:
        """Return the numbers of the row groups of each piece; those without rows are in none."""
        found: list[list[int]] = []
        n_bytes = 0
        for group, (n_rows, size) in enumerate(self.row_groups):
            if n_rows <= 0:
                continue
            n_bytes += max(size, 0)
            if not found or n_bytes > _PART_BYTES:
                found.append([])
                n_bytes = max(size, 0)
            found[-1].append(group)
        return found

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a piece in order.

        Raises:
            UnreadableError: a row group of the piece cannot be decoded.
        """
        groups = self._pieces()[part.index]
        with decoding(self.source, _named(groups)):
            file = _opened(self.source, self.footer)
        with file:
            columns = stored_columns(self.layout, roles, file.schema_arrow.names)
            rows = self._in_turn(file, groups, part.first_row, columns, block_tokens)
            yield from checked(joined(rows, block_tokens), self.claims, is_whole=False)

    def lacks(self, name: str) -> str | None:
        """Say why there is no such column."""
        return lacks_field(self.schema, name)

    def read_columns(
        self, part: Part, names: Sequence[str], most_rows: int = METADATA_ROWS
    ) -> Iterator[Mapping[str, Column]]:
        """Yield the values of a piece in order.

        Raises:
            UnreadableError: a row group of the piece cannot be decoded.
        """
        groups = self._pieces()[part.index]
        paths = sorted({stored_path(self.schema, name)[1] for name in names})
        with decoding(self.source, _named(groups)):
            file = _opened(self.source, self.footer)
        with file:
            batches = file.iter_batches(most_rows, row_groups=groups, columns=paths, use_threads=False)
            while True:
                with decoding(self.source, f"{_named(groups)}, columns {', '.join(names)}"):
                    batch = next(batches, None)
                    found = [] if batch is None else list(pieces(batch, self.schema, names, most_rows))
                if batch is None:
                    break
                yield from found

    def _in_turn(
        self,
        file: pq.ParquetFile,
        groups: Sequence[int],
        first_row: int,
        columns: dict[Role, tuple[str, ...]],
        block_tokens: int,
    ) -> Iterator[RawRows]:
        """Yield the rows of each row group, so that damage in one costs none of those before."""
        for at, group in enumerate(groups, start=1):
            try:
                yield from self._decode(file, group, first_row, columns, block_tokens)
            except UnreadableError as error:
                unread = f"; {_named(groups[at:])} not read" if groups[at:] else ""
                raise UnreadableError(f"{error}{unread}") from error
            first_row += self.row_groups[group][0]

    def _decode(
        self,
        file: pq.ParquetFile,
        group: int,
        first_row: int,
        columns: dict[Role, tuple[str, ...]],
        block_tokens: int,
    ) -> Iterator[RawRows]:
        place, (n_rows, _), n_read = f"row group {group}", self.row_groups[group], 0
        wanted = sorted({name for names in columns.values() for name in names})
        if not wanted:
            return
        batch_size = _FEW_ROWS if n_rows <= _FEW_ROWS else self._batch_size(file, group, columns)
        batches = file.iter_batches(batch_size, row_groups=[group], columns=wanted, use_threads=False)
        while True:
            with decoding(self.source, f"{place}, rows from {n_read}"):
                batch = next(batches, None)
            if batch is None:
                break
            yield from blocks(batch, columns, first_row + n_read, block_tokens, self.layout.pairs)
            n_read += batch.num_rows
        if n_read != n_rows:
            raise UnreadableError(f"{place}: {n_read} rows, the footer says {n_rows}")

    def _batch_size(self, file: pq.ParquetFile, group: int, columns: dict[Role, tuple[str, ...]]) -> int:
        """Return how many rows to decode at a time, going by the longest of the first few.

        The footer counts the values of each column, but asking pyarrow for them ends the whole process when
        the footer is damaged: `ParquetException: Definition level histogram size mismatch` (pyarrow 26.0).
        """
        role = Role.INPUT_IDS if Role.INPUT_IDS in columns else next(iter(columns))
        names = columns[role] if self.layout.pairs else columns[role][:1]
        if self.source.is_remote:
            with decoding(self.source, f"row group {group}"):
                file = _opened(self.source, self.footer, _PROBE_BUFFER_BYTES)
        probe = file.iter_batches(_PROBED_ROWS, row_groups=[group], columns=list(names), use_threads=False)
        with decoding(self.source, f"row group {group}, first rows"):
            batch = next(probe, None)
        if batch is None:
            return 1
        blocks_of_a_row = (blocks(batch, {role: (name,)}, 0, 1) for name in names)
        longest = sum(
            max((raw.columns[role].values.size for raw in rows), default=1) for rows in blocks_of_a_row
        )
        return max(1, min(_DECODED_ROWS, _DECODED_TOKENS // max(1, longest)))


def _named(groups: Sequence[int]) -> str:
    return f"row group {groups[0]}" if len(groups) == 1 else f"row groups {groups[0]} to {groups[-1]}"
