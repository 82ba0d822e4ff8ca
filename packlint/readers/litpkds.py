r"""LITPKDS: chunks of tokens by the old lit-gpt and TinyLlama.

    LITPKDS    version   dtype code   chunk_size │ tokens
    7 bytes    u64 = 1   u8           u64        │ any[chunk_size]
    0          7         15           16           24

Every chunk has the same size; documents run on from one into the next. `write_reminder` fills the last one
with the separator (BOS in the scripts), which is trained on like everything else. A tail of one repeated id
is taken for such filling and its id for `pad_id`; documents may begin or end in the same id.
Trainers read blocks of `max_seq_len + 1`, end to end, and drop what is left of a chunk.

Source: jzhang38/TinyLlama bf12224 `lit_gpt/packed_dataset.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from packlint.errors import UnreadableError
from packlint.model.spec import Known, Origin
from packlint.readers.raw_tokens import odd_bytes
from packlint.readers.shard import Fault, PaddingMark, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.stream import Marks, Stored, Stream, StreamKind, known_dtype, open_stream, wanted_window
from packlint.readers.stream.stored import piece

__all__ = ["LitpkdsReader"]

_MAGIC = b"LITPKDS"
_HEADER = struct.Struct("<7sQBQ")
_DTYPES = {1: "|u1", 2: "|i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
_KIND = StreamKind(format="litpkds", producer="lit-gpt", trainer="litgpt", padding=PaddingMark.UNKNOWN)
_MANNER = "as LitGPT cuts (max_seq_len + 1, the last token of each is a label only)"
_LEAST_FILLING = 16
"""Tokens of one id at the end of a chunk that count as filling; shorter runs are found in text."""


@dataclass(frozen=True, slots=True)
class LitpkdsReader:
    """Open LITPKDS chunks by their magic."""

    format: str = _KIND.format
    title: str = "LITPKDS chunks of PackedDatasetBuilder: TinyLlama, lit-gpt, lit-llama"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the magic."""
        return head.startswith(_MAGIC)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard.

        Raises:
            UnreadableError: the header is damaged.
            UsageError: `max_seq_len` is not positive.
        """
        dtype, declared = _header(source)
        n_held = (source.size - _HEADER.size) // dtype.itemsize
        tokens = Stored(source, dtype.str, _HEADER.size, min(declared, n_held))
        why = f"dtype code in the header: tokens are {dtype.name}"
        evidence = ["magic LITPKDS, version 1", why, f"chunk_size {declared} tokens"]
        pad_id = _filling(tokens)
        if pad_id is not None:
            evidence.append(pad_id.why)
        shard = open_stream(
            _KIND,
            name,
            Stream(tokens=tokens, marks=Marks.told(settings)),
            spec=replace(known_dtype(dtype, why), pad_id=pad_id),
            evidence=evidence,
            n_bytes=source.size,
            window=wanted_window(settings, extra=1, manner=_MANNER),
            faults=_count_faults(source, dtype, declared, n_held),
        )
        return (shard,)


def _header(source: Source) -> tuple[np.dtype[np.integer], int]:
    """Return the type of the tokens and how many are declared."""
    raw = source.read(0, _HEADER.size)
    if len(raw) < _HEADER.size:
        raise UnreadableError(f"truncated: {len(raw)} bytes are less than the {_HEADER.size} of the header")
    _, version, code, n_tokens = _HEADER.unpack(raw)
    if version != 1:
        raise UnreadableError(f"version {version} of LITPKDS at byte 7, expected 1")
    if code not in _DTYPES:
        raise UnreadableError(f"dtype code {code} at byte 15 is unknown, or means floats")
    return np.dtype(_DTYPES[code]), n_tokens


def _filling(tokens: Stored) -> Known[int] | None:
    """Return the id that is repeated at the end of the chunk, if it fills it."""
    if tokens.size < _LEAST_FILLING:
        return None
    tail = piece(tokens.view(), tokens.size - _LEAST_FILLING, tokens.size)
    if not np.all(tail == tail[-1]):
        return None
    why = f"id {tail[-1]} repeats at the end of the chunk, as write_reminder fills it"
    return Known(int(tail[-1]), Origin.FORMAT, why)


def _count_faults(
    source: Source, dtype: np.dtype[np.integer], declared: int, n_held: int
) -> tuple[Fault, ...]:
    if n_held == declared:
        return odd_bytes(source, dtype, _HEADER.size)
    message = f"the header declares {declared} tokens, the file holds {n_held}"
    return (Fault(code="SHD001" if n_held < declared else "MAN003", message=message),)
