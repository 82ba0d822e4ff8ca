"""The reader of `.npz` files: a zip of `.npy` members, one per array, as `numpy.savez` writes batches.

    tokens.npy      (rows, slots) int32        headers are read when the file is opened,
    labels.npy      (rows, slots) int32        values when rows are asked for

Arrays of objects are never unpickled: such a member counts as not there.

Source: `numpy/lib/_npyio_impl.py` (numpy 2.4), `savez`.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.readers.dumps.members import Member
from packlint.readers.dumps.shard import dump_shards
from packlint.readers.dumps.zip_files import MAGIC, list_members, opened_zip, read_member
from packlint.readers.numpy_files.header import HEAD_BYTES, Header, parse_header
from packlint.readers.shard import Settings, Shard
from packlint.readers.source import Source

__all__ = ["NpzReader"]

_SUFFIX = ".npy"


class NpzReader:
    """Recognise and open `.npz` files."""

    format = "npz"
    title = (
        "numpy .npz of batches: dumps of collators and data sets (TRL, Axolotl, MaxText, OLMo-core, Megatron)"
    )

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the zip magic and by members that are arrays."""
        if not head.startswith(MAGIC):
            return False
        try:
            with opened_zip(source) as archive:
                return any(name.endswith(_SUFFIX) for name in archive.namelist())
        except UnreadableError:
            return _first_name(head).endswith(_SUFFIX)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return one shard, or one per prefix of the members' names.

        Raises:
            UnreadableError: the archive is damaged, claims too much, or holds no token ids.
        """
        with opened_zip(source) as archive:
            infos = list_members(archive, source.size)
            members = [
                member
                for info in infos
                if info.filename.endswith(_SUFFIX) and (member := _member(source, archive, info)) is not None
            ]
        return dump_shards(members, name, settings, format_name=self.format, n_bytes=source.size)


def _first_name(head: bytes) -> str:
    """Return the name of the first member, from its own header: 30 bytes, then the name."""
    return head[30 : 30 + int.from_bytes(head[26:28], "little")].decode("utf-8", "replace")


def _member(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member | None:
    header = parse_header(read_member(archive, info, HEAD_BYTES))
    if header.is_pickled:
        return None
    expected = header.n_bytes + header.n_values * header.dtype.itemsize
    if expected != info.file_size:
        raise UnreadableError(f"{info.filename} has {info.file_size} bytes, its shape needs {expected}")
    load = partial(_load, source, info.filename, header)
    dtype = header.dtype.newbyteorder("=")
    return Member(info.filename.removesuffix(_SUFFIX), dtype, header.shape, load)


def _load(source: Source, file_name: str, header: Header) -> NDArray[Any]:
    expected = header.n_bytes + header.n_values * header.dtype.itemsize
    with opened_zip(source) as archive:
        list_members(archive, source.size)
        try:
            raw = read_member(archive, file_name, expected)
        except KeyError:
            raise UnreadableError(f"{file_name} is gone") from None
    if len(raw) != expected:
        raise UnreadableError(f"{file_name} ends at byte {len(raw)}, its shape needs {expected}")
    values = np.frombuffer(raw, header.dtype, header.n_values, header.n_bytes)
    shaped = values.reshape(header.shape, order="F" if header.is_fortran else "C")
    return np.ascontiguousarray(shaped, header.dtype.newbyteorder("="))
