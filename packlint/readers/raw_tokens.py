"""Files that are nothing but tokens: no magic, no header, no count (nanoGPT, OLMo without its csv).

    train.bin       u16[token]                 nanoGPT `prepare.py`: the end token follows each document
    part-0.npy      u8, u16, u32 or u64[token] dolma, OLMo: `.npy` by name only, no numpy header
    meta.pkl        not read

Nothing in such a file says that it is one, so its name must: `.bin` or `.npy`, and no other format begins
like it. How tokens are stored has to be told. nanoGPT reads windows from random places: rows are as many of
`max_seq_len`, end to end. Documents are found by their end token, if it is told.

Source: karpathy/nanoGPT 3adf61e1 `data/openwebtext/prepare.py`, `train.py`; allenai/dolma 669f534
`python/dolma/tokenizer/memmap_writer.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from packlint.errors import UnreadableError
from packlint.readers.shard import Fault, Settings, Shard
from packlint.readers.source import Source
from packlint.readers.stream import Marks, Stored, Stream, StreamKind, known_dtype, open_stream, wanted_window

__all__ = ["RawTokensReader", "odd_bytes", "told_dtype"]

_FORMAT = "raw-tokens"
_MANNER = {
    ".bin": "nanoGPT reads as many from random places",
    ".npy": "as OLMo-core's NumpyFSLDataset cuts",
}
_KINDS = {
    ".bin": StreamKind(format=_FORMAT, producer="nanogpt", trainer="nanogpt"),
    ".npy": StreamKind(format=_FORMAT, producer="dolma", trainer="olmo-core"),
}
_FOREIGN = (
    b"\x93NUMPY",
    b"PK\x03\x04",  # zip: torch.save, .npz
    b"PK\x05\x06",
    b"\x80\x02",  # pickle: torch.save before 1.6
    b"\x1f\x8b",  # gzip
    b"\x28\xb5\x2f\xfd",  # zstd
    b"GGUF",
    b"\x7fELF",
    b"ARROW1",
    b"PAR1",
)
_NAMES = "uint8, uint16, uint32, uint64, int8, int16, int32 or int64"


@dataclass(frozen=True, slots=True)
class RawTokensReader:
    """Open headerless files of tokens; the last reader to be asked."""

    format: str = _FORMAT
    title: str = "raw tokens without header (.bin, .npy); needs [spec] token_dtype: nanoGPT, dolma, OLMo"

    def sniff(self, source: Source, head: bytes) -> bool:
        """Tell by the name alone, as there is nothing else; false for text and for what others begin with."""
        if source.suffix not in _MANNER or not head or head.startswith(_FOREIGN):
            return False
        return not _is_text(head)

    def open(self, source: Source, name: str, settings: Settings) -> Sequence[Shard]:
        """Return the shard.

        Raises:
            UnreadableError: `token_dtype` was not told.
            UsageError: `max_seq_len` is not positive.
        """
        dtype = told_dtype(settings)
        if dtype is None:
            raise UnreadableError(
                "if this file is raw tokens, nothing in it says how they are stored; "
                'give [spec] token_dtype, for instance "uint16"'
            )
        kind = _KINDS[source.suffix]
        why = f"[spec] token_dtype: tokens are {dtype.name}"
        tokens = Stored(source, dtype.str, 0, source.size // dtype.itemsize)
        shard = open_stream(
            kind,
            name,
            Stream(tokens=tokens, marks=Marks.told(settings)),
            spec=known_dtype(dtype, why),
            evidence=[f"no header and no known magic; taken for {kind.producer}'s by its name alone", why],
            n_bytes=source.size,
            window=wanted_window(
                settings, manner=_MANNER[source.suffix], is_rest_trained=kind.trainer == "nanogpt"
            ),
            faults=odd_bytes(source, dtype),
        )
        return (shard,)


def told_dtype(settings: Settings) -> np.dtype[Any] | None:
    """Return the integer type that was told for tokens, little-endian; none when nothing was.

    Raises:
        UnreadableError: it is no integer type.
    """
    if settings.token_dtype is None:
        return None
    try:
        dtype = np.dtype(settings.token_dtype)
    except TypeError:
        dtype = np.dtype(np.void)
    if dtype.kind not in "iu":
        raise UnreadableError(f"[spec] token_dtype = {settings.token_dtype!r}: must be {_NAMES}")
    return dtype.newbyteorder("<")


def odd_bytes(source: Source, dtype: np.dtype[Any], start: int = 0) -> tuple[Fault, ...]:
    """Report bytes after the last whole token of a file whose tokens begin at byte `start`."""
    n_odd = (source.size - start) % dtype.itemsize
    if n_odd <= 0:
        return ()
    message = f"{n_odd} bytes after the last whole token of {dtype.itemsize} bytes: the file is cut off"
    return (Fault(code="SHD001", message=message),)


def _is_text(head: bytes) -> bool:
    """Tell text, which holds no control characters but white space, from tokens, which nearly always do."""
    return not any(byte < 9 or 13 < byte < 32 for byte in head)
