"""Statistics that add up over batches and shards, in any order.

    counts.py       ShardCounts  exact counts by shard and name
    rows.py         Rows         packs by how many samples they hold, and their lengths
    ids.py          IdRanges     range and storage type of ids, by shard
    packs.py        PackKeys     content hash and place of every pack
    masks.py        MaskHashes   hash of the loss mask of every pack
    lengths.py      Lengths      samples by length and row length; contexts
    work.py         PackWork     attention work and place of every pack
    place_gaps.py   PlaceShares  targets by role and place in the pack; place_extremes.py shows samples
    contents.py     ShardContents  one hash of all packs in order, by shard
    figures.py      ShardFigures what a manifest declares, by shard; declared.py compares
    composition.py  Composition  lengths, ids, categories, targets, positions; drift/ compares two of them

Each has `merge`, which is associative and commutative; the instance made without arguments is its zero. What
they and the rules compute with:

    histogram.py    whole numbers, counted exactly; token_counts.py ids; shares.py categories; positions.py
    distances.py    how far two histograms are apart, and how far chance takes them
    composition_observer.py  adds up a `Composition` during a scan
    plain.py        what a file says, read strictly; composition_file.py reads and writes compositions
    hashes.py       position-independent hashes of token runs
    packing.py      a lower bound on the packs that samples need
    blocks.py       blocks of a block-diagonal mask, in closed form
    repetition.py   runs of tokens in which a short cycle repeats
    places.py       the few worst shards that a finding shows
"""

from __future__ import annotations

__all__: list[str] = []
