"""Statistics that add up over batches and shards, in any order.

    counts.py   exact counts by key                        Counts
    ids.py      range and storage type of ids, by shard     IdRanges
    packs.py    content hash and place of every pack        PackKeys
    hashes.py   position-independent hashes of token runs   hash_runs (a function)
    repetition.py runs in which a short cycle repeats     periodic_runs and others (functions)
    places.py   the few worst shards to show            worst_shards (a function)

Each of the classes has `merge`, which is associative and commutative, and a zero: the instance made without arguments.
"""

from __future__ import annotations

__all__: list[str] = []
