"""Compressed files as streams of their content, bounded: no file, however small, may run without end.

    gzip   1f 8b            zstd   28 b5 2f fd
    bz2    "BZh"            brotli, snappy: no magic, known by what an index says

A stream ends with an error once it has given more than `content_limit` bytes.
"""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable
from enum import StrEnum
from typing import IO, Any, cast

import pyarrow as pa

from packlint.errors import UnreadableError
from packlint.readers.source import Source

__all__ = ["Codec", "codec_of", "content_limit", "inflated", "open_content", "read_content"]

MAX_RATIO = 256
"""Content per stored byte. Token ids as text or int64 reach 10 to 50, constant columns a few hundred."""
FREE_BYTES = 1 << 26
"""Content allowed whatever the ratio."""
_PIECE_BYTES = 1 << 16
_DAMAGE = (OSError, EOFError, ValueError, zlib.error, pa.ArrowException, MemoryError)


class Codec(StrEnum):
    """How a file is compressed."""

    GZIP = "gzip"
    ZSTD = "zstd"
    BZ2 = "bz2"
    BROTLI = "brotli"
    SNAPPY = "snappy"


_MAGICS = {b"\x1f\x8b": Codec.GZIP, b"\x28\xb5\x2f\xfd": Codec.ZSTD, b"BZh": Codec.BZ2}


def codec_of(head: bytes) -> Codec | None:
    """Return how a file is compressed, by its first bytes; none when it is not, or has no magic."""
    return next((codec for magic, codec in _MAGICS.items() if head.startswith(magic)), None)


def content_limit(n_stored: int) -> int:
    """Return how many bytes of content a compressed file of this size may have."""
    return max(FREE_BYTES, MAX_RATIO * n_stored)


def open_content(source: Source, codec: Codec | None) -> IO[bytes]:
    """Return the content of a file as a buffered stream, to be closed by the caller.

    Args:
        source: the file.
        codec: how it is compressed, or none.

    Raises:
        UnreadableError: it cannot be opened; or, while it is read, the data are damaged or above the limit.
    """
    file = source.open()
    if codec is None:
        return file
    return inflated(file, codec, content_limit(source.size))


def read_content(source: Source, codec: Codec | None, n_bytes: int) -> bytes:
    """Return up to `n_bytes` of the content of a file from its beginning, less where damage comes before.

    Raises:
        UnreadableError: not one byte can be read.
    """
    content = b""
    with open_content(source, codec) as stream:
        try:
            while len(content) < n_bytes and (piece := stream.read(_PIECE_BYTES)):
                content += piece
        except UnreadableError:
            if not content:
                raise
    return content[:n_bytes]


def inflated(file: IO[bytes], codec: Codec, limit: int) -> IO[bytes]:
    """Return the content of an open compressed file; closing the stream closes the file.

    Args:
        file: the compressed file.
        codec: how it is compressed.
        limit: content in bytes at which it is refused.
    """
    return io.BufferedReader(_Inflated(file, codec, limit), _PIECE_BYTES)


class _Inflated(io.RawIOBase):
    """Give content up to a limit, and one kind of error for all kinds of damage."""

    def __init__(self, file: IO[bytes], codec: Codec, limit: int) -> None:
        self._file = file
        self._codec = codec
        self._limit = limit
        self._n_read = 0
        self._read: Callable[[int], bytes] | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # RawIOBase takes any buffer
        try:
            if self._read is None:
                self._read = _reader(self._file, self._codec)
            content = self._read(len(buffer))
        except _DAMAGE as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UnreadableError(
                f"{self._codec} data damaged after {self._n_read} bytes: {reason}"
            ) from None
        self._n_read += len(content)
        if self._n_read > self._limit:
            raise UnreadableError(f"{self._codec} data hold more than {self._limit} bytes, the limit here")
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def _reader(file: IO[bytes], codec: Codec) -> Callable[[int], bytes]:
    if codec is Codec.GZIP:
        return cast(Callable[[int], bytes], gzip.GzipFile(fileobj=file).read)
    if codec is Codec.BZ2:
        return cast(Callable[[int], bytes], bz2.BZ2File(file).read)
    if codec is Codec.SNAPPY:
        raise ValueError("snappy data have no stream form")
    stream: Any = pa.CompressedInputStream(cast(Any, file), cast(Any, codec.value))
    return cast(Callable[[int], bytes], stream.read)
