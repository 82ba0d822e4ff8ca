"""Parse litdata's `index.json`; every value in it is only a claim."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import numpy as np

from packlint.errors import UnreadableError
from packlint.readers.source import Source

__all__ = ["INDEX_NAME", "Chunk", "Index", "read_index", "token_dtype"]

INDEX_NAME = "index.json"
MAX_INDEX_BYTES = 1 << 26

_TORCH = {
    11: "|u1",
    12: "|i1",
    13: "<i2",
    14: "<i2",
    15: "<i4",
    16: "<i4",
    17: "<i8",
    18: "<i8",
    20: "<u2",
}
"""Codes of `_TORCH_DTYPES_MAPPING` that are integers; several stand for one type."""
_NUMPY = {0: "|i1", 1: "<i2", 2: "<i4", 3: "<i8", 4: "|u1", 5: "<u2", 6: "<u4", 7: "<u8"}
"""Codes of `_NUMPY_DTYPES_MAPPING` that are integers."""
_TABLES: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {"no_header_tensor": _TORCH, "no_header_numpy": _NUMPY}
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Hold what the index declares of one chunk; none where it says nothing usable.

    Args:
        number: its place in the index.
        filename: its file, beside the index.
        n_bytes: bytes, unpacked.
        n_items: items.
        n_tokens: tokens of all items.
    """

    number: int
    filename: str
    n_bytes: int | None
    n_items: int | None
    n_tokens: int | None


@dataclass(frozen=True, slots=True)
class Index:
    """Hold an `index.json`.

    Args:
        names: file names of all chunks, in order.
        chunks: what it declares of each, by file name.
        data_format: one entry per leaf of an item.
        compression: `zstd` or `zstd:4` for whole files, or none.
        compression_level: how far compression reaches; none or `chunk` for whole files.
        is_encrypted: items or chunks are encrypted.
    """

    names: tuple[str, ...]
    chunks: Mapping[str, Chunk]
    data_format: tuple[str, ...]
    compression: str | None
    compression_level: str | None
    is_encrypted: bool


def read_index(source: Source) -> Index | None:
    """Return the index, or none if the file is not there or is no index of litdata's."""
    if not source.exists():
        return None
    return _parsed(source.location, source.size, source.stamp)


@lru_cache(maxsize=8)
def _parsed(location: str, size: int, _stamp: str) -> Index | None:
    """Parse once for all chunks of a folder; a file that changed is another key."""
    if size > MAX_INDEX_BYTES:
        return None
    try:
        found = json.loads(Source(location).read(0, size))
        config, listed = found["config"], found["chunks"]
        leaves = config["data_format"]
        if not isinstance(leaves, list):
            return None
        chunks = [_chunk(number, entry) for number, entry in enumerate(listed)]
        return Index(
            names=tuple(chunk.filename for chunk in chunks),
            chunks=MappingProxyType({chunk.filename: chunk for chunk in chunks}),
            data_format=tuple(map(str, leaves)),
            compression=_text(config.get("compression")),
            compression_level=_text(config.get("compression_level")),
            is_encrypted=bool(config.get("encryption")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _chunk(number: int, entry: Mapping[str, Any]) -> Chunk:
    counts = (_count(entry.get(key)) for key in ("chunk_bytes", "chunk_size", "dim"))
    return Chunk(number, str(entry["filename"]), *counts)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def token_dtype(index: Index) -> np.dtype[np.integer]:
    """Return the type of tokens that the index declares.

    Raises:
        UnreadableError: items are no lists of tokens, or the code is unknown.
    """
    if len(index.data_format) != 1 or index.data_format[0].split(":", 1)[0] not in _TABLES:
        leaves = ", ".join(index.data_format)[:80]
        raise UnreadableError(f"litdata items of the format [{leaves}] are no tokens for TokensLoader")
    kind, _, code = index.data_format[0].partition(":")
    dtype = _TABLES[kind].get(int(code)) if code.isdecimal() and len(code) < 4 else None
    if dtype is None:
        raise UnreadableError(f"data_format {index.data_format[0][:40]}: no code of an integer type")
    return np.dtype(dtype)
