"""What kind of data an object in memory is."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sized
from typing import Any

from packlint.errors import UsageError
from packlint.readers.memory.batches import Batch, find_ids
from packlint.readers.memory.items import Items
from packlint.readers.memory.shard import open_items
from packlint.readers.shard import Role, Settings, Shard

__all__ = ["open_memory"]


def open_memory(obj: object, name: str, settings: Settings) -> Iterable[Shard]:
    """Return the shards of data in memory: one, or one per split of a `DatasetDict`.

    Args:
        obj: a `datasets.Dataset` or `DatasetDict`, a pyarrow table or record batch, a mapping of arrays,
            tensors or lists (a row or a batch), or an iterable of such mappings (rows, a `DataLoader`). An
            iterator is read once.
        name: what the report calls it.
        settings: what the user told.

    Raises:
        UsageError: it is none of these.
        UnreadableError: no column holds token ids.
    """
    if _is_table(obj) or _is_dataset(obj):
        return [_open_columns(obj, name, settings)]
    if isinstance(obj, Mapping):
        if obj and all(map(_is_dataset, obj.values())):
            return [_open_columns(split, f"{name}/{key}", settings) for key, split in sorted(obj.items())]
        return [open_items(Items([obj]), name, settings, _n_rows(obj, settings))]
    if isinstance(obj, Iterable) and not isinstance(obj, (str, bytes)):
        return [open_items(Items(obj), name, settings, _n_single_rows(obj, settings))]
    raise UsageError(
        f"cannot check a {type(obj).__name__}; pass a path, a data set, a table, a mapping of arrays, or an "
        "iterable of mappings"
    )


def _open_columns(obj: Any, name: str, settings: Settings) -> Shard:
    # Imported here: only who has a table in hand has paid for pyarrow.
    from packlint.readers.memory.arrow import open_dataset, open_table

    return open_table(obj, name, settings) if _is_table(obj) else open_dataset(obj, name, settings)


def _is_table(obj: object) -> bool:
    """Tell a pyarrow table or record batch, without importing pyarrow for anything else."""
    pyarrow = sys.modules.get("pyarrow")
    return pyarrow is not None and isinstance(obj, (pyarrow.Table, pyarrow.RecordBatch))


def _is_dataset(obj: object) -> bool:
    """Tell a `datasets.Dataset` by its table and its way of handing out slices of it."""
    return hasattr(obj, "with_format") and hasattr(getattr(obj, "data", None), "table")


def _n_rows(columns: Mapping[Any, Any], settings: Settings) -> int:
    ids = find_ids(columns, settings.columns.get(Role.INPUT_IDS.value))
    return 0 if ids is None else Batch.of(columns, ids).n_rows


def _n_single_rows(obj: object, settings: Settings) -> int:
    """Return the number of rows of a list of rows; batches and loaders have to be read to be counted."""
    if not isinstance(obj, (list, tuple)) or not isinstance(obj, Sized):
        return 0
    return sum(_n_rows(item, settings) if isinstance(item, Mapping) else 1 for item in obj)
