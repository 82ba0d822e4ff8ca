"""Megatron-LM `.bin` + `.idx` and the formats that share its container.

    index.py    `.idx` → Index: counts and places, checked against the sizes of both files
    scan.py     the check of lengths and pointers
    rows.py     Index + `.bin` → rows, as documents or as windows of the stream
    stretches.py    pieces of the `.bin`, end to end
    reader.py   the Reader and the Shard over them; GPT-NeoX text and label pairs
    pai.py      packed sets of Pai-Megatron-Patch: tokens and labels in one sequence

One shard is an `.idx` with its `.bin`; the `.idx` is what is opened and named.
"""

from __future__ import annotations

from packlint.readers.megatron.reader import MegatronReader, MegatronShard

__all__ = ["MegatronReader", "MegatronShard"]
