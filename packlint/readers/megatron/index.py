r"""Parse the `.idx` of a Megatron indexed dataset; nothing is believed before the file size agrees.

    MMIDIDX\0\0   version   dtype   S     D    │ lengths    pointers   documents   [modes]
    9 bytes       u64 = 1   u8      u64   u64  │ int32[S]   int64[S]   int64[D]    [int8[S]]
    0             9         17      18    26   34           34 + 4S    34 + 12S    34 + 12S + 8D

S sequences; D entries in the document index (documents + 1: first 0, last S, counted in sequences).
Pointers are byte offsets in the `.bin`, which holds raw tokens and no header. Nothing but the file size
says whether there are modes (multimodal sets). fairseq writes the same magic and version without D and
documents: 26 + 12S bytes.

Source: `megatron/core/datasets/indexed_dataset.py` (NVIDIA/Megatron-LM, d98e8a64dd), `_IndexWriter` and
`_IndexReader`; fairseq: `fairseq/data/indexed_dataset.py` (3d262bb2), `MMapIndexedDataset.Index`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array
from packlint.readers.megatron.scan import Scan
from packlint.readers.shard import Fault
from packlint.readers.source import ArrayView, Source

__all__ = ["MAGIC", "Header", "Index", "open_index", "read_header"]

MAGIC = b"MMIDIDX\x00\x00"
_SCAN_SEQUENCES = 1 << 18
"""Sequences looked at together while checking; also the most that a section holds."""
_HEADER = struct.Struct("<9sQBQQ")
_FAIRSEQ_HEADER = struct.Struct("<9sQBQ")
_DTYPES = {1: "<u1", 2: "<i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
_FLOATS = frozenset({6, 7})
"""float64 and float32 in Megatron, the other way round in GPT-NeoX: never tokens."""


@dataclass(frozen=True, slots=True)
class Header:
    """Hold the header of an `.idx`, checked against the size of the file.

    Args:
        dtype_code: storage type of the tokens, as the file says it.
        dtype: the same for numpy, little-endian.
        n_sequences: S in the drawing.
        n_document_entries: D in the drawing.
        has_modes: the file ends in one mode per sequence.
    """

    dtype_code: int
    dtype: np.dtype[np.integer[Any]]
    n_sequences: int
    n_document_entries: int
    has_modes: bool

    @property
    def n_documents(self) -> int:
        """Documents, each of one or more sequences."""
        return max(self.n_document_entries - 1, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Give access to a checked `.idx`; holds one entry per section, not per sequence.

    Args:
        source: the `.idx`.
        bin: the `.bin` beside it.
        header: counts and types.
        section_sequences: `int64[section + 1]`, first sequence of each section, and S.
        section_tokens: `int64[section + 1]`, tokens in all sequences before each section, and in all.
        faults: what is wrong but does not keep the sequences from being read.
    """

    source: Source
    bin: Source
    header: Header
    section_sequences: Int64Array
    section_tokens: Int64Array
    faults: tuple[Fault, ...] = ()

    @property
    def n_sequences(self) -> int:
        """Sequences in the set."""
        return self.header.n_sequences

    @property
    def n_tokens(self) -> int:
        """Tokens in all sequences."""
        return int(self.section_tokens[-1])

    def lengths(self, first: int, stop: int) -> Int64Array:
        """Return `int64[sequence]`, tokens of the sequences `first` to `stop`, exclusive."""
        return _lengths(self.source, first, stop)

    def starts(self, first: int, stop: int) -> Int64Array:
        """Return `int64[sequence]`, place of each sequence in the `.bin`, in tokens."""
        return _pointers(self.source, self.header, first, stop) // self.header.dtype.itemsize

    @property
    def n_bytes(self) -> int:
        """Bytes of both files."""
        return self.source.size + self.bin.size

    def tokens(self) -> ArrayView:
        """Map the `.bin` as `int[token]`, read-only, in the stored type; every call maps it anew.

        Raises:
            UnreadableError: the file shrank since it was opened.
        """
        try:
            mapped = self.bin.array(self.header.dtype)
        except (ValueError, OSError) as error:
            raise UnreadableError(f"{self.bin.name}: {error}") from error
        return mapped.view(np.ndarray) if isinstance(mapped, np.ndarray) else mapped


def read_header(source: Source) -> Header:
    """Return the header of an `.idx`; costs 34 bytes of reading, whatever counts it claims.

    Raises:
        UnreadableError: no Megatron index of version 1 with integer tokens, or not of the size it says.
    """
    size, head = source.size, source.read(0, _HEADER.size)
    if head[: len(MAGIC)] != MAGIC[: len(head)]:
        raise UnreadableError("no Megatron index: the file does not begin with MMIDIDX")
    if _is_fairseq(head, size):
        raise UnreadableError("fairseq MMIDIDX; not read in this version")
    if len(head) < _HEADER.size:
        raise UnreadableError(f"truncated: {size} bytes are less than the {_HEADER.size} of the header")
    _, version, code, n_sequences, n_entries = _HEADER.unpack(head)
    if version != 1:
        raise UnreadableError(f"version {version} of MMIDIDX at byte 9, expected 1")
    has_modes = _has_modes(size, n_sequences, n_entries)
    return Header(code, _dtype(code), n_sequences, n_entries, has_modes)


def _is_fairseq(head: bytes, size: int) -> bool:
    """Tell whether the size is that of fairseq's layout; no Megatron index has it, as D is not negative."""
    if len(head) < _FAIRSEQ_HEADER.size:
        return False
    n_sequences = _FAIRSEQ_HEADER.unpack_from(head)[3]
    return bool(size == _FAIRSEQ_HEADER.size + 12 * n_sequences)


def _has_modes(size: int, n_sequences: int, n_entries: int) -> bool:
    expected = _HEADER.size + 12 * n_sequences + 8 * n_entries
    if size == expected:
        return False
    if size == expected + n_sequences:
        return True
    raise UnreadableError(
        f"{n_sequences} sequences and {n_entries} document entries (bytes 18 to 34) need {expected} bytes, "
        f"or {expected + n_sequences} with modes, but the file has {size}"
    )


def _dtype(code: int) -> np.dtype[np.integer[Any]]:
    if code in _FLOATS:
        raise UnreadableError(f"dtype code {code} at byte 17 means floats: these are not tokens")
    if code not in _DTYPES:
        raise UnreadableError(f"unknown dtype code {code} at byte 17")
    return np.dtype(_DTYPES[code])


def open_index(source: Source) -> Index:
    """Return the index of a set, checked against the size of its `.bin`.

    Reads the `.idx` once, 3 MiB at a time.

    Raises:
        UnreadableError: the index contradicts itself or points beyond the `.bin`, or the `.bin` is missing.
    """
    header = read_header(source)
    bin_file = source.sibling(source.stem + ".bin")
    if not bin_file.exists():
        raise UnreadableError(f"{bin_file.name} is missing beside {source.name}")
    scan = Scan(header.dtype.itemsize, bin_file.size, bin_file.name)
    for first in range(0, header.n_sequences, _SCAN_SEQUENCES):
        stop = min(first + _SCAN_SEQUENCES, header.n_sequences)
        scan.add(first, _lengths(source, first, stop), _pointers(source, header, first, stop))
    return Index(
        source=source,
        bin=bin_file,
        header=header,
        section_sequences=np.array([*scan.section_sequences, header.n_sequences], np.int64),
        section_tokens=np.array([*scan.section_tokens, scan.n_tokens], np.int64),
        faults=(*scan.faults(), *_document_faults(source, header)),
    )


def _document_faults(source: Source, header: Header) -> tuple[Fault, ...]:
    """Report a document index that does not run from 0 up to S; sequences do not depend on it."""
    first, last = 0, 0
    for at in range(0, header.n_document_entries, _SCAN_SEQUENCES):
        stop = min(at + _SCAN_SEQUENCES, header.n_document_entries)
        entries = _read(source, np.dtype("<i8"), _HEADER.size + 12 * header.n_sequences + 8 * at, stop - at)
        first = int(entries[0]) if at == 0 else first
        falls = np.append(last, entries[:-1]) > entries
        if falls.any():
            place = at + int(falls.argmax())
            return (Fault(code="SHD001", message=f"the document index falls at entry {place}"),)
        last = int(entries[-1])
    if (first, last) == (0, header.n_sequences):
        return ()
    message = f"the document index runs from {first} to {last}, expected 0 to {header.n_sequences}"
    return (Fault(code="SHD001", message=message),)


def _lengths(source: Source, first: int, stop: int) -> Int64Array:
    return _read(source, np.dtype("<i4"), _HEADER.size + 4 * first, stop - first)


def _pointers(source: Source, header: Header, first: int, stop: int) -> Int64Array:
    offset = _HEADER.size + 4 * header.n_sequences + 8 * first
    return _read(source, np.dtype("<i8"), offset, stop - first)


def _read(source: Source, dtype: np.dtype[Any], offset: int, count: int) -> Int64Array:
    raw = source.read(offset, count * dtype.itemsize)
    if len(raw) != count * dtype.itemsize:
        raise UnreadableError(f"{source.name} ended at byte {offset + len(raw)} while it was read")
    values = np.frombuffer(raw, dtype)
    return values.astype(np.int64, copy=False)
