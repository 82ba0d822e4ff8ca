"""Columns that packlint has no role for: domain, language, source, and the ids of samples.

    shard ──read_columns(part, names)──▶ values ──read.py──▶ `RowValues` ──attach.py──▶ `PackBatch.metadata`

    values.py    what is read: one value per row, or a list per row with one per segment
    coding.py    values → codes; Python's as they are, Arrow's by arrow.py
    read.py      a part of a shard → its metadata, its sample ids
    attach.py    metadata of rows → of segments

Values of shards are text and nothing more: they are compared and counted, never looked into.
"""

from __future__ import annotations

from packlint.model.batch import UNKNOWN_ID
from packlint.readers.metadata.attach import attach, attach_sample_ids
from packlint.readers.metadata.read import read_metadata, read_sample_ids, why_not
from packlint.readers.metadata.values import HasColumns, RowValues, SampleIds

__all__ = [
    "UNKNOWN_ID",
    "HasColumns",
    "RowValues",
    "SampleIds",
    "attach",
    "attach_sample_ids",
    "read_metadata",
    "read_sample_ids",
    "why_not",
]
