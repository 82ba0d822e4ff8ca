"""The reader of litdata chunks: one shard per chunk file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from packlint.errors import UnreadableError
from packlint.readers.inflate import Codec, open_content
from packlint.readers.litdata.index import INDEX_NAME, Chunk, Index, read_index, token_dtype
from packlint.readers.raw_tokens import odd_bytes
from packlint.readers.shard import Fault, Settings, Shard
from packlint.readers.source import ArrayView, Source
from packlint.readers.stream import (
    Held,
    Marks,
    Opens,
    Stored,
    Stream,
    StreamKind,
    check_documents,
    known_dtype,
    open_stream,
    wanted_window,
)

__all__ = ["LitdataReader"]

_KIND = StreamKind(format="litdata", producer="litdata", trainer="litgpt", documents="item offsets")
_MANNER = "as LitGPT cuts each chunk (max_seq_len + 1, the last token of each is a label only)"
_MISSING_NAMED = 3
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class LitdataReader:
    """Open chunks by the `index.json` beside them."""

    format: str = _KIND.format
    title: str = "litdata chunks of tokens (index.json + chunk-*.bin): LitGPT"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by an `index.json` of litdata's that lists the file, or by the head of a chunk beside one."""
        index = read_index(source.sibling(INDEX_NAME))
        return index is not None and (source.name in index.chunks or _is_chunk(head))

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard of one chunk.

        Raises:
            UnreadableError: the chunk is damaged, encrypted, or holds no tokens.
            UsageError: `max_seq_len` is not positive.
        """
        index = _index(source)
        dtype, chunk = token_dtype(index), index.chunks.get(source.name)
        file = _open_chunk(source, index)
        tokens = file.tokens(dtype)
        documents, document_faults = check_documents(
            file.ends(), tokens.size, "the item offsets", base=file.n_head_bytes, unit=dtype.itemsize
        )
        why = f"data_format {index.data_format[0]}: tokens are {dtype.name}"
        shard = open_stream(
            _KIND,
            name,
            Stream(tokens=tokens, documents=documents, marks=Marks.told(settings)),
            spec=known_dtype(dtype, why),
            evidence=_evidence(file, chunk, why),
            n_bytes=source.size,
            window=wanted_window(settings, extra=1, manner=_MANNER),
            faults=(
                *_set_faults(source, index, chunk),
                *_chunk_faults(file, chunk, tokens.size),
                *(() if file.is_packed else odd_bytes(source, dtype, file.n_head_bytes)),
                *document_faults,
            ),
            is_indivisible=file.is_packed,
        )
        return (shard,)


def _index(chunk: Source) -> Index:
    index = read_index(chunk.sibling(INDEX_NAME))
    if index is None:
        raise UnreadableError(f"{INDEX_NAME} is gone")
    if index.is_encrypted:
        raise UnreadableError("the chunk is encrypted")
    return index


def _evidence(file: _File, chunk: Chunk | None, why: str) -> list[str]:
    lines = [f"{'beside' if chunk is None else 'listed in'} an {INDEX_NAME} of litdata", why]
    return [*lines, "the whole file is compressed: zstd"] if file.is_packed else lines


def _is_chunk(head: bytes) -> bool:
    """Tell whether the first offset is where the offsets end."""
    n_items = int.from_bytes(head[:4], "little")
    return len(head) >= 8 and n_items > 0 and int.from_bytes(head[4:8], "little") == 4 * (n_items + 2)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _File:
    """Hold one chunk file, its header checked against its size.

    Args:
        source: the file.
        n_items: items.
        n_bytes: bytes, unpacked.
        is_packed: the file is one zstd frame.
        head: bytes of the header, where the file is packed.
    """

    source: Source
    n_items: int
    n_bytes: int
    is_packed: bool
    head: bytes = b""

    @property
    def n_head_bytes(self) -> int:
        """Bytes before the first token."""
        return 4 * (self.n_items + 2)

    def ends(self) -> Opens:
        """Return `uint32[item]`, where each item ends, in bytes from the start of the file."""
        if self.is_packed:
            return Held(np.frombuffer(self.head, "<u4", self.n_items, 8))
        return Stored(self.source, "<u4", 8, self.n_items)

    def tokens(self, dtype: np.dtype[np.integer]) -> Opens:
        """Return `int[token]`, all items end to end."""
        n_tokens = (self.n_bytes - self.n_head_bytes) // dtype.itemsize
        if self.is_packed:
            return _Packed(self.source, dtype.str, self.n_head_bytes, n_tokens)
        return Stored(self.source, dtype.str, self.n_head_bytes, n_tokens)


@dataclass(frozen=True, slots=True)
class _Packed:
    """Name an array inside a compressed file; every view unpacks it anew, at most to the declared size."""

    source: Source
    dtype: str
    start: int
    size: int

    def view(self) -> ArrayView:
        n_bytes = self.start + self.size * np.dtype(self.dtype).itemsize
        raw = _unpacked(self.source, n_bytes)
        if len(raw) < n_bytes:
            raise UnreadableError(f"unpacks to {len(raw)} bytes, the item offsets need {n_bytes}")
        return np.frombuffer(raw, self.dtype, self.size, self.start)


def _open_chunk(source: Source, index: Index) -> _File:
    """Return the chunk with its header read; counts are held against the size before they are used."""
    codec = (index.compression or "").split(":", 1)[0]
    is_packed = bool(codec) and index.compression_level in (None, "chunk")
    if codec not in ("", "zstd"):
        raise UnreadableError(f"compression {codec!r} is not known")
    if codec and not is_packed:
        raise UnreadableError(f"compression inside chunks ({index.compression_level}) is not used for tokens")
    if is_packed and source.read(0, 4) != b"\x28\xb5\x2f\xfd":
        is_packed = False  # written before the compression was asked for; its own header decides
    return _open_packed(source) if is_packed else _open_plain(source)


def _open_plain(source: Source) -> _File:
    n_items = _n_items(source.read(0, 8), source.size)
    return _File(source=source, n_items=n_items, n_bytes=source.size, is_packed=False)


def _open_packed(source: Source) -> _File:
    start = _unpacked(source, 8)
    n_items = _n_items(start, 1 << 32)
    head = _unpacked(source, 4 * (n_items + 2))
    if len(head) < 4 * (n_items + 2):
        raise UnreadableError(f"unpacks to {len(head)} bytes, too few for the offsets of {n_items} items")
    n_bytes = int.from_bytes(head[-4:], "little")
    if n_bytes < len(head):
        raise UnreadableError(f"the last item ends at byte {n_bytes}, inside the offsets")
    return _File(source=source, n_items=n_items, n_bytes=n_bytes, is_packed=True, head=head)


def _unpacked(source: Source, n_bytes: int) -> bytes:
    """Return the first bytes of a compressed file, unpacked, fewer where it ends."""
    pieces: list[bytes] = []
    with open_content(source, Codec.ZSTD) as stream:
        while n_bytes > 0 and (data := stream.read(min(n_bytes, _PIECE_BYTES))):
            pieces.append(data)
            n_bytes -= len(data)
    return b"".join(pieces)


def _n_items(start: bytes, n_bytes: int) -> int:
    if len(start) < 8:
        raise UnreadableError(f"truncated: {len(start)} bytes are less than the header")
    n_items, first = np.frombuffer(start, "<u4", 2).tolist()
    n_head = 4 * (n_items + 2)
    if n_head > n_bytes:
        raise UnreadableError(f"{n_items} items need {n_head} bytes of offsets, the file has {n_bytes}")
    if first != n_head:
        raise UnreadableError(f"the first of {n_items} items begins at byte {first}, expected {n_head}")
    return int(n_items)


def _chunk_faults(file: _File, chunk: Chunk | None, n_tokens: int) -> tuple[Fault, ...]:
    if chunk is None:
        message = f"{file.source.name} is not listed in {INDEX_NAME}, and is not trained on"
        return (Fault(code="SHD006", message=message),)
    found = []
    for what, declared, measured in (
        ("items", chunk.n_items, file.n_items),
        ("tokens (dim)", chunk.n_tokens, n_tokens),
    ):
        if declared is not None and declared != measured:
            message = f"{INDEX_NAME} declares {declared} {what}, {chunk.filename} holds {measured}"
            found.append(Fault(code="MAN003", message=message))
    if not file.is_packed and chunk.n_bytes is not None and chunk.n_bytes != file.n_bytes:
        message = f"{INDEX_NAME} declares {chunk.n_bytes} bytes, {chunk.filename} has {file.n_bytes}"
        found.append(Fault(code="SHD006", message=message))
    return tuple(found)


def _set_faults(source: Source, index: Index, chunk: Chunk | None) -> tuple[Fault, ...]:
    """Report listed chunks that are missing between this one and the next that is there, or before all."""
    if chunk is None:
        return ()
    after = list(takewhile(lambda name: _is_missing(source, name), index.names[chunk.number + 1 :]))
    before = list(takewhile(lambda name: _is_missing(source, name), reversed(index.names[: chunk.number])))
    missing = [*(reversed(before) if len(before) == chunk.number else ()), *after]
    if not missing:
        return ()
    named = ", ".join(missing[:_MISSING_NAMED]) + (", ..." if len(missing) > _MISSING_NAMED else "")
    message = f"{INDEX_NAME} lists {len(missing)} chunks that are missing: {named}"
    return (Fault(code="SHD006", message=message, n_hits=len(missing)),)


def _is_missing(chunk: Source, name: str) -> bool:
    """Tell whether there is no such file; a name that leads out of the folder is not followed."""
    return not name or "/" in name or "\\" in name or not chunk.sibling(name).exists()
