"""TFRecord framing: records one after another, each length and each record with a checksum.

    length   checksum of length   record         checksum of record
    u64      u32                  length bytes   u32
    0        8                    12             12 + length

A checksum is stored masked: turned right by 15 bits, plus 0xA282EAD8. The file may be compressed as a whole.

Source: `tensorflow/core/lib/io/record_writer.h` (tensorflow/tensorflow), `class RecordWriter`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.model.arrays import BoolArray, Int64Array
from packlint.readers.tfrecord.crc32c import LANE_BYTES, crc32c, crc32c_of_each

__all__ = ["HEADER_BYTES", "Records", "is_header", "join_records", "read_records"]

HEADER_BYTES = 12
_FOOTER_BYTES = 4
_HEADER = struct.Struct("<QI")
_PIECE_BYTES = 1 << 16
_MASK = 0xA282EAD8


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Hold consecutive records.

    Args:
        data: the bytes in which they lie.
        starts: `int64[record]`, first byte of each in `data`.
        lengths: `int64[record]`, bytes of each.
        first: number of the first record in the file.
        damaged: `bool[record]`, the checksum of the record is wrong.
    """

    data: bytes
    starts: Int64Array
    lengths: Int64Array
    first: int
    damaged: BoolArray


def is_header(head: bytes) -> bool:
    """Tell whether bytes begin with a length and its checksum; by chance one in 4 thousand million does."""
    if len(head) < HEADER_BYTES:
        return False
    _, stored = _HEADER.unpack_from(head)
    return bool(stored == _masked(crc32c(head[:8])))


def read_records(stream: IO[bytes], n_limit: int, block_bytes: int) -> Iterator[Records]:
    """Yield the records of a stream, about `block_bytes` bytes at a time.

    Args:
        stream: the content of the file.
        n_limit: bytes that the stream may hold at most.
        block_bytes: bytes at a time; a longer record comes by itself.

    Raises:
        UnreadableError: a length is damaged or the stream ends inside a record; all before were yielded.
    """
    data, first, n_before = b"", 0, 0
    n_wanted = block_bytes
    while True:
        more, damage = _more(stream, max(n_wanted - len(data), 1))
        data += more
        starts, lengths, at = _split(data)
        if starts:
            yield _checked(data, starts, lengths, first)
        first += len(starts)
        data, n_before = data[at:], n_before + at
        if damage is not None:
            raise damage
        n_wanted = max(block_bytes, _need(data, first, n_before, n_limit))
        if not more:
            if data:
                raise UnreadableError(f"truncated: record {first} at byte {n_before} is cut off")
            return


def join_records(records: list[bytes], first: int) -> Records:
    """Return records that were read one by one."""
    lengths = np.array([len(record) for record in records], np.int64)
    starts = np.cumsum(lengths) - lengths
    return Records(b"".join(records), starts, lengths, first, np.zeros(lengths.size, np.bool_))


def _more(stream: IO[bytes], n_bytes: int) -> tuple[bytes, UnreadableError | None]:
    """Return the next bytes, in pieces so that only what is there takes room, and damage met on the way."""
    pieces: list[bytes] = []
    while n_bytes > 0:
        try:
            piece = stream.read(min(n_bytes, _PIECE_BYTES))
        except UnreadableError as damage:
            return b"".join(pieces), damage
        if not piece:
            break
        pieces.append(piece)
        n_bytes -= len(piece)
    return b"".join(pieces), None


def _split(data: bytes) -> tuple[list[int], list[int], int]:
    """Return starts and lengths of the whole records in `data`, and where the first cut one begins."""
    starts: list[int] = []
    lengths: list[int] = []
    at = 0
    while len(data) - at >= HEADER_BYTES:
        length, stored = _HEADER.unpack_from(data, at)
        stop = at + HEADER_BYTES + length + _FOOTER_BYTES
        if stop > len(data) or stored != _masked(crc32c(data[at : at + 8])):
            break
        starts.append(at + HEADER_BYTES)
        lengths.append(length)
        at = stop
    return starts, lengths, at


def _need(data: bytes, number: int, n_before: int, n_limit: int) -> int:
    """Return how many bytes the record at the beginning of `data` needs, once its length is sure."""
    if len(data) < HEADER_BYTES:
        return HEADER_BYTES
    length, stored = _HEADER.unpack_from(data)
    place = f"record {number} at byte {n_before}"
    if stored != _masked(crc32c(data[:8])):
        raise UnreadableError(f"{place}: the checksum of its length is wrong")
    n_bytes = HEADER_BYTES + length + _FOOTER_BYTES
    if n_before + n_bytes > n_limit:
        raise UnreadableError(f"{place} has {length} bytes, more than are left of the {n_limit} there can be")
    return int(n_bytes)


def _checked(data: bytes, starts: list[int], lengths: list[int], first: int) -> Records:
    where, sizes = np.array(starts, np.int64), np.array(lengths, np.int64)
    buffer: NDArray[np.uint8] = np.frombuffer(bytes(LANE_BYTES) + data, np.uint8)
    footers = buffer[(where + sizes)[:, None] + (LANE_BYTES + np.arange(_FOOTER_BYTES))]
    crcs = crc32c_of_each(buffer, where + LANE_BYTES, sizes)
    masked = ((crcs >> np.uint32(15)) | (crcs << np.uint32(17))) + np.uint32(_MASK)
    damaged = np.asarray(masked != footers.view("<u4").reshape(-1), np.bool_)
    return Records(data, where, sizes, first, damaged)


def _masked(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + _MASK) & 0xFFFFFFFF
