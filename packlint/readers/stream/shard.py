"""The shard of every stream format, and what it says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from packlint.model.arrays import empty_int64
from packlint.model.batch import Unit
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.shard import Fault, Layout, PaddingMark, Part, Ragged, RawRows, Role
from packlint.readers.stream.documents import SECTION_TOKENS
from packlint.readers.stream.rows import BLOCK_ROW_TOKENS, Stream, block_rows, document_rows, window_rows
from packlint.readers.stream.windows import WindowRule

__all__ = ["StreamKind", "StreamShard", "known_dtype", "open_stream"]

_NOT_TOLD = "nothing told where documents begin (give [spec] eos_ids or bos_id) or how long a pack is"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StreamShard:
    """Read one stream.

    Args:
        name: path relative to the inputs.
        format: name of the format.
        layout: how its rows are laid out.
        spec: what the format says.
        n_bytes: bytes of the file and its sidecars.
        stream: tokens, documents and loss.
        window: how packs are cut, or none for documents or blocks.
        faults: what is wrong with the shard as a whole.
        is_indivisible: tokens can only be had all at once (a compressed file), so there is one part.
    """

    name: str
    format: str
    layout: Layout
    spec: DatasetSpec
    n_bytes: int
    stream: Stream
    window: WindowRule | None = None
    faults: tuple[Fault, ...] = ()
    is_indivisible: bool = False

    def parts(self) -> Sequence[Part]:
        """Return ranges of rows of about 16 Mi tokens; one empty range for an empty stream."""
        edges = self._edges()
        if self.is_indivisible:
            edges = [edges[0], edges[-1]]
        found = [(a, b) for a, b in pairwise(edges) if b > a]
        if not found:
            return [Part(0, 0, 0)]
        return [Part(i, a, b - a) for i, (a, b) in enumerate(found)]

    def _edges(self) -> list[int]:
        n_tokens, documents = self.stream.n_tokens, self.stream.documents
        if self.window is not None:
            n_rows, step = self.window.n_rows(n_tokens), self.window.step
        elif documents is not None:
            edges: list[int] = documents.section_documents.tolist()
            return edges
        else:
            n_rows, step = -(-n_tokens // BLOCK_ROW_TOKENS), BLOCK_ROW_TOKENS
        return [*range(0, n_rows, max(SECTION_TOKENS // step, 1)), n_rows]

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows of a part, about `block_tokens` tokens at a time.

        Tokens are views of the mapped file, read-only and in the stored type.

        Raises:
            UnreadableError: the file shrank since it was opened, or its tokens cannot be decompressed.
        """
        faults = self.faults if part.index == 0 else ()
        for raw in self._rows(part, roles, block_tokens):
            yield replace(raw, faults=faults + raw.faults)
            faults = ()
        if faults:
            columns = {role: Ragged(empty_int64(), np.zeros(1, np.int64)) for role in self.layout.columns}
            yield RawRows(row_numbers=empty_int64(), columns=columns, faults=faults)

    def _rows(self, part: Part, roles: frozenset[Role], n_tokens: int) -> Iterator[RawRows]:
        if part.n_rows == 0:
            return iter(())
        if self.window is not None:
            return window_rows(self.stream, self.window, part, roles, n_tokens)
        if self.stream.documents is not None:
            return document_rows(self.stream, self.stream.documents, part, roles, n_tokens)
        return block_rows(self.stream, part, roles, n_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamKind:
    """State what all shards of a format have in common.

    Args:
        format: name of the format.
        producer: who writes it.
        trainer: name of the default trainer contract.
        documents: what records where documents end, where anything does.
        loss: what holds the loss mask, where anything does.
        padding: whether filling can be in the stream.
    """

    format: str
    producer: str
    trainer: str
    documents: str = ""
    loss: str = ""
    padding: PaddingMark = PaddingMark.NEVER_STORED


def open_stream(
    kind: StreamKind,
    name: str,
    stream: Stream,
    *,
    spec: DatasetSpec,
    evidence: Sequence[str],
    n_bytes: int,
    window: WindowRule | None,
    faults: Sequence[Fault] = (),
    is_indivisible: bool = False,
) -> StreamShard:
    """Return the shard of a stream; its layout names only the records that can be used.

    Args:
        kind: the format.
        name: path relative to the inputs.
        stream: tokens, documents and loss.
        spec: what the format says.
        evidence: why the reader thinks so.
        n_bytes: bytes of all files.
        window: how packs are cut, or none.
        faults: what is wrong with the shard as a whole.
        is_indivisible: tokens can only be had all at once.
    """
    return StreamShard(
        name=name,
        format=kind.format,
        layout=_layout(kind, stream, window, evidence),
        spec=spec,
        n_bytes=n_bytes,
        stream=stream,
        window=window,
        faults=tuple(faults),
        is_indivisible=is_indivisible,
    )


def _layout(kind: StreamKind, stream: Stream, window: WindowRule | None, evidence: Sequence[str]) -> Layout:
    columns = {Role.INPUT_IDS: "tokens"}
    if stream.documents is not None:
        columns[Role.DOCUMENT_STARTS] = kind.documents
    if stream.loss is not None:
        columns[Role.LOSS_MASK] = kind.loss
    return Layout(
        producer=kind.producer,
        trainer=kind.trainer,
        columns=columns,
        unit=Unit.DOCUMENT if window is None else Unit.PACK,
        evidence=(*evidence, _rows_evidence(stream, window)),
        padding=kind.padding,
        offsets_have_end=False,
    )


def known_dtype(dtype: np.dtype[Any], why: str) -> DatasetSpec:
    """Return what a format says that records how tokens are stored, and nothing else."""
    return DatasetSpec(token_dtype=Known(dtype.name, Origin.FORMAT, why))


def _rows_evidence(stream: Stream, window: WindowRule | None) -> str:
    if window is not None:
        return window.evidence(stream.n_tokens)
    if stream.documents is not None:
        return f"one row per document: {stream.documents.n_documents} documents, {stream.n_tokens} tokens"
    rows = f"rows are stretches of about {BLOCK_ROW_TOKENS} of {stream.n_tokens} tokens"
    if stream.marks.ends:
        return f"{rows}, each up to an end token ({', '.join(map(str, stream.marks.ends))})"
    if stream.marks.begins:
        return f"{rows}, each from a begin token ({', '.join(map(str, stream.marks.begins))}) on"
    return f"{rows}: {_NOT_TOLD}"
