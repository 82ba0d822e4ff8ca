"""Zip archives, as `.npz` and `.pt` are, with sizes checked before anything is unpacked."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from packlint.errors import UnreadableError
from packlint.readers.inflate import content_limit
from packlint.readers.source import Source

__all__ = ["MAGIC", "list_members", "opened_zip", "read_member"]

MAGIC = b"PK\x03\x04"
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
)


@contextmanager
def opened_zip(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open an archive, and give one kind of error for all kinds of damage.

    Raises:
        UnreadableError: it is damaged.
    """
    try:
        with source.open() as file, zipfile.ZipFile(file) as archive:
            yield archive
    except _DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise UnreadableError(f"damaged zip archive: {reason}") from None


def list_members(archive: zipfile.ZipFile, n_stored: int) -> list[zipfile.ZipInfo]:
    """Return the members of an archive whose contents may be unpacked.

    Raises:
        UnreadableError: they claim more than the file can hold, or a name comes twice.
    """
    members = archive.infolist()
    names = {member.filename for member in members}
    if len(names) < len(members):
        raise UnreadableError("two members of the archive have the same name")
    total = sum(member.file_size for member in members)
    if total > content_limit(n_stored):
        raise UnreadableError(f"the members claim {total} bytes, the limit here is {content_limit(n_stored)}")
    for member in members:
        if member.compress_type not in _METHODS or member.flag_bits & 1:
            raise UnreadableError(f"{member.filename} is encrypted or compressed in a way numpy does not use")
    return members


def read_member(archive: zipfile.ZipFile, member: str | zipfile.ZipInfo, n_bytes: int) -> bytes:
    """Return the first bytes of a member, no more than asked for."""
    with archive.open(member) as stream:
        return stream.read(n_bytes)
