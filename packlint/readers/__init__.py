"""Files in every format → raw rows by role → `PackBatch`; foreign names end here.

    discover.py     paths, URLs, globs and directories ──▶ candidates ──▶ shards
    source.py       bytes from anywhere: mapped, or ranges of a remote object (remote.py, range_file.py)
    shard.py        what every reader gives: `Reader`, `Shard`, `RawRows`, `Layout`
    layouts/        who wrote these columns, and which is what
    parquet.py      Apache Parquet
    arrow_ipc.py    Arrow IPC streams and files, Hugging Face datasets
    megatron/       `.bin` and `.idx` pairs of Megatron, and their kin
    jsonl.py        JSON Lines
    numpy_files/    `.npy`: packed rows of NeMo and Bridge, arrays of ids; with packing_claims.py
    dumps/          `.npz`, `.safetensors`, `.pt`: batches dumped array by array
    mds/            directories of MosaicML Streaming
    tfrecord/       TFRecord and ArrayRecord of `tf.train.Example`
    inflate.py      compressed files as bounded streams
    stream/         streams of tokens: documents, windows and blocks; under
        datatrove.py, olmo/, litdata/, litpkds.py, token_bin.py, fairseq_mmap.py, fms_arrow.py, raw_tokens.py
    columns.py      Arrow columns ──▶ `Ragged`; lists of any kind by arrow_lists.py
    pairs.py        preference pairs in columns of their own ──▶ rows of two segments
    metadata/       columns without role: domain, language, sample ids
    reference.py    the unpacked data: a row is one sample; texts/ tokenizes rows of text
    observe.py, settle.py, reading.py      a look at a few rows, and what follows for the rest
    canonical.py, records.py, loss.py      raw rows ──▶ `PackBatch`

To add a format: a module with a `Reader`, and a row in `READERS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from packlint.readers.discover import open_shards
    from packlint.readers.memory import open_memory

__all__ = ["READERS", "open_memory", "open_shards"]

_HOMES = {"open_memory": "packlint.readers.memory", "open_shards": "packlint.readers.discover"}

READERS: tuple[tuple[str, str], ...] = (
    ("packlint.readers.parquet", "ParquetReader"),
    ("packlint.readers.fms_arrow", "FmsArrowReader"),
    ("packlint.readers.arrow_ipc", "ArrowReader"),
    ("packlint.readers.fairseq_mmap", "FairseqReader"),
    ("packlint.readers.megatron", "MegatronReader"),
    ("packlint.readers.numpy_files", "NpyReader"),
    ("packlint.readers.dumps", "NpzReader"),
    ("packlint.readers.dumps", "TorchReader"),
    ("packlint.readers.dumps", "SafetensorsReader"),
    ("packlint.readers.mds", "MdsReader"),
    ("packlint.readers.tfrecord", "ArrayRecordReader"),
    ("packlint.readers.tfrecord", "TFRecordReader"),
    ("packlint.readers.token_bin", "TokenBinReader"),
    ("packlint.readers.litpkds", "LitpkdsReader"),
    ("packlint.readers.jsonl", "JsonlReader"),
    ("packlint.readers.litdata", "LitdataReader"),
    ("packlint.readers.datatrove", "DatatroveReader"),
    ("packlint.readers.olmo", "OlmoReader"),
    ("packlint.readers.raw_tokens", "RawTokensReader"),  # goes by the name alone: stays the last
)
"""Module and class of every reader, imported when first asked; the surest by its first bytes comes first."""


def __getattr__(name: str) -> Any:
    """Import the two ways in on first use; pyarrow costs 0.2 s."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
