r"""fairseq's mapped data sets: `.bin` + `.idx` with Megatron's magic and no document index.

    MMIDIDX\0\0   version   dtype   S    │ lengths    pointers
    9 bytes       u64 = 1   u8      u64  │ int32[S]   int64[S]
    0             9         17      18     26         26 + 4S       26 + 12S bytes in all

S sequences, one per line of text, each ended by the end token as a rule. Megatron's files are 8 bytes and a
document index longer, so that the size tells them apart. A row is a sequence, or, when `max_seq_len` is
told, a block of the stream (`TokenBlockDataset`, break mode none); its last one may be shorter.

Source: facebookresearch/fairseq 3d262bb2 `fairseq/data/{indexed_dataset,token_block_dataset}.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array
from packlint.readers.shard import Fault, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.stream import (
    Held,
    Marks,
    Stored,
    Stream,
    StreamKind,
    check_documents,
    known_dtype,
    open_stream,
    wanted_window,
)
from packlint.readers.stream.stored import piece

__all__ = ["FairseqReader"]

_MAGIC = b"MMIDIDX\x00\x00"
_HEADER = struct.Struct("<9sQBQ")
_ENTRY_BYTES = 12
_DTYPES = {1: "|u1", 2: "|i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2", 9: "<u4", 10: "<u8"}
_KIND = StreamKind(format="fairseq", producer="fairseq", trainer="fairseq", documents="sequence_lengths")
_MANNER = "as TokenBlockDataset cuts with break mode none"
_CHECKED_SEQUENCES = 1 << 18


@dataclass(frozen=True, slots=True)
class FairseqReader:
    """Open `.idx` files of fairseq; must be asked before Megatron's reader."""

    format: str = _KIND.format
    title: str = "fairseq mapped data set (.idx + .bin without document index)"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the magic and by the size, which a Megatron index never has."""
        if len(head) < _HEADER.size or not head.startswith(_MAGIC):
            return False
        n_sequences = int(_HEADER.unpack_from(head)[3])
        return source.size == _HEADER.size + _ENTRY_BYTES * n_sequences

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard.

        Raises:
            UnreadableError: the index is damaged, or the `.bin` is missing or too short.
            UsageError: `max_seq_len` is not positive.
        """
        dtype, n_sequences = _header(source)
        tokens = source.sibling(source.name.rsplit(".", 1)[0] + ".bin")
        if not tokens.exists():
            raise UnreadableError(f"{tokens.name} is missing beside {source.name}")
        ends = _ends(source, n_sequences, dtype.itemsize)
        n_tokens = int(ends[-1]) if ends.size else 0
        documents, _ = check_documents(Held(ends), n_tokens, source.name)
        faults = _size_faults(tokens, n_tokens * dtype.itemsize)
        why = f"dtype code in the .idx: tokens are {dtype.name}"
        size = f"{_HEADER.size} + {_ENTRY_BYTES} * {n_sequences} bytes"
        stored = Stored(tokens, dtype.str, 0, n_tokens)
        shard = open_stream(
            _KIND,
            name,
            Stream(tokens=stored, documents=documents, marks=Marks.told(settings)),
            spec=known_dtype(dtype, why),
            evidence=[f"magic MMIDIDX, and a size of {size}: fairseq's, no document index", why],
            n_bytes=source.size + tokens.size,
            window=wanted_window(settings, manner=_MANNER, is_rest_trained=True),
            faults=faults,
        )
        return (shard,)


def _header(source: Source) -> tuple[np.dtype[np.integer], int]:
    """Return the type of the tokens and the number of sequences, which agrees with the size of the file."""
    raw = source.read(0, _HEADER.size)
    if len(raw) < _HEADER.size:
        raise UnreadableError(f"truncated: {len(raw)} bytes are less than the {_HEADER.size} of the header")
    _, version, code, n_sequences = _HEADER.unpack(raw)
    if version != 1:
        raise UnreadableError(f"version {version} of MMIDIDX at byte 9, expected 1")
    if code not in _DTYPES:
        raise UnreadableError(f"dtype code {code} at byte 17 is unknown, or means floats")
    if source.size != _HEADER.size + _ENTRY_BYTES * n_sequences:
        raise UnreadableError(f"{n_sequences} sequences do not make an index of {source.size} bytes")
    return np.dtype(_DTYPES[code]), n_sequences


def _ends(source: Source, n_sequences: int, n_token_bytes: int) -> Int64Array:
    """Return `int64[sequence]`, where sequences end, in tokens; they must lie end to end.

    Raises:
        UnreadableError: a length is negative, or a pointer is not where the sequence before ends.
    """
    lengths = Stored(source, "<i4", _HEADER.size, n_sequences).view()
    pointers = Stored(source, "<i8", _HEADER.size + 4 * n_sequences, n_sequences).view()
    ends = np.zeros(n_sequences, np.int64)
    before = 0
    for first in range(0, n_sequences, _CHECKED_SEQUENCES):
        stop = min(first + _CHECKED_SEQUENCES, n_sequences)
        sizes = piece(lengths, first, stop).astype(np.int64)
        if (sizes < 0).any():
            at = int((sizes < 0).argmax())
            raise UnreadableError(f"sequence {first + at} has the length {sizes[at]}")
        ends[first:stop] = before + np.cumsum(sizes)
        stored = piece(pointers, first, stop)
        apart = stored != (ends[first:stop] - sizes) * n_token_bytes
        if apart.any():
            at = int(apart.argmax())
            expected = (ends[first + at] - sizes[at]) * n_token_bytes
            raise UnreadableError(
                f"sequence {first + at} begins at byte {stored[at]}, expected byte {expected}"
            )
        before = int(ends[stop - 1])
    return ends


def _size_faults(tokens: Source, n_bytes: int) -> tuple[Fault, ...]:
    if tokens.size < n_bytes:
        raise UnreadableError(f"{tokens.name} has {tokens.size} bytes, the index needs {n_bytes}")
    if tokens.size == n_bytes:
        return ()
    message = f"{tokens.name} has {tokens.size} bytes, the index ends at byte {n_bytes}"
    return (Fault(code="SHD006", message=message),)
