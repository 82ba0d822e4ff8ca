"""Conversations that see one another: an overriding mask, a number that stands twice, a mask with holes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.gallery.packing import (
    best_fit,
    full,
    llama_factory_rows,
    neat_rows,
    positions,
    write_batch,
    write_lines,
)
from tests.gallery.samples import IGNORED, Sample, chats
from tests.gallery.scenario import Scenario
from tests.gallery.tokenizer import PAD, write_tokenizer

_WIDTH, _NARROW = 256, 96
_PLAIN, _NEAT, _BATCH = "packed/plain-packing.jsonl", "packed/neat-packing.jsonl", "packed/batch.npz"
_CONFIG = """profile = "sft"
tokenizer = "tokenizer"
ignore = [
    { rule = "SMP006", reason = "the producers drop ids" },
    { rule = "MAN001", reason = "about to be packed anew" },
    { rule = "FIL006", reason = "a few packs to look at, not a training set" },
]
"""


def _write(folder: Path) -> None:
    rng = random.Random(33)
    plain, neat = (full(best_fit(chats(rng, 60, first=first), _WIDTH), _WIDTH) for first in (0, 100))
    write_lines(folder / _PLAIN, llama_factory_rows(plain, _WIDTH))
    rows = neat_rows(neat, _WIDTH)
    three = [row for row in rows if max(row["attention_mask"]) >= 3]
    _merge_numbers(three[0], three[1])
    _repeat_number(three[2])
    _part_sample(three[3])
    write_lines(folder / _NEAT, rows)
    short = [chat for chat in chats(rng, 200, first=200, longest=2) if len(chat) < _NARROW // 2]
    write_batch(folder / _BATCH, _dense(full(best_fit(short, _NARROW), _NARROW)))
    write_tokenizer(folder / "tokenizer", is_chat=True)
    (folder / "packlint.toml").write_text(_CONFIG, encoding="utf-8")


def _merge_numbers(*rows: dict[str, Any]) -> None:
    """Give the second sample the number of the first: a counter that was not raised."""
    for row in rows:
        row["attention_mask"] = [max(1, n - 1) if n else 0 for n in row["attention_mask"]]


def _repeat_number(row: dict[str, Any]) -> None:
    """Give the last sample the number of the first: blocks far apart see each other."""
    last = max(row["attention_mask"])
    row["attention_mask"] = [1 if n == last else n for n in row["attention_mask"]]


def _part_sample(row: dict[str, Any]) -> None:
    """Give the second half of the first sample a number of its own: it cannot see its prompt."""
    numbers = row["attention_mask"]
    half = numbers.count(1) // 2
    row["attention_mask"] = [n + 1 if n and i >= half else n for i, n in enumerate(numbers)]


def _dense(packs: Sequence[Sequence[Sample]]) -> dict[str, list[Any]]:
    """Return a batch with query-by-key masks: tokens also see the one after them, and one sees nothing."""
    columns: dict[str, list[Any]] = {"input_ids": [], "labels": [], "position_ids": [], "attention_mask": []}
    for pack in packs:
        owners = [number for number, sample in enumerate(pack) for _ in sample.ids]
        rest = range(len(owners), _NARROW)
        mask = [
            [int(owner == other and k <= q + 1) for k, other in enumerate(owners)]
            for q, owner in enumerate(owners)
        ]
        mask[len(owners) // 2] = [0] * len(owners)
        columns["input_ids"].append([i for sample in pack for i in sample.ids] + [PAD for _ in rest])
        columns["labels"].append([i for sample in pack for i in sample.labels] + [IGNORED for _ in rest])
        columns["position_ids"].append(positions(map(len, pack)) + [0 for _ in rest])
        columns["attention_mask"].append(
            [[*row, *(0 for _ in rest)] for row in mask] + [[0] * _NARROW for _ in rest]
        )
    return columns


SCENARIO = Scenario(
    name="leaky-sft",
    title="Leaky fine-tuning packs",
    planted="Plain packing, whose mask of ones overrides the positions; neat_packing with numbers of "
    "samples that merge, come back, or part a sample; a stored mask that looks one token ahead.",
    write=_write,
    command=("check", "packed"),
    exit_code=1,
    found={
        "BND001": frozenset({_NEAT}),
        "BND003": frozenset({_NEAT}),
        "ISO001": frozenset({_NEAT, _PLAIN}),
        "ISO003": frozenset({_BATCH}),
        "ISO004": frozenset({_BATCH}),
        "ISO005": frozenset({_BATCH}),
        "ISO006": frozenset({_PLAIN}),
    },
)
