"""`index.json` of an MDS directory.

    {"version": 2, "shards": [{
        "format": "mds", "version": 2, "samples": 7, "compression": "zstd" or null, "hashes": [],
        "column_names": ["tokens"], "column_encodings": ["ndarray:int32"], "column_sizes": [null],
        "raw_data": {"basename": "shard.00000.mds", "bytes": 2047, "hashes": {"sha1": "…"}},
        "zip_data": {"basename": "shard.00000.mds.zstd", "bytes": 1310, "hashes": {}} or null}, …]}

An index may be merged from those of sub-directories; then base names lead into them (`sub/shard.00000.mds`).

Source: `streaming/base/format/{writer,mds/writer,mds/reader}.py` (mosaicml-streaming 0.13.0).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from packlint.errors import UnreadableError
from packlint.readers.inflate import Codec
from packlint.readers.source import Source

__all__ = ["INDEX_NAME", "Entry", "FileClaim", "is_index", "read_index"]

INDEX_NAME = "index.json"
_MAX_INDEX_BYTES = 1 << 28
_CODECS = {
    "zstd": Codec.ZSTD,
    "gz": Codec.GZIP,
    "bz2": Codec.BZ2,
    "br": Codec.BROTLI,
    "snappy": Codec.SNAPPY,
}


@dataclass(frozen=True, slots=True)
class FileClaim:
    """Hold what the index says of one file.

    Args:
        basename: path below the index.
        n_bytes: its size.
        hashes: hexadecimal digest by the algorithm's name.
    """

    basename: str
    n_bytes: int
    hashes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold what the index says of one shard.

    Args:
        raw: the file as it was written, which may not be kept.
        packed: the compressed file, or none.
        codec: how that is compressed.
        n_samples: samples in the shard.
        names: its columns.
        encodings: how each is stored.
        sizes: bytes of each value, none where they vary.
    """

    raw: FileClaim
    packed: FileClaim | None
    codec: Codec | None
    n_samples: int
    names: tuple[str, ...]
    encodings: tuple[str, ...]
    sizes: tuple[int | None, ...]


def is_index(head: bytes) -> bool:
    """Tell whether a file begins as the index of an MDS directory does, whatever the order of its keys."""
    text = head.lstrip()
    return (
        text.startswith(b"{") and b'"shards"' in text and (b'"column_encodings"' in text or b'"mds"' in text)
    )


def read_index(source: Source) -> tuple[Entry, ...]:
    """Return the shards that an index lists; the last few indices are remembered.

    Raises:
        UnreadableError: it is damaged, or lists shards of another format.
    """
    return _parsed(source, source.size, source.stamp)


@lru_cache(maxsize=8)
def _parsed(source: Source, size: int, _stamp: str) -> tuple[Entry, ...]:
    if size > _MAX_INDEX_BYTES:
        raise UnreadableError(f"the index has {size} bytes")
    try:
        index = json.loads(source.read())
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise UnreadableError(f"the index is no JSON: {reason}") from None
    if not isinstance(index, dict) or not isinstance(index.get("shards"), list):
        raise UnreadableError("the index lists no shards")
    if index.get("version") != 2:
        raise UnreadableError(f"version {str(index.get('version'))[:20]} of the index, expected 2")
    return tuple(_entry(shard, number) for number, shard in enumerate(index["shards"]))


def _entry(shard: Any, number: int) -> Entry:
    try:
        if shard["format"] != "mds":
            raise UnreadableError(f"shard {number} is {str(shard['format'])[:20]}, expected mds")
        compression = shard["compression"]
        codec = None if compression is None else _CODECS.get(str(compression).split(":")[0])
        if compression is not None and codec is None:
            raise UnreadableError(f"shard {number} is compressed with {str(compression)[:20]!r}")
        columns = shard["column_names"], shard["column_encodings"], shard["column_sizes"]
        if not len(columns[0]) == len(columns[1]) == len(columns[2]):
            raise ValueError
        return Entry(
            raw=_file(shard["raw_data"]),
            packed=None if shard["zip_data"] is None or codec is None else _file(shard["zip_data"]),
            codec=codec,
            n_samples=_count(shard["samples"]),
            names=tuple(map(_text, columns[0])),
            encodings=tuple(map(_text, columns[1])),
            sizes=tuple(None if size is None else _count(size) for size in columns[2]),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UnreadableError(f"what the index says of shard {number} is damaged") from None


def _file(claim: Any) -> FileClaim:
    basename = _text(claim["basename"])
    parts = basename.replace("\\", "/").split("/")
    if not basename:
        raise ValueError
    if basename.startswith(("/", "\\")) or ".." in parts or "://" in basename or "\0" in basename:
        raise UnreadableError(f"the index names {basename[:80]!r}, which leads out of its folder")
    hashes = {_text(name): _text(digest) for name, digest in claim["hashes"].items()}
    return FileClaim(basename, _count(claim["bytes"]), hashes)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 48:
        raise ValueError
    return value
