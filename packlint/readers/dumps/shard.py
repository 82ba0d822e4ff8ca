"""Members of a dump → shards, read as batches in memory are.

tokens, labels                            one shard                 batch.npz
default.tokens, reset.tokens, …           one per prefix            batch.npz:default  batch.npz:reset
inputs, targets, … of two segmentations   encoder and decoder       batch.npz:inputs   batch.npz:targets
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from packlint.errors import UnreadableError
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.dumps.members import MAX_EMPTY_ROWS, LazyColumns, Member, shadow
from packlint.readers.encdec import SEGMENT_NAMES, encoder_decoder_layouts, is_encoder_decoder
from packlint.readers.layouts import detect_layout
from packlint.readers.memory import MemoryShard
from packlint.readers.memory.batches import Batch, find_ids
from packlint.readers.memory.items import Items
from packlint.readers.shard import Layout, Part, RawRows, Role, Settings
from packlint.readers.values import BadRowError

__all__ = ["DumpShard", "dump_shards", "loaded_shard"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DumpShard:
    """Read a dumped batch.

    Args:
        rows_of: the batch as data in memory; it reads the file anew each time.
        format: name of the format.
        n_bytes: bytes on disk.
        spec: the storage type of the ids.
    """

    rows_of: MemoryShard
    format: str
    n_bytes: int
    spec: DatasetSpec

    @property
    def name(self) -> str:
        """Path relative to the inputs, and the prefix of the members after a colon."""
        return self.rows_of.name

    @property
    def layout(self) -> Layout:
        """How the rows are laid out."""
        return self.rows_of.layout

    def parts(self) -> Sequence[Part]:
        """Return the whole as one piece."""
        return self.rows_of.parts()

    def rows(self, part: Part, roles: frozenset[Role], block_tokens: int) -> Iterator[RawRows]:
        """Yield the rows in order; one that cannot be read becomes a fault.

        Raises:
            UnreadableError: a member is damaged.
        """
        try:
            yield from self.rows_of.rows(part, roles, block_tokens)
        except RecursionError:
            raise UnreadableError("lists are nested too deeply") from None


def dump_shards(
    members: Sequence[Member], name: str, settings: Settings, *, format_name: str, n_bytes: int
) -> list[DumpShard]:
    """Return the shards of a dump, having read headers only.

    Args:
        members: all stored arrays.
        name: name of the file in the report.
        settings: what the user told.
        format_name: name of the format.
        n_bytes: bytes on disk.

    Raises:
        UnreadableError: no group of members holds token ids.
    """
    for member in members:
        if 0 in member.shape and max(member.shape) > MAX_EMPTY_ROWS:
            raise UnreadableError(f"{member.name} claims the shape {member.shape} and has no values")
    shards: list[DumpShard] = []
    failure = UnreadableError("it holds no arrays")
    for suffix, group in _groups(members).items():
        try:
            for layout_suffix, layout, n_rows in _layouts(group, settings):
                ids = group[layout.columns[Role.INPUT_IDS]]
                why = f"stored type of {ids.name}"
                memory = MemoryShard(
                    name=name + suffix + layout_suffix,
                    layout=layout,
                    items=Items(_Batches(group)),
                    keys=frozenset(group),
                    n_rows=n_rows,
                )
                spec = DatasetSpec(token_dtype=Known(ids.dtype.name, Origin.FORMAT, why))
                shards.append(DumpShard(rows_of=memory, format=format_name, n_bytes=n_bytes, spec=spec))
        except UnreadableError as error:
            failure = error
    if not shards:
        raise failure
    return shards


def loaded_shard(memory: MemoryShard, *, format_name: str, n_bytes: int) -> DumpShard:
    """Return the shard over data that some package loads."""
    return DumpShard(rows_of=memory, format=format_name, n_bytes=n_bytes, spec=DatasetSpec())


class _Batches:
    """Give the batch anew each time it is iterated over, so that nothing stays loaded."""

    def __init__(self, members: Mapping[str, Member]) -> None:
        self._members = members

    def __iter__(self) -> Iterator[object]:
        yield LazyColumns(self._members)


def _groups(members: Sequence[Member]) -> dict[str, dict[str, Member]]:
    """Return the members by the end of their shard's name; all in one group unless all have a prefix."""
    split = [(member.name.rpartition("."), member) for member in members]
    if not all(prefix for (prefix, _, _), _ in split):
        return {"": {member.name: member for member in members}}
    groups: dict[str, dict[str, Member]] = {}
    for (prefix, _, column), member in split:
        groups.setdefault(f":{prefix}", {})[column] = member
    return groups


def _layouts(group: Mapping[str, Member], settings: Settings) -> Iterator[tuple[str, Layout, int]]:
    """Yield the end of the name, the layout and the number of rows of each shard in a group."""
    shadows = {name: shadow(member) for name, member in group.items()}
    ids = find_ids(shadows, settings.columns.get(Role.INPUT_IDS.value))
    if ids is None:
        raise UnreadableError(f"no column of token ids among {', '.join(list(group)[:12]) or 'none'}")
    try:
        batch = Batch.of(shadows, ids)
        kinds = batch.kinds()
    except BadRowError as bad:
        raise UnreadableError(bad.message) from None
    if not settings.columns and _is_encoder_decoder(group):
        for side, layout in encoder_decoder_layouts(kinds).items():
            yield f":{side}", layout, batch.n_rows
        return
    layout = detect_layout(kinds, renamed=settings.columns)
    yield "", replace(layout, evidence=(*layout.evidence, _shapes(group, layout))), batch.n_rows


def _is_encoder_decoder(group: Mapping[str, Member]) -> bool:
    if any(name not in group for name in (*SEGMENT_NAMES, "inputs", "targets")):
        return False
    empty: NDArray[Any] = np.empty(0, np.int64)
    segments = {name: group[name].load() for name in SEGMENT_NAMES}
    return is_encoder_decoder([{"inputs": empty, "targets": empty, **segments}])


def _shapes(group: Mapping[str, Member], layout: Layout) -> str:
    ids = group[layout.columns[Role.INPUT_IDS]]
    return f"{ids.name} is {ids.dtype.name} of shape {ids.shape}"
