"""Packs for tests of order: batches straight from lengths and categories, and packers as people use them."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch, Segments, ShardContext, Unit
from packlint.model.contract import BoundarySource
from packlint.model.metadata import Categories
from packlint.model.spec import DatasetSpec, Policy
from packlint.trainers import find_contract

__all__ = ["ROOM", "batch_of", "best_fit", "concatenated", "cut_batches", "dealt", "greedy"]

ROOM = 2048
Pack = list[tuple[int, int]]
"""Sample and tokens of it, in order."""


def batch_of(
    packs: Sequence[Sequence[int]],
    categories: Sequence[Sequence[str | None]] | None = None,
    *,
    shard: int = 0,
    first: int = 0,
    trainer: str | None = "grain",
    source: BoundarySource | None = BoundarySource.SEQ_LENS,
    policy: Policy | None = None,
) -> PackBatch:
    """Return packs of samples of these lengths, and the category of each in the column `domain`."""
    lengths = np.array([n for pack in packs for n in pack], np.int64)
    stops = np.cumsum(lengths)
    sizes = [len(pack) for pack in packs]
    offsets = np.append(0, stops)[np.cumsum([0, *sizes])]
    metadata = {}
    if categories is not None:
        flat = [value for pack in categories for value in pack]
        names = tuple(sorted({value for value in flat if value is not None}))
        place: dict[str | None, int] = {name: i for i, name in enumerate(names)}
        metadata["domain"] = Categories(names, np.array([place.get(v, -1) for v in flat], np.int32))
    context = ShardContext(
        name=f"shard-{shard}",
        index=shard,
        unit=Unit.PACK,
        spec=DatasetSpec(),
        contract=find_contract(trainer) if trainer else None,
        policy=policy or Policy(),
    )
    return PackBatch(
        shard=context,
        pack_numbers=np.arange(first, first + len(packs)),
        tokens=np.zeros(int(offsets[-1]), np.uint16),
        pack_offsets=offsets,
        segments=Segments(stops - lengths, stops, np.repeat(np.arange(len(packs)), sizes)),
        segment_source=source,
        metadata=metadata,
    )


def cut_batches(
    packs: Sequence[Sequence[int]],
    categories: Sequence[Sequence[str | None]] | None,
    cuts: Sequence[int],
    **told: Any,
) -> list[PackBatch]:
    """Return the packs of one shard in several batches, cut before these packs."""
    edges = sorted({0, len(packs), *cuts})
    return [
        batch_of(packs[a:b], categories[a:b] if categories is not None else None, first=a, **told)
        for a, b in pairwise(edges)
    ]


def greedy(lengths: Int64Array) -> list[Pack]:
    """Return whole samples in their order, a new pack where one does not fit."""
    packs: list[Pack] = [[]]
    used = 0
    for sample, n in enumerate(lengths.tolist()):
        if used + n > ROOM:
            packs.append([])
            used = 0
        packs[-1].append((sample, n))
        used += n
    return packs


def concatenated(lengths: Int64Array) -> list[Pack]:
    """Return one stream cut every `ROOM` tokens."""
    packs: list[Pack] = [[]]
    used = 0
    for sample, n in enumerate(lengths.tolist()):
        left = n
        while left:
            piece = min(left, ROOM - used)
            packs[-1].append((sample, piece))
            left, used = left - piece, used + piece
            if used == ROOM:
                packs.append([])
                used = 0
    return packs[:-1]


def best_fit(lengths: Int64Array, n_buffer: int = 1000) -> list[Pack]:
    """Return best fit decreasing in each buffer of samples, as TRL's `bfd` inside a batched map."""
    packs = []
    for start in range(0, lengths.size, n_buffer):
        packs += _best_fit(lengths[start : start + n_buffer], start)
    return packs


def _best_fit(lengths: Int64Array, first: int) -> list[Pack]:
    packs: list[Pack] = []
    free: list[tuple[int, int]] = []
    for sample in np.argsort(-lengths, kind="stable").tolist():
        n = int(lengths[sample])
        at = bisect.bisect_left(free, (n, -1))
        room, pack = free.pop(at) if at < len(free) else (ROOM, len(packs))
        if pack == len(packs):
            packs.append([])
        packs[pack].append((first + sample, n))
        bisect.insort(free, (room - n, pack))
    return packs


def dealt(
    packer: Callable[[Int64Array], list[Pack]], lengths: Int64Array, domains: Sequence[str], **told: Any
) -> PackBatch:
    """Return the packs that a packer makes of samples, with the domain of each."""
    packs = packer(lengths)
    return batch_of(
        [[n for _, n in pack] for pack in packs],
        [[domains[sample] for sample, _ in pack] for pack in packs],
        **told,
    )
