"""Files beside the shards: what belongs to a data set, and what is plainly no data."""

from __future__ import annotations

import json
from pathlib import Path

from packlint.readers.mds.index import is_index

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
        "special_tokens_map.json",
        "state.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.json",
    }
)
_SIDECAR_ENDS = ("_metadata.jsonl", ".sarif")
_DATA_SUFFIXES = frozenset({".arrow", ".parquet", ".pq"})


def is_sidecar(path: Path) -> bool:
    """Tell whether a file found in a directory is no shard, by its name or by the file it belongs to."""
    if path.name == "index.json" and _is_mds_index(path):
        return False
    if path.name in _SIDECAR_NAMES or path.suffix in _TEXT_SUFFIXES or path.name.endswith(_SIDECAR_ENDS):
        return True
    return path.suffix == ".bin" and index_of(path) is not None


def _is_mds_index(path: Path) -> bool:
    """Tell whether an `index.json` is that of an MDS directory, which stands for the shards that it lists."""
    try:
        with path.open("rb") as file:
            return is_index(file.read(4096))
    except OSError:
        return False


def is_stale(path: Path) -> bool:
    """Tell whether an Arrow file lies in a `datasets` directory without belonging to the data set.

    `map` and `filter` leave `cache-*.arrow` there, which hold old copies of the rows.
    """
    listed = datasets_files(path.parent) if path.suffix == ".arrow" else None
    return listed is not None and path.name not in listed


def promises_data(path: Path) -> bool:
    """Tell whether a file's name promises data, so that passing over it in silence would hide damage."""
    if path.suffix == ".idx":
        return path.with_suffix(".bin").exists()
    return path.suffix in _DATA_SUFFIXES


def index_of(path: Path) -> Path | None:
    """Return the Megatron index that a `.bin` file or a prefix without extension means, if there is one."""
    if path.suffix == ".idx":
        return None
    choices = [path.with_suffix(".idx")] if path.suffix == ".bin" else []
    for choice in (*choices, path.with_name(path.name + ".idx")):
        try:
            with choice.open("rb") as file:
                if file.read(len(_INDEX_MAGIC)) == _INDEX_MAGIC:
                    return choice
        except OSError:
            continue
    return None


def datasets_files(directory: Path) -> frozenset[str] | None:
    """Return the files that make up a `datasets` directory, or none if it is not one."""
    try:
        state = json.loads((directory / "state.json").read_bytes())
        names = [str(entry["filename"]) for entry in state["_data_files"]]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    # A name that leads elsewhere is not followed.
    return frozenset(name for name in names if Path(name).name == name)
