"""Packers and what they write: rows as TRL and LLaMA-Factory lay them out, and files.

Files are JSON lines or Megatron pairs, whose bytes no library decides: their size stands in the report.
"""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from tests.gallery.samples import IGNORED, Sample
from tests.gallery.tokenizer import PAD

__all__ = [
    "best_fit",
    "filled_in_order",
    "full",
    "llama_factory_rows",
    "neat_rows",
    "positions",
    "reference_rows",
    "trl_rows",
    "write_lines",
    "write_megatron",
]

Pack = list[Sample]
Row = Mapping[str, Any]
_MEGATRON_UINT16 = 8


def best_fit(samples: Iterable[Sample], width: int) -> list[Pack]:
    """Return packs of whole samples: the longest first, each into the fullest pack that has room."""
    packs: list[Pack] = []
    for sample in sorted(samples, key=lambda sample: (-len(sample), sample.number)):
        rooms = [width - sum(map(len, pack)) for pack in packs]
        fitting = [(room, i) for i, room in enumerate(rooms) if room >= len(sample)]
        if fitting:
            packs[min(fitting)[1]].append(sample)
        else:
            packs.append([sample])
    return packs


def filled_in_order(samples: Iterable[Sample], width: int) -> list[Pack]:
    """Return packs of whole samples in the order that they come in; what does not fit opens the next."""
    packs: list[Pack] = []
    room = 0
    for sample in samples:
        if len(sample) > room:
            packs.append([])
            room = width
        packs[-1].append(sample)
        room -= len(sample)
    return packs


def reference_rows(samples: Iterable[Sample]) -> list[dict[str, Any]]:
    """Return a row per sample, as they are before packing."""
    return [
        {
            "id": sample.number,
            "domain": sample.domain,
            "language": sample.language,
            "input_ids": sample.ids,
            "labels": sample.labels,
        }
        for sample in samples
    ]


def trl_rows(packs: Iterable[Pack]) -> list[dict[str, Any]]:
    """Return rows of their own length, as TRL's `bfd` leaves them, with the ids of the samples."""
    return [
        {
            "input_ids": [i for sample in pack for i in sample.ids],
            "labels": [label for sample in pack for label in sample.labels],
            "seq_lengths": [len(sample) for sample in pack],
            "sample_ids": [sample.number for sample in pack],
        }
        for pack in packs
    ]


def llama_factory_rows(packs: Iterable[Pack], width: int) -> list[dict[str, Any]]:
    """Return rows as LLaMA-Factory writes them without `neat_packing`: a slot more, a mask of ones."""
    rows = []
    for pack in packs:
        lengths = [len(sample) for sample in pack]
        n_padding = width + 1 - sum(lengths)
        rows.append(
            {
                "input_ids": [i for sample in pack for i in sample.ids] + [PAD] * n_padding,
                "attention_mask": [1] * (width + 1),
                "position_ids": positions(lengths) + [0] * n_padding,
                "labels": [label for sample in pack for label in sample.labels] + [IGNORED] * n_padding,
                "images": [],
                "videos": [],
                "audios": [],
            }
        )
    return rows


def neat_rows(packs: Sequence[Pack], width: int) -> list[dict[str, Any]]:
    """Return rows as LLaMA-Factory writes them with `neat_packing`: a mask that numbers the samples."""
    rows = llama_factory_rows(packs, width)
    for row, pack in zip(rows, packs, strict=True):
        lengths = [len(sample) for sample in pack]
        n_padding = width + 1 - sum(lengths)
        numbers = [number for number, length in enumerate(lengths, 1) for _ in range(length)]
        row["attention_mask"] = numbers + [0] * n_padding
        row["packing_params"] = {
            "sequence_boundaries": [*accumulate(lengths, initial=0), width + 1],
            "right_padding_length": n_padding,
        }
    return rows


def full(packs: Iterable[Pack], width: int, share: float = 0.97) -> list[Pack]:
    """Return the packs that are filled well, as those of a larger set would be."""
    return [pack for pack in packs if sum(map(len, pack)) >= share * width]


def positions(lengths: Iterable[int]) -> list[int]:
    """Return positions that begin anew in each sample."""
    return [i for length in lengths for i in range(length)]


def write_lines(file: Path, rows: Iterable[Row]) -> None:
    """Write JSON lines, the same bytes for the same rows."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows))


def write_batch(file: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write arrays of a batch as numpy's `.npz`, uncompressed, as a collator's output is dumped."""
    file.parent.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {name: np.array(rows, np.int64) for name, rows in columns.items()}
    np.savez(file, **arrays)


def write_megatron(prefix: Path, documents: Sequence[Sequence[int]]) -> None:
    """Write a Megatron `.bin` and `.idx` of 16-bit tokens, a sequence per document."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    lengths = [len(ids) for ids in documents]
    ends = list(accumulate(lengths))
    head = struct.pack("<9sQBQQ", b"MMIDIDX\0\0", 1, _MEGATRON_UINT16, len(lengths), len(lengths) + 1)
    tables = (
        _little("i", lengths),
        _little("q", [2 * (end - length) for end, length in zip(ends, lengths, strict=True)]),
        _little("q", range(len(lengths) + 1)),
    )
    prefix.with_suffix(".bin").write_bytes(b"".join(_little("H", ids) for ids in documents))
    prefix.with_suffix(".idx").write_bytes(head + b"".join(tables))


def _little(code: str, numbers: Iterable[int]) -> bytes:
    """Return numbers as little-endian bytes of a type of the module struct."""
    values = array(code, numbers)
    return struct.pack(f"<{len(values)}{code}", *values)
