"""A remote object as a seekable file, for libraries that want one."""

from __future__ import annotations

import io

from packlint.errors import UnreadableError
from packlint.readers import remote

__all__ = ["RangeFile"]

_LEAST_AHEAD, _MOST_AHEAD = 1 << 16, 1 << 23


class RangeFile(io.RawIOBase):
    """Fetch ranges of a remote object as they are read.

    Reading ahead begins with 64 KiB and doubles, up to 8 MiB, as long as reads follow one another; after a
    jump it begins anew, and near the end a little before. Failures are raised as `OSError`, which is what
    users of files expect.

    Args:
        location: URL.
        size: bytes of the object.
        reads_ahead: fetch more than is asked for; reads may then give less, as those of raw files may.
    """

    def __init__(self, location: str, size: int, *, reads_ahead: bool) -> None:
        self._location = location
        self._size = size
        self._reads_ahead = reads_ahead
        self._ahead = _LEAST_AHEAD
        self._at = 0
        self._held = b""
        self._held_from = 0

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return the byte at which the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a byte, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise OSError(f"no byte {base + offset} to go to")
        self._at = base + offset
        return self._at

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # RawIOBase takes any buffer
        """Fill the buffer, as far as the object goes."""
        view = memoryview(buffer).cast("B")
        content = self._range(self._at, min(self._at + len(view), self._size))
        view[: len(content)] = content
        self._at += len(content)
        return len(content)

    def _range(self, start: int, stop: int) -> bytes:
        if start >= stop:
            return b""
        if not self._reads_ahead:
            return self._fetch(start, stop)
        held_to = self._held_from + len(self._held)
        if not self._held_from <= start < held_to:
            follows = start == held_to and start > 0
            self._ahead = min(2 * self._ahead, _MOST_AHEAD) if follows else _LEAST_AHEAD
            begin = start if follows else max(min(start, self._size - self._ahead), 0)
            self._held = self._fetch(begin, min(max(stop, begin + self._ahead), self._size))
            self._held_from = begin
        return self._held[start - self._held_from : stop - self._held_from]

    def _fetch(self, start: int, stop: int) -> bytes:
        try:
            return remote.read_range(self._location, start, stop)
        except UnreadableError as error:
            raise OSError(str(error)) from None
