"""What every reader gives: a `Shard` whose rows arrive as raw columns by role.

    file ──Reader.open──▶ Shard ──rows(part)──▶ RawRows ──canonical.build──▶ PackBatch

Foreign column names end in the reader; from here on a column is known by its `Role`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from numpy.typing import NDArray

from packlint.model.arrays import Int64Array
from packlint.model.batch import Unit
from packlint.model.contract import LabelAlignment
from packlint.model.spec import DatasetSpec
from packlint.readers.source import Source

__all__ = [
    "BLOCK_TOKENS",
    "Fault",
    "Layout",
    "PaddingMark",
    "PairColumns",
    "Part",
    "Ragged",
    "RawRows",
    "Reader",
    "Role",
    "Settings",
    "Shard",
]

BLOCK_TOKENS = 1 << 21
"""Tokens per batch: temporaries stay in the last cache, and the overhead of calls is hidden (measured)."""


class Role(StrEnum):
    """What a column means."""

    INPUT_IDS = "input_ids"
    LABELS = "labels"
    LOSS_MASK = "loss_mask"
    LABEL_SEGMENT_IDS = "label_segment_ids"
    SEQ_LENS = "seq_lens"
    CU_SEQLENS = "cu_seqlens"
    SEGMENT_STARTS = "segment_starts"
    DOCUMENT_STARTS = "document_starts"
    SEGMENT_IDS = "segment_ids"
    ATTENTION_MASK = "attention_mask"
    DENSE_MASK = "dense_mask"
    POSITION_IDS = "position_ids"
    SAMPLE_IDS = "sample_ids"

    @property
    def is_token_parallel(self) -> bool:
        """Whether the column has one value per token of the row."""
        return self in _TOKEN_PARALLEL


_TOKEN_PARALLEL = frozenset(
    {
        Role.INPUT_IDS,
        Role.LABELS,
        Role.LOSS_MASK,
        Role.LABEL_SEGMENT_IDS,
        Role.SEGMENT_IDS,
        Role.ATTENTION_MASK,
        Role.POSITION_IDS,
    }
)


class PaddingMark(StrEnum):
    """How a producer marks padding.

    `never_stored`: rows on disk hold no padding.
    `mask_zero`: `attention_mask` is 0 (numbered or binary).
    `segment_id`: the segment id is `Layout.nothing`.
    `beyond_lengths`: what the lengths leave of the row.
    `last_length`: the padding run is recorded as the last length, labels ignored, one repeated id.
    `position_zero`: a tail of position 0, labels ignored, one repeated id.
    `unknown`: nothing; only a declared pad id can tell.
    """

    NEVER_STORED = "never_stored"
    MASK_ZERO = "mask_zero"
    SEGMENT_ID = "segment_id"
    BEYOND_LENGTHS = "beyond_lengths"
    LAST_LENGTH = "last_length"
    POSITION_ZERO = "position_zero"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairColumns:
    """Name the columns of rows that hold two answers to one prompt, each in columns of its own.

    Args:
        sides: stored column by role, of the chosen sample and of the rejected one; both have the same roles.
        prompt: the same of a prompt that stands apart and that both sides go on from; else empty.
    """

    sides: tuple[Mapping[Role, str], Mapping[Role, str]]
    prompt: Mapping[Role, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """State how a producer lays out its rows.

    Args:
        producer: who wrote it, as far as the columns tell.
        trainer: name of the default trainer contract.
        unit: what one row is.
        columns: stored column by role; of pairs, one of those that the role is made of.
        evidence: why we think so, one line each, shown in the report.
        alignment: on which token this producer puts labels and loss masks.
        padding: how it marks padding.
        nothing: segment id of padding, where `segment_ids` are stored.
        lengths_cover_padding: the lengths add up to the whole row.
        offsets_have_end: the offsets column ends with the row's length.
        dense_mask_blocks: true in the stored query-by-key mask means "may not attend" (Megatron).
        pairs: the columns of rows of unit `pair`, which the reader joins (`packlint.readers.pairs`).
    """

    producer: str
    trainer: str | None
    columns: Mapping[Role, str]
    unit: Unit = Unit.PACK
    evidence: tuple[str, ...] = ()
    alignment: LabelAlignment = LabelAlignment.UNSHIFTED
    padding: PaddingMark = PaddingMark.UNKNOWN
    nothing: int | None = 0
    lengths_cover_padding: bool = True
    offsets_have_end: bool = True
    dense_mask_blocks: bool = False
    pairs: PairColumns | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Hold one column of many rows.

    Args:
        values: `any[value]`, all rows end to end (for `dense_mask`: `bool[row, query, key]`).
        offsets: `int64[row + 1]`, where each row begins and ends in `values`.
    """

    values: NDArray[Any]
    offsets: Int64Array

    @property
    def n_rows(self) -> int:
        """Rows in this column."""
        return int(self.offsets.size - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Report what only a reader can see; becomes a finding of the named rule.

    Args:
        code: rule code, e.g. `SHD002`.
        message: what is wrong and where, in one line without a final dot.
        row: number of the row in the shard, -1 for the shard as a whole.
        n_hits: places that this fault stands for.
    """

    code: str
    message: str
    row: int = -1
    n_hits: int = 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RawRows:
    """Hold consecutive rows of a shard as stored.

    Args:
        row_numbers: `int64[row]`, number of each row in the shard (rows that cannot be read are left out).
        columns: one `Ragged` per role present, all with the same number of rows.
        faults: rows left out, and why.
    """

    row_numbers: Int64Array
    columns: Mapping[Role, Ragged]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """Name a piece of a shard that can be read by itself (a row group, a range of documents).

    Args:
        index: number of the piece in the shard.
        first_row: number of its first row.
        n_rows: rows in it.
    """

    index: int
    first_row: int
    n_rows: int


class Shard(Protocol):
    """Give access to one shard; holds no data itself."""

    @property
    def name(self) -> str:
        """Path relative to the inputs, as the report shows it."""

    @property
    def format(self) -> str:
        """Name of the format, as `packlint formats` lists it."""

    @property
    def layout(self) -> Layout:
        """How its rows are laid out."""

    @property
    def spec(self) -> DatasetSpec:
        """What the format itself says of the conventions (origin `format`)."""

    @property
    def n_bytes(self) -> int:
        """Bytes on disk, 0 in memory."""

    def parts(self) -> Sequence[Part]:
        """Return the pieces in order; reading all of them reads the shard."""

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a piece in order, about `block_tokens` tokens at a time.

        Raises:
            UnreadableError: the piece cannot be decoded; rows yielded before stay valid.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user told about the inputs.

    Args:
        columns: stored column by canonical name, for shards with names of their own.
        max_seq_len: window of stream formats, or none.
        token_dtype: storage type of ids in formats that do not record it, as numpy names it, or none.
        eos_ids: ids that end a document, for streams without a document index.
        bos_id: id that begins a document, likewise, or none.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    max_seq_len: int | None = None
    token_dtype: str | None = None
    eos_ids: tuple[int, ...] = ()
    bos_id: int | None = None


class Reader(Protocol):
    """Recognise a format by its content and open its shards."""

    @property
    def format(self) -> str:
        """Name of the format."""

    @property
    def title(self) -> str:
        """One line for `packlint formats`: what it is and who writes it."""

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell whether the file is of this format, by its first bytes (4 KiB at most), never by its name."""

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shards of a file; reads only headers and footers.

        Raises:
            UnreadableError: the file is damaged.
        """
