"""Data in memory for `packlint.check(obj)`: tables, data sets, batches of arrays or tensors, and loaders.

    open.py      object → shards: what kind of data it is
    arrow.py     pyarrow tables and Hugging Face data sets, through their Arrow columns
    shard.py     batches and rows: one shard over a sequence of mappings
    items.py     lets a loader that can be read once be looked at before
    batches.py   one mapping → rows

No framework is imported: data sets, tensors and loaders are known by what they can do.
"""

from __future__ import annotations

from packlint.readers.memory.open import open_memory
from packlint.readers.memory.shard import MemoryShard

__all__ = ["MemoryShard", "open_memory"]
