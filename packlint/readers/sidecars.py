"""Files beside the shards: what belongs to a data set, and what is plainly no data."""

from __future__ import annotations

import json
from pathlib import PurePath

from packlint.errors import UnreadableError
from packlint.readers.mds.index import is_index
from packlint.readers.remote import MissingError
from packlint.readers.source import Source

__all__ = ["datasets_files", "index_of", "is_sidecar", "is_stale", "promises_data"]

_INDEX_MAGIC = b"MMIDIDX\x00\x00"
_TEXT_SUFFIXES = frozenset(
    {".md", ".txt", ".rst", ".toml", ".yaml", ".yml", ".py", ".sh", ".log", ".html", ".jinja", ".lock"}
)
_SIDECAR_NAMES = frozenset(
    {
        "added_tokens.json",
        "chat_template.json",
        "config.json",
        "dataset_dict.json",
        "dataset_info.json",
        "dataset_infos.json",
        "generation_config.json",
        "index.json",
        "merges.txt",
        "packlint-manifest.json",
        "special_tokens_map.json",
        "state.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
    }
)
_SIDECAR_ENDS = ("_metadata.jsonl", ".sarif")
_DATA_SUFFIXES = frozenset({".arrow", ".parquet", ".pq"})
_MAX_STATE_BYTES = 1 << 26


def is_sidecar(source: Source) -> bool:
    """Tell whether a file found in a directory is no shard, by its name or by the file it belongs to."""
    name = source.name
    if name == "index.json" and is_index(_head(source, 4096)):
        return False  # an MDS directory's, which stands for the shards that it lists
    if name in _SIDECAR_NAMES or source.suffix in _TEXT_SUFFIXES or name.endswith(_SIDECAR_ENDS):
        return True
    return source.suffix == ".bin" and index_of(source) is not None


def is_stale(source: Source, listed: frozenset[str] | None) -> bool:
    """Tell whether an Arrow file lies in a `datasets` directory without belonging to the data set.

    `map` and `filter` leave `cache-*.arrow` there, which hold old copies of the rows.

    Args:
        source: the file.
        listed: what `datasets_files` says of its directory.
    """
    return source.suffix == ".arrow" and listed is not None and source.name not in listed


def promises_data(source: Source) -> bool:
    """Tell whether a file's name promises data, so that passing over it in silence would hide damage."""
    if source.suffix == ".idx":
        return source.sibling(source.stem + ".bin").exists()
    return source.suffix in _DATA_SUFFIXES


def index_of(source: Source) -> Source | None:
    """Return the Megatron index that a `.bin` file or a prefix without extension means, if there is one."""
    if source.suffix == ".idx" or not source.name:
        return None
    choices = [source.stem + ".idx"] if source.suffix == ".bin" else []
    for choice in map(source.sibling, (*choices, source.name + ".idx")):
        if _head(choice, len(_INDEX_MAGIC)) == _INDEX_MAGIC:
            return choice
    return None


def datasets_files(directory: Source) -> frozenset[str] | None:
    """Return the files that make up a `datasets` directory, or none if it is not one."""
    try:
        state = json.loads(_head(directory.child("state.json"), _MAX_STATE_BYTES))
        names = [str(entry["filename"]) for entry in state["_data_files"]]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    # A name that leads elsewhere is not followed.
    return frozenset(name for name in names if PurePath(name).name == name)


def _head(source: Source, n_bytes: int) -> bytes:
    """Return the first bytes of a file, nothing where it is not there."""
    try:
        return source.read(0, n_bytes)
    except UnreadableError as error:
        if source.is_remote and not isinstance(error, MissingError):
            raise  # nobody knows whether it is there
        return b""
