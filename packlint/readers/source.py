"""Bytes from anywhere: a local file, memory-mapped, or a remote object, read by ranges.

    Source("data/shard.bin")           local path
    Source("s3://bucket/shard.bin")    any fsspec URL; the backend is an extra

Readers ask for ranges and arrays and never for whole files, so that a remote shard costs only what is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from packlint.errors import UnreadableError
from packlint.readers import remote
from packlint.readers.range_file import RangeFile

__all__ = ["ArrayView", "Source"]

_WEB = ("http://", "https://")


class ArrayView(Protocol):
    """Give slices of a stored one-dimensional array; `numpy.memmap` is one."""

    @property
    def size(self) -> int:
        """Values in the array."""

    def __getitem__(self, key: slice, /) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Source:
    """Name one stored object, or a folder of them.

    Args:
        location: local path or fsspec URL.
    """

    location: str

    @cached_property
    def is_remote(self) -> bool:
        """Whether it is a URL."""
        return remote.is_remote(self.location)

    @property
    def path(self) -> Path:
        """The local path; only for local sources."""
        if self.is_remote:
            raise ValueError(f"{self.shown} has no local path")
        return Path(self.location)

    @property
    def shown(self) -> str:
        """The location as it may be shown: without passwords and signatures."""
        return remote.shown(self.location) if self.is_remote else self.location

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders and name from the top down; for a URL, the scheme and the bucket or host come first."""
        if not self.is_remote:
            return self.path.absolute().parts[1:]
        scheme, _, rest = self.shown.partition("://")
        return (f"{scheme}:", *(part for part in rest.split("/") if part))

    @property
    def name(self) -> str:
        """Name without the folders."""
        return self.parts[-1] if self.is_remote else self.path.name

    @property
    def stem(self) -> str:
        """Name without its last suffix."""
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        """Last suffix of the name, with its dot, or nothing."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> Source:
        """The folder in which it lies."""
        if not self.is_remote:
            return Source(str(self.path.parent))
        place, query = _split_query(self.location)
        scheme, _, rest = place.partition("://")
        return Source(f"{scheme}://{rest.rstrip('/').rpartition('/')[0]}{query}")

    def sibling(self, name: str) -> Source:
        """Return the source of this name in the same folder."""
        return self.parent.child(name) if self.is_remote else Source(str(self.path.with_name(name)))

    def child(self, name: str) -> Source:
        """Return the source of this name (or path, parted by `/`) in this folder."""
        if not self.is_remote:
            return Source(str(self.path / name))
        place, query = _split_query(self.location)
        return Source(f"{place}{'' if place.endswith('/') else '/'}{name}{query}")

    def children(self) -> list[tuple[Source, bool]]:
        """Return the files and folders in this folder, sorted by name, and whether each is a folder.

        Raises:
            UnreadableError: it cannot be listed.
        """
        if self.is_remote:
            return [(self.child(name), is_folder) for name, is_folder in remote.list_folder(self.location)]
        try:
            entries = sorted(self.path.iterdir())
        except OSError as error:
            raise UnreadableError(f"cannot be listed: {error.strerror}") from None
        kinds = ((entry, entry.is_dir()) for entry in entries)
        return [(Source(str(entry)), is_dir) for entry, is_dir in kinds if is_dir or entry.is_file()]

    @cached_property
    def size(self) -> int:
        """Bytes of the object.

        Raises:
            UnreadableError: it is missing or cannot be reached.
        """
        if self.is_remote:
            return self._remote_size()
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror or type(error).__name__}") from None

    @property
    def stamp(self) -> str:
        """What changes when the object does."""
        return repr(self._info) if self.is_remote else str(self.path.stat().st_mtime_ns)

    def exists(self) -> bool:
        """Tell whether the object is there.

        Raises:
            UnreadableError: it is remote and cannot be reached, so that nobody knows.
        """
        try:
            return self.size >= 0
        except remote.MissingError:
            return False
        except UnreadableError:
            if self.is_remote:
                raise
            return False

    def is_file(self) -> bool:
        """Tell whether it is there and no folder.

        Raises:
            UnreadableError: it is remote and cannot be reached.
        """
        return self.exists() if self.is_remote else self.path.is_file()

    def is_folder(self) -> bool:
        """Tell whether it is a folder; web servers do not tell, there a slash at the end does.

        Raises:
            UnreadableError: it is remote, and missing or out of reach.
        """
        if not self.is_remote:
            return self.path.is_dir()
        if self.location.endswith("/"):
            return True
        return not self.location.lower().startswith(_WEB) and bool(self._info["type"] == "directory")

    def open(self) -> BufferedReader:
        """Return a seekable binary file, to be closed by the caller.

        Raises:
            UnreadableError: it cannot be opened.
        """
        if self.is_remote:
            return BufferedReader(RangeFile(self.location, self.size, reads_ahead=True))
        try:
            return self.path.open("rb")
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror or type(error).__name__}") from None

    def open_ranges(self) -> RangeFile:
        """Return a seekable file that fetches what is asked for and nothing else; only for remote sources.

        Raises:
            UnreadableError: it cannot be opened.
        """
        return RangeFile(self.location, self.size, reads_ahead=False)

    def read(self, start: int = 0, n_bytes: int | None = None) -> bytes:
        """Return a range of bytes; shorter where the object ends.

        Raises:
            UnreadableError: it cannot be read.
        """
        if self.is_remote:
            stop = self.size if n_bytes is None else min(start + n_bytes, self.size)
            return remote.read_range(self.location, start, stop) if start < stop else b""
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

    @cached_property
    def _info(self) -> Mapping[str, Any]:
        return remote.describe(self.location)

    def _remote_size(self) -> int:
        if self._info["type"] == "directory":
            raise remote.MissingError("it is a folder")
        if self._info["size"] is None:
            raise UnreadableError("the server does not say how long it is; copy it here first")
        return int(self._info["size"])


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


def _split_query(location: str) -> tuple[str, str]:
    """Return a URL without its query, and the query, which goes for all files of a web server."""
    if not location.lower().startswith(_WEB):
        return location, ""
    places = (location.find(sign) for sign in "?#")
    at = min((place for place in places if place >= 0), default=len(location))
    return location[:at], location[at:]
