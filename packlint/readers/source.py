"""Bytes from anywhere: a local file, memory-mapped, or a remote object, read by ranges.

    Source("data/shard.bin")           local path
    Source("s3://bucket/shard.bin")    any fsspec URL; the backend is an extra

Readers ask for ranges and arrays and never for whole files, so that a remote shard costs only what is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Protocol, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from packlint.errors import UnreadableError, UsageError

__all__ = ["ArrayView", "Source", "is_remote"]


class ArrayView(Protocol):
    """Give slices of a stored one-dimensional array; `numpy.memmap` is one."""

    @property
    def size(self) -> int:
        """Values in the array."""

    def __getitem__(self, key: slice, /) -> NDArray[Any]: ...


def is_remote(location: str) -> bool:
    """Tell whether a location is a URL rather than a local path."""
    return "://" in location


@dataclass(frozen=True)
class Source:
    """Name one stored object.

    Args:
        location: local path or fsspec URL.
    """

    location: str

    @cached_property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return is_remote(self.location)

    @property
    def path(self) -> Path:
        """The local path; only for local sources."""
        return Path(self.location)

    @cached_property
    def size(self) -> int:
        """Bytes of the object.

        Raises:
            UnreadableError: it is missing or cannot be reached.
        """
        try:
            return int(self._remote_size()) if self.is_remote else self.path.stat().st_size
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror or type(error).__name__}") from None

    def exists(self) -> bool:
        """Tell whether the object is there."""
        try:
            return self.size >= 0
        except UnreadableError:
            return False

    def sibling(self, name: str) -> Source:
        """Return the source of this name in the same folder."""
        if self.is_remote:
            return Source(self.location.rsplit("/", 1)[0] + "/" + name)
        return Source(str(self.path.with_name(name)))

    def open(self) -> IO[bytes]:
        """Return a seekable binary file, to be closed by the caller.

        Raises:
            UnreadableError: it cannot be opened.
        """
        try:
            if self.is_remote:
                return cast(IO[bytes], _fsspec().open(self.location, "rb").open())
            return self.path.open("rb")
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror or type(error).__name__}") from None

    def read(self, start: int = 0, n_bytes: int | None = None) -> bytes:
        """Return a range of bytes; shorter where the object ends.

        Raises:
            UnreadableError: it cannot be read.
        """
        with self.open() as stream:
            try:
                stream.seek(start)
                return stream.read(-1 if n_bytes is None else n_bytes)
            except OSError as error:
                raise UnreadableError(f"cannot be read at byte {start}: {error}") from None

    def array(self, dtype: DTypeLike, start: int = 0, n_values: int | None = None) -> ArrayView:
        """Return a stored array without reading it: memory-mapped, or fetched slice by slice.

        Args:
            dtype: type of one value.
            start: byte at which the array begins.
            n_values: how many values; all that fit by default.

        Raises:
            UnreadableError: the object ends before the array does.
        """
        item = np.dtype(dtype)
        n_fit = max(0, self.size - start) // item.itemsize
        n_values = n_fit if n_values is None else n_values
        if n_values > n_fit:
            raise UnreadableError(f"holds {n_fit} values after byte {start}, expected {n_values}")
        if n_values == 0:
            return np.empty(0, item)
        if self.is_remote:
            return _RemoteArray(self, item, start, n_values)
        return np.memmap(self.path, item, "r", start, (n_values,))

    def _remote_size(self) -> int:
        filesystem, path = _fsspec().core.url_to_fs(self.location)
        return int(filesystem.info(path)["size"])


@dataclass(frozen=True, slots=True)
class _RemoteArray:
    source: Source
    dtype: np.dtype[Any]
    start: int
    size: int

    def __getitem__(self, key: slice, /) -> NDArray[Any]:
        begin, stop, step = key.indices(self.size)
        n_values = max(0, stop - begin)
        raw = self.source.read(self.start + begin * self.dtype.itemsize, n_values * self.dtype.itemsize)
        if len(raw) != n_values * self.dtype.itemsize:
            raise UnreadableError(f"ends before value {stop}")
        return np.frombuffer(raw, self.dtype)[::step]


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise UsageError("remote inputs need fsspec: pip install 'packlint[remote]'") from None
    return fsspec
