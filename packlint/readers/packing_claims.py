"""What NeMo and Megatron-Bridge say of packed rows in `<pack_size>_metadata.jsonl`, and whether it holds.

    [{"pack_size": 64, "dataset_max_seqlen": 45, "max_samples_per_bin": 2, "min_packed_seqlen": 36,
      "packing_factor": 1.71, "packing_efficiency": 86.38}, …]

One JSON array in spite of the name, with one entry per split, in the order in which they were written.
Lengths count one token less per sample than is stored: the last token is never an input.

Source: `create_packing_strategy` in `src/megatron/bridge/data/packing/algorithms.py` (NVIDIA-NeMo/Megatron-
Bridge, 067f987df).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from packlint.errors import UnreadableError
from packlint.model.arrays import BoolArray, Int64Array
from packlint.model.spec import DatasetSpec, Known, Origin
from packlint.readers.shard import Fault, Layout, RawRows, Role
from packlint.readers.source import Source

__all__ = ["PackingClaims", "checked", "read_claims"]

_MAX_BYTES = 1 << 20
_MAX_ENTRIES = 64
_KEYS = ("pack_size", "max_samples_per_bin", "dataset_max_seqlen", "min_packed_seqlen")

_Entry = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PackingClaims:
    """Hold what the metadata beside a shard say.

    Args:
        file_name: name of the metadata file, empty when there is none.
        entries: the entries, one per split.
        faults: what is wrong with the file itself.
    """

    file_name: str = ""
    entries: tuple[_Entry, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def spec(self) -> DatasetSpec:
        """The pack size, where all entries agree on it."""
        sizes = {int(entry["pack_size"]) for entry in self.entries if entry.get("pack_size", 0) >= 1}
        if len(sizes) != 1:
            return DatasetSpec()
        return DatasetSpec(
            max_seq_len=Known(sizes.pop(), Origin.FORMAT, f"pack_size in {self.file_name}"),
        )


def read_claims(source: Source, layout: Layout) -> PackingClaims:
    """Return the claims beside a shard whose name holds the pack size, as in `training_64.npy`.

    Args:
        source: the shard.
        layout: that of the shard; only those with starts of samples have such metadata.
    """
    if Role.SEGMENT_STARTS not in layout.columns:
        return PackingClaims()
    stem = re.split(r"[/\\]", source.location)[-1]
    for number in dict.fromkeys(re.findall(r"\d+", stem)):
        sidecar = source.sibling(f"{number}_metadata.jsonl")
        if sidecar.exists():
            return _parse(sidecar, f"{number}_metadata.jsonl")
    return PackingClaims()


def checked(rows: Iterator[RawRows], claims: PackingClaims, *, is_whole: bool) -> Iterator[RawRows]:
    """Yield the rows, with a fault MAN003 where they contradict every entry of the metadata.

    Args:
        rows: rows of a shard.
        claims: what the metadata say.
        is_whole: these are all the rows of the split, so that its totals can be compared too.

    Raises:
        UnreadableError: as `rows` do, after the rows before.
    """
    if claims == PackingClaims():
        yield from rows
        return
    seen = _Seen()
    held: RawRows | None = None
    faults = claims.faults
    try:
        for raw in rows:
            if held is not None:
                yield held
            held = replace(raw, faults=faults + raw.faults + _contradictions(raw, claims, seen))
            faults = ()
    except UnreadableError:
        if held is not None:
            yield held
        raise
    if held is not None:
        totals = _wrong_totals(seen, claims) if is_whole else ()
        yield replace(held, faults=held.faults + totals)


@dataclass(slots=True)
class _Seen:
    """Add up what all rows show; `is_sound` until a row cannot be counted or was reported."""

    n_rows: int = 0
    n_samples: int = 0
    measured: dict[str, int] = field(default_factory=dict)
    is_sound: bool = True


def _parse(sidecar: Source, file_name: str) -> PackingClaims:
    try:
        entries = json.loads(sidecar.read(0, _MAX_BYTES))
    except (UnreadableError, ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        fault = Fault(code="SHD006", message=f"{file_name} is no JSON array of objects")
        return PackingClaims(file_name, (), (fault,))
    kept = tuple(
        {key: value for key, value in entry.items() if type(value) in (int, float) and abs(value) < 2**53}
        for entry in entries[:_MAX_ENTRIES]
    )
    return PackingClaims(file_name, kept)


def _measure(raw: RawRows) -> dict[str, Int64Array] | None:
    """Return what the claims are about, for each row: `int64[row]` by key; none where it cannot be told."""
    ids, starts = raw.columns.get(Role.INPUT_IDS), raw.columns.get(Role.SEGMENT_STARTS)
    if ids is None or starts is None or raw.row_numbers.size == 0:
        return None
    n_samples = np.diff(starts.offsets)
    if (n_samples == 0).any():
        return None
    slots = np.diff(ids.offsets)
    ends = np.append(starts.values[1:], 0).astype(np.int64)
    ends[starts.offsets[1:] - 1] = slots
    longest = np.maximum.reduceat(ends - starts.values.astype(np.int64), starts.offsets[:-1])
    return {
        "pack_size": slots - n_samples,
        "max_samples_per_bin": n_samples,
        "dataset_max_seqlen": longest - 1,
        "min_packed_seqlen": slots - n_samples,
    }


def _contradictions(raw: RawRows, claims: PackingClaims, seen: _Seen) -> tuple[Fault, ...]:
    if not claims.entries:
        return ()
    measured = _measure(raw)
    if measured is None:
        seen.is_sound &= raw.row_numbers.size == 0
        return ()
    seen.is_sound &= not raw.faults
    _add(seen, measured)
    wrong = [_breaks(measured, entry) for entry in claims.entries]
    for_all = np.logical_and.reduce([np.logical_or.reduce(list(of.values())) for of in wrong])
    faults: list[Fault] = []
    for key, breaks in wrong[-1].items():
        rows = np.flatnonzero(breaks & for_all)
        if rows.size:
            value, claim = int(measured[key][rows[0]]), claims.entries[-1][key]
            message = f"{key} would be {value}, {claims.file_name} says {claim:g}"
            row = int(raw.row_numbers[rows[0]])
            faults.append(Fault(code="MAN003", row=row, message=message, n_hits=int(rows.size)))
            for_all &= ~breaks
    seen.is_sound &= not faults
    return tuple(faults)


def _breaks(measured: Mapping[str, Int64Array], entry: _Entry) -> dict[str, BoolArray]:
    """Return, by key, which rows contradict an entry."""
    none = np.zeros(measured["pack_size"].size, np.bool_)
    found = {"pack_size": none}
    for key in _KEYS:
        if key in entry:
            values = measured[key]
            found[key] = np.asarray(values < entry[key] if key.startswith("min") else values > entry[key])
    return found


def _add(seen: _Seen, measured: Mapping[str, Int64Array]) -> None:
    seen.n_rows += measured["pack_size"].size
    seen.n_samples += int(measured["max_samples_per_bin"].sum())
    for key in _KEYS[1:]:
        values = measured[key]
        best = int(values.min() if key.startswith("min") else values.max())
        old = seen.measured.get(key, best)
        seen.measured[key] = min(old, best) if key.startswith("min") else max(old, best)


def _wrong_totals(seen: _Seen, claims: PackingClaims) -> tuple[Fault, ...]:
    """Report totals that no entry has; rows that were reported or left out explain them already."""
    if not claims.entries or not seen.is_sound or seen.n_rows == 0:
        return ()
    measured: dict[str, float] = {**seen.measured, "packing_factor": round(seen.n_samples / seen.n_rows, 2)}
    differing = [
        {key: value for key, value in measured.items() if key in entry and entry[key] != value}
        for entry in claims.entries
    ]
    if not all(differing):
        return ()
    return tuple(
        Fault(
            code="MAN003",
            message=f"{key} is {value:g}, {claims.file_name} says {claims.entries[-1][key]:g}",
        )
        for key, value in differing[-1].items()
    )
