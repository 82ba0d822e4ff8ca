"""`.bin` files with a header of 256 int32: llm.c, modded-nanogpt, NeMo-Automodel.

    magic      version   n_tokens   itemsize   ...    │ tokens
    int32      int32     int32      int32      zeros  │ u16 or u32[n_tokens]
    0          4         8          12         16       1024
    20240520   1         n          -                   u16      llm.c gpt-2, modded-nanogpt
    20240801   7         n          -                   u32      llm.c llama-3
    278895051  1         n          2 or 4              itemsize NeMo-Automodel

    <stem>.bos.idx                                      int32[document], where documents begin, in tokens;
                                                        Automodel writes it, others may lack it

All of them put the end-of-text token BEFORE each document, so that a scan has to cut before it. llm.c reads
windows of `max_seq_len` whose last label is the next window's first token; Automodel's windows are one token
longer and share none; modded-nanogpt aligns its windows with documents and isolates them (give
`--trainer modded-nanogpt`).

Source: karpathy/llm.c f1e2ace `dev/data/data_common.py`, `llmc/dataloader.h`; KellerJordan/modded-nanogpt
f411b3d3 `train_gpt.py`; NVIDIA-NeMo/Automodel 36044ad3d
`nemo_automodel/components/datasets/llm/nanogpt_dataset.py`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array
from packlint.readers.raw_tokens import odd_bytes
from packlint.readers.shard import Fault, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.stream import (
    Documents,
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

__all__ = ["TokenBinReader"]

_HEADER = struct.Struct("<4i")
_HEADER_BYTES = 1024
_STARTS = ".bos.idx"
_EVALUATION = 20240522
_KIND = StreamKind(format="token-bin", producer="llm.c", trainer="llm-c", documents=_STARTS)
_PREPENDED = "this container puts the end-of-text token before each document"
_MANNER = "as llm.c reads (the label after each window is the next one's first token)"


@dataclass(frozen=True, slots=True)
class _Kind:
    """State what a magic number stands for; the type of tokens is none where the header gives their size."""

    producer: str
    version: int
    dtype: str | None
    trainer: str = "llm-c"


_KINDS: Mapping[int, _Kind] = MappingProxyType(
    {
        20240520: _Kind("llm.c", 1, "<u2"),
        20240801: _Kind("llm.c", 7, "<u4"),
        278895051: _Kind("automodel", 1, None, "automodel-nanogpt"),
    }
)
_DTYPES = {2: "<u2", 4: "<u4"}


@dataclass(frozen=True, slots=True)
class TokenBinReader:
    """Open `.bin` files by the magic number of their header."""

    format: str = _KIND.format
    title: str = "tokens after a 1024-byte header (.bin): llm.c, modded-nanogpt, NeMo-Automodel"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the magic; true for a table of starts beside such a file too."""
        magic = int.from_bytes(head[:4], "little")
        return magic in _KINDS or magic == _EVALUATION or _belongs(source, source.name)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard; none for a table of starts.

        Raises:
            UnreadableError: the header is damaged, or this is an evaluation set.
            UsageError: `max_seq_len` is not positive.
        """
        if _belongs(source, source.name):
            return ()
        kind, dtype, declared = _header(source)
        n_held = (source.size - _HEADER_BYTES) // dtype.itemsize
        n_tokens = min(declared, n_held)
        starts = source.sibling(source.name.rsplit(".", 1)[0] + _STARTS)
        documents, document_faults = _documents(starts, n_tokens)
        marks = Marks.told(settings, prepended=True)
        why = f"the header of {kind.producer} says so: tokens are {dtype.name}"
        tokens = Stored(source, dtype.str, _HEADER_BYTES, n_tokens)
        shard = open_stream(
            replace(_KIND, producer=kind.producer, trainer=kind.trainer),
            name,
            Stream(tokens=tokens, documents=documents, marks=marks),
            spec=known_dtype(dtype, why),
            evidence=[why, f"{declared} tokens declared", _PREPENDED],
            n_bytes=source.size + (starts.size if documents is not None else 0),
            window=wanted_window(settings, manner=_MANNER),
            faults=(*_count_faults(source, dtype, declared, n_held), *document_faults),
        )
        return (shard,)


def _belongs(source: Source, name: str) -> bool:
    """Tell whether a file is the table of starts of a `.bin` beside it."""
    if not name.endswith(_STARTS):
        return False
    tokens = source.sibling(name.removesuffix(_STARTS) + ".bin")
    return tokens.exists() and int.from_bytes(tokens.read(0, 4), "little") in _KINDS


def _header(source: Source) -> tuple[_Kind, np.dtype[np.unsignedinteger], int]:
    """Return the kind of file, the type of its tokens and how many it declares."""
    raw = source.read(0, _HEADER.size)
    if source.size < _HEADER_BYTES or len(raw) < _HEADER.size:
        raise UnreadableError(
            f"truncated: {source.size} bytes are less than the {_HEADER_BYTES} of the header"
        )
    magic, version, n_tokens, n_token_bytes = _HEADER.unpack(raw)
    if magic == _EVALUATION:
        raise UnreadableError("an evaluation set of llm.c (magic 20240522), no stream of tokens")
    kind = _KINDS[magic]
    if version != kind.version:
        raise UnreadableError(f"version {version} at byte 4, expected {kind.version} after magic {magic}")
    if n_tokens < 0:
        raise UnreadableError(f"{n_tokens} tokens declared at byte 8")
    code = kind.dtype or _DTYPES.get(n_token_bytes)
    if code is None:
        raise UnreadableError(f"{n_token_bytes} bytes per token at byte 12, expected 2 or 4")
    return kind, np.dtype(code), n_tokens


def _count_faults(
    source: Source, dtype: np.dtype[np.unsignedinteger], declared: int, n_held: int
) -> tuple[Fault, ...]:
    if n_held == declared:
        return odd_bytes(source, dtype, _HEADER_BYTES)
    message = f"the header declares {declared} tokens, the file holds {n_held}"
    return (Fault(code="SHD001" if n_held < declared else "MAN003", message=message),)


def _documents(starts: Source, n_tokens: int) -> tuple[Documents | None, tuple[Fault, ...]]:
    """Return the documents of a table of starts; tokens before the first of them are one more."""
    if not starts.exists() or starts.size == 0:
        return None, ()
    name, (n_starts, odd) = starts.name, divmod(starts.size, 4)
    begins: Int64Array = np.asarray(Stored(starts, "<i4", 0, n_starts).view()[:]).astype(np.int64)
    faults: list[Fault] = []
    if odd:
        message = f"{name} has {starts.size} bytes, no multiple of 4: it is cut off"
        faults.append(Fault(code="SHD001", message=message))
    n_outside = int(np.count_nonzero((begins < 0) | (begins >= n_tokens)))
    if n_outside:
        message = f"{name} lists {n_outside} starts outside the {n_tokens} tokens"
        faults.append(Fault(code="SHD006", message=message, n_hits=n_outside))
        begins = begins[(begins >= 0) & (begins < n_tokens)]
    ends = np.append(begins[begins > 0], n_tokens)
    documents, more = check_documents(Held(ends), n_tokens, name)
    return documents, (*faults, *more)
