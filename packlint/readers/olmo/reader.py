"""The reader of raw `.npy` tokens: one shard per token file, its table and loss mask with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from packlint.errors import UnreadableError
from packlint.model.arrays import Int64Array
from packlint.readers.olmo.table import read_ranges
from packlint.readers.raw_tokens import odd_bytes, told_dtype
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

__all__ = ["OlmoReader"]

_GZIP = b"\x1f\x8b"
_NUMPY = b"\x93NUMPY"
_SPARE_DOCUMENTS = 1 << 12
"""Empty documents allowed beside those of one byte or more each."""
_DTYPES = ("<u1", "<u2", "<u4", "<u8")
_TOKENS, _MASKS = "token_ids", "labels_mask"
_KIND = StreamKind(
    format="olmo-numpy", producer="dolma", trainer="olmo-core", documents=".csv.gz", loss=_MASKS
)
_MANNER = "as OLMo-core's NumpyFSLDataset cuts; leave max_seq_len out for the packing data set"


@dataclass(frozen=True, slots=True)
class OlmoReader:
    """Open raw `.npy` files by the table of documents beside them."""

    format: str = _KIND.format
    title: str = "raw .npy tokens with .csv.gz and labels_mask_*.npy: OLMo-core, dolma, open-instruct"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the gzipped table or the loss mask beside it; true for these two as well."""
        return _is_tokens(source, source.name, head) or _owner(source, source.name) is not None

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard; none for the loss mask and the table of one.

        Raises:
            UnreadableError: nothing tells how tokens are stored.
            UsageError: `max_seq_len` is not positive.
        """
        if _owner(source, source.name) is not None:
            return ()
        table, mask = _table(source, source.name), _mask(source, source.name)
        ends, table_faults = _read_table(table, source.size + _SPARE_DOCUMENTS)
        dtype, why = _dtype(source, ends, mask, settings)
        n_tokens = source.size // dtype.itemsize
        documents, document_faults = _documents(ends, n_tokens, table.name)
        loss, loss_faults = _loss(mask, n_tokens)
        tokens = Stored(source, dtype.str, 0, n_tokens)
        shard = open_stream(
            replace(_KIND, producer="dolma" if loss is None else "open-instruct"),
            name,
            Stream(tokens=tokens, documents=documents, loss=loss, marks=Marks.told(settings)),
            spec=known_dtype(dtype, why),
            evidence=["no numpy header, and a .csv.gz of documents or a loss mask beside the file", why],
            n_bytes=sum(one.size for one in (source, table, mask) if one.exists()),
            window=wanted_window(settings, manner=_MANNER),
            faults=(*odd_bytes(source, dtype), *table_faults, *document_faults, *loss_faults),
        )
        return (shard,)


def _table(source: Source, name: str) -> Source:
    return source.sibling(name.rsplit(".", 1)[0] + ".csv.gz")


def _mask(source: Source, name: str) -> Source:
    return source.sibling(name.replace(_TOKENS, _MASKS, 1) if _TOKENS in name else f"{_MASKS}_{name}")


def _is_tokens(source: Source, name: str, head: bytes) -> bool:
    if head.startswith((_NUMPY, _GZIP)) or "." not in name:
        return False
    if name.startswith(_TOKENS) and _mask(source, name).exists():
        return True
    table = _table(source, name)
    return table.exists() and table.read(0, len(_GZIP)) == _GZIP


def _owner(source: Source, name: str) -> str | None:
    """Return the name of the token file that a loss mask or a table belongs to, if there is one."""
    owners = [name.replace(_MASKS, _TOKENS, 1), name.removeprefix(_MASKS + "_")]
    if name.endswith(".csv.gz"):
        owners = [name.removesuffix(".csv.gz") + ".npy"]
    for owner in owners:
        found = source.sibling(owner)
        if owner != name and found.exists() and _is_tokens(found, owner, found.read(0, len(_NUMPY))):
            return owner
    return None


def _read_table(table: Source, n_most: int) -> tuple[Int64Array | None, list[Fault]]:
    """Return the ends of documents, or none and what is wrong; tokens can be read without."""
    name = table.name
    if not table.exists():
        return None, []
    try:
        starts, ends = read_ranges(table, n_most)
    except UnreadableError as error:
        return None, [Fault(code="SHD001", message=f"{name}: {error}")]
    apart = np.flatnonzero(starts != np.append(0, ends[:-1]))
    if apart.size == 0:
        return ends, []
    at = int(apart[0])
    before = int(ends[at - 1]) if at else 0
    place = f"document {at} begins at token {starts[at]}, expected {before}"
    message = f"{name}: documents leave gaps or overlap: {place}"
    return None, [Fault(code="SHD001", message=message, n_hits=int(apart.size))]


def _dtype(
    source: Source, ends: Int64Array | None, mask: Source, settings: Settings
) -> tuple[np.dtype[Any], str]:
    """Return how tokens are stored and why: told, or the one type with which a sidecar's count agrees."""
    if (told := told_dtype(settings)) is not None:
        return told, f"[spec] token_dtype: tokens are {told.name}"
    last = 0 if ends is None or ends.size == 0 else int(ends[-1])
    n_masked = mask.size if mask.exists() else 0
    for n_tokens, what in (
        (last, f"the .csv.gz ends at token {last}"),
        (n_masked, f"the loss mask has {n_masked} values"),
    ):
        for dtype in map(np.dtype, _DTYPES):
            if n_tokens > 0 and n_tokens * dtype.itemsize == source.size:
                size = f"{n_tokens} * {dtype.itemsize} bytes is the size of the file"
                return dtype, f"{what}, and {size}: tokens are {dtype.name}"
    raise UnreadableError(
        f"nothing tells how tokens are stored: the .csv.gz ends at token {last}, the file has {source.size} "
        'bytes; give [spec] token_dtype, for instance "uint16"'
    )


def _documents(
    ends: Int64Array | None, n_tokens: int, name: str
) -> tuple[Documents | None, tuple[Fault, ...]]:
    return (None, ()) if ends is None else check_documents(Held(ends), n_tokens, name)


def _loss(mask: Source, n_tokens: int) -> tuple[Stored | None, tuple[Fault, ...]]:
    if not mask.exists():
        return None, ()
    if mask.size != n_tokens:
        message = f"{mask.name} has {mask.size} values for {n_tokens} tokens, and is not used"
        return None, (Fault(code="SHD006", message=message),)
    return Stored(mask, "|u1", 0, n_tokens), ()
