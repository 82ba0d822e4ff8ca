"""The file of an MDS shard, plain or compressed, checked against what the index says of it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.readers.inflate import Codec, content_limit, inflated
from packlint.readers.mds.index import Entry, FileClaim
from packlint.readers.shard import Fault
from packlint.readers.source import Source

__all__ = ["Content", "read_shard_file"]

_MAX_HASHED_BYTES = 1 << 26
"""Files up to this size are hashed: it is the limit that writers keep, and takes a tenth of a second."""
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """Hold the content of a shard.

    Args:
        data: `uint8[byte]`, mapped where the file is plain and local; none when there is no file.
        faults: what contradicts the index.
    """

    data: NDArray[np.uint8] | None
    faults: tuple[Fault, ...]


def read_shard_file(index: Source, entry: Entry) -> Content:
    """Return the content of a shard: of the plain file if it is there, else of the compressed one.

    Raises:
        UnreadableError: it cannot be read or decompressed.
    """
    plain = _below(index, entry.raw.basename)
    if plain.exists():
        mapped: NDArray[np.uint8] = np.asarray(plain.array(np.uint8)[0 : plain.size])
        return Content(mapped, _contradictions(plain, entry.raw))
    packed = _below(index, entry.packed.basename) if entry.packed else None
    if packed is None or entry.packed is None or entry.codec is None or not packed.exists():
        name = (entry.packed or entry.raw).basename
        message = f"{name} is missing, the index says that it holds {entry.n_samples} samples"
        return Content(None, (Fault(code="SHD006", message=message),))
    faults = _contradictions(packed, entry.packed)
    data = np.frombuffer(_inflate(packed, entry.codec), np.uint8)
    if data.size != entry.raw.n_bytes:
        message = f"{entry.packed.basename} holds {data.size} bytes, the index says {entry.raw.n_bytes}"
        faults = (*faults, Fault(code="SHD006", message=message))
    return Content(data, faults)


def _below(index: Source, basename: str) -> Source:
    """Return a file by its path below the folder of the index."""
    return index.parent.child(basename)


def _contradictions(source: Source, claim: FileClaim) -> tuple[Fault, ...]:
    if source.size != claim.n_bytes:
        message = f"{claim.basename} has {source.size} bytes, the index says {claim.n_bytes}"
        return (Fault(code="SHD006", message=message),)
    if source.size > _MAX_HASHED_BYTES:
        return ()
    faults: list[Fault] = []
    for name, expected in claim.hashes.items():
        found = _digest(source, name)
        if found is not None and found != expected.lower():
            message = f"{name} of {claim.basename} is {found}, the index says {expected[:128]}"
            faults.append(Fault(code="MAN003", message=message))
    return tuple(faults)


def _digest(source: Source, name: str) -> str | None:
    """Return the digest of a file; none where Python has no such algorithm (xxhash)."""
    try:
        digest: Any = hashlib.new(name, usedforsecurity=False)
    except ValueError:
        return None
    if digest.digest_size == 0:  # those of any length that is asked for
        return None
    digest.update(source.read())
    found: str = digest.hexdigest()
    return found


def _inflate(source: Source, codec: Codec) -> bytes:
    limit = content_limit(source.size)
    if codec is Codec.SNAPPY:
        return _snappy(source.read(), limit)
    pieces: list[bytes] = []
    with inflated(source.open(), codec, limit) as stream:
        while piece := stream.read(_PIECE_BYTES):
            pieces.append(piece)
    return b"".join(pieces)


def _snappy(stored: bytes, limit: int) -> bytes:
    """Return the content of a raw snappy block, which begins with its size as a varint."""
    size = shift = 0
    for byte in stored[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > limit:
        raise UnreadableError(f"snappy data claim {size} bytes, the limit here is {limit}")
    try:
        content: bytes = pa.Codec("snappy").decompress(stored, size, asbytes=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableError(f"snappy data damaged: {str(error).splitlines()[0]}") from None
    return content
