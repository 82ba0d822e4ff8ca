"""MDS directories of MosaicML Streaming: `index.json` and the shards it lists, read without that package.

index.py       index.json ──▶ what it says of each shard, checked
encodings.py   how the values of a column are stored
layout.py      columns ──▶ `Layout`: ConcatTokens, ProLong, fine-tuning rows
shard.py       one file ──▶ rows
reader.py      which shards an index.json or a lone shard stands for
"""

from __future__ import annotations

from packlint.readers.mds.reader import MdsReader

__all__ = ["MdsReader"]
