r"""datatrove `.ds`: a raw stream of tokens, with everything that tells of it in files beside it.

    x.ds            tokens                     u16[token] or u32[token], no header
    x.ds.index      ends of documents          u64[document], in tokens, no leading 0, the last = all
    x.ds.loss       loss                       bool[token], 0 in `no_loss_ranges`; on the token itself
    x.ds.metadata   "<tokenizer>|<bytes per token>\n<tokens>\n<tokens in words>"

nanotron reads windows of `max_seq_len + 1` tokens, end to end, and drops the rest of each file; so do rows
here when `max_seq_len` is told, but for the rest, which stays. Without, a row is a document.

Source: huggingface/datatrove 0.9.0 `src/datatrove/pipeline/tokens/tokenizer.py`, `utils/dataset.py`;
huggingface/nanotron 2411b022 `src/nanotron/data/nanoset.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from packlint.errors import UnreadableError
from packlint.readers.raw_tokens import odd_bytes, told_dtype
from packlint.readers.shard import Fault, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.stream import (
    Documents,
    Marks,
    Stored,
    Stream,
    StreamKind,
    check_documents,
    known_dtype,
    open_stream,
    wanted_window,
)

__all__ = ["DatatroveReader"]

_INDEX, _LOSS, _METADATA = ".index", ".loss", ".metadata"
_METADATA_BYTES = 1 << 16
_METADATA_TEXT = re.compile(rb"[^\r\n]*\|(\d{1,2})\r?\n(\d{1,19})(?:\r?\n[^\r\n]*)?(?:\r?\n)?")
_DTYPES = {2: "<u2", 4: "<u4"}
_KIND = StreamKind(
    format="datatrove", producer="datatrove", trainer="nanotron", documents=".ds.index", loss=".ds.loss"
)
_MANNER = "as nanotron cuts (max_seq_len + 1, the last token of each is a label only)"


@dataclass(frozen=True, slots=True)
class _Metadata:
    """What `.metadata` declares: bytes per token, and tokens."""

    n_token_bytes: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class DatatroveReader:
    """Open `.ds` files by the files beside them; raw tokens have nothing to tell by."""

    format: str = _KIND.format
    title: str = "datatrove .ds with .ds.index, .ds.loss and .ds.metadata: nanotron"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by a sidecar that says how the tokens are stored; true for the sidecars themselves too."""
        return _is_stream(source, source.name) or _owner(source, source.name) is not None

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard of a `.ds`; none for its sidecars.

        Raises:
            UnreadableError: nothing tells how many bytes a token has.
            UsageError: `max_seq_len` is not positive.
        """
        if not _is_stream(source, source.name) and _owner(source, source.name) is not None:
            return ()
        metadata_file = source.sibling(source.name + _METADATA)
        metadata = _metadata(metadata_file)
        index = source.sibling(source.name + _INDEX)
        dtype, evidence = _dtype(source, index, metadata, settings)
        n_tokens = source.size // dtype.itemsize
        documents, document_faults = _documents(index, n_tokens, source.name)
        loss, loss_faults = _loss(source.sibling(source.name + _LOSS), n_tokens, source.name)
        tokens = Stored(source, dtype.str, 0, n_tokens)
        shard = open_stream(
            _KIND,
            name,
            Stream(tokens=tokens, documents=documents, loss=loss, marks=Marks.told(settings)),
            spec=known_dtype(dtype, evidence),
            evidence=[evidence],
            n_bytes=_n_bytes(source, source.name),
            window=wanted_window(settings, extra=1, manner=_MANNER),
            faults=(
                *odd_bytes(source, dtype),
                *_false_count(metadata_file, metadata, n_tokens),
                *document_faults,
                *loss_faults,
            ),
        )
        return (shard,)


def _is_stream(source: Source, name: str) -> bool:
    """Tell whether a sidecar says that this is a stream; a damaged one counts where the name agrees."""
    index, metadata = source.sibling(name + _INDEX), source.sibling(name + _METADATA)
    if name.endswith(".ds"):
        return index.exists() or metadata.exists()
    return _metadata(metadata) is not None and index.exists()


def _owner(source: Source, name: str) -> str | None:
    """Return the name of the stream that a sidecar belongs to, if it is one."""
    for suffix in (_INDEX, _LOSS, _METADATA):
        owner = name.removesuffix(suffix)
        if owner != name and source.sibling(owner).exists() and _is_stream(source.sibling(owner), owner):
            return owner
    return None


def _metadata(source: Source) -> _Metadata | None:
    """Return what the metadata declares; none where there is none, or no metadata of this kind."""
    if not source.exists():
        return None
    found = _METADATA_TEXT.fullmatch(source.read(0, _METADATA_BYTES))
    return None if found is None else _Metadata(int(found[1]), int(found[2]))


def _dtype(
    source: Source, index: Source, metadata: _Metadata | None, settings: Settings
) -> tuple[np.dtype[np.unsignedinteger], str]:
    """Return how tokens are stored and why: told, declared, or the one size with which all files agree."""
    if (told := told_dtype(settings)) is not None:
        return told, f"[spec] token_dtype: tokens are {told.name}"
    if metadata is not None:
        if metadata.n_token_bytes not in _DTYPES:
            raise UnreadableError(
                f"the metadata declares {metadata.n_token_bytes} bytes per token, not 2 or 4"
            )
        dtype = np.dtype(_DTYPES[metadata.n_token_bytes])
        return dtype, f"{metadata.n_token_bytes} bytes per token in the .metadata: tokens are {dtype.name}"
    if index.exists() and index.size >= 8:
        last = int.from_bytes(index.read(index.size // 8 * 8 - 8, 8), "little")
        for n_bytes, code in _DTYPES.items():
            if last and last * n_bytes == source.size:
                dtype = np.dtype(code)
                why = f"the index ends at token {last}, and {last} * {n_bytes} bytes is the size of the file"
                return dtype, f"{why}: tokens are {dtype.name}"
    raise UnreadableError('no .metadata tells how tokens are stored; give [spec] token_dtype = "uint16"')


def _false_count(file: Source, metadata: _Metadata | None, n_tokens: int) -> tuple[Fault, ...]:
    where = file.name
    if metadata is None and file.exists():
        return (Fault(code="SHD001", message=f"{where} is not as datatrove writes it, and is not used"),)
    if metadata is None or metadata.n_tokens == n_tokens:
        return ()
    message = f"{where} declares {metadata.n_tokens} tokens, the file holds {n_tokens}"
    return (Fault(code="MAN003", message=message),)


def _documents(index: Source, n_tokens: int, name: str) -> tuple[Documents | None, tuple[Fault, ...]]:
    if not index.exists():
        return None, ()
    n_documents, odd = divmod(index.size, 8)
    documents, faults = check_documents(Stored(index, "<u8", 0, n_documents), n_tokens, name + _INDEX)
    if odd:
        message = f"{name}{_INDEX} has {index.size} bytes, no multiple of 8: it is cut off"
        faults = (Fault(code="SHD001", message=message), *faults)
    return documents, faults


def _loss(source: Source, n_tokens: int, name: str) -> tuple[Stored | None, tuple[Fault, ...]]:
    if not source.exists():
        return None, ()
    if source.size != n_tokens:
        message = f"{name}{_LOSS} has {source.size} values for {n_tokens} tokens, and is not used"
        return None, (Fault(code="SHD006", message=message),)
    return Stored(source, "|u1", 0, n_tokens), ()


def _n_bytes(source: Source, name: str) -> int:
    beside = [source.sibling(name + suffix) for suffix in (_INDEX, _LOSS, _METADATA)]
    return source.size + sum(one.size for one in beside if one.exists())
