"""Labels that ask for the wrong tokens: one fault to a shard, so that each finding has a shard of its own."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.gallery.packing import best_fit, full, neat_rows, write_lines
from tests.gallery.samples import IGNORED, Sample, chats, trained
from tests.gallery.scenario import Scenario
from tests.gallery.tokenizer import PAD, write_tokenizer

_WIDTH, _N_CHATS = 384, 50
_CONFIG = f"""profile = "sft"
tokenizer = "tokenizer"
ignore = [
    {{ rule = "SMP006", reason = "the producer drops ids" }},
    {{ rule = "MAN001", reason = "made in the test run" }},
    {{ rule = "FIL006", reason = "a few packs to look at, not a training set" }},
]

[spec]
max_seq_len = {_WIDTH + 1}
"""
_Row = dict[str, Any]


def _prompts_trained(sample: Sample) -> Sample:
    """Train all tokens of every third sample, as a mask lost for a part of the sources does."""
    return trained(sample, by=lambda part: True) if sample.number % 3 == 0 else sample


def _ends_untrained(sample: Sample) -> Sample:
    return trained(sample, "assistant")


def _train_padding(row: _Row) -> None:
    """Take the ids of the padding for labels, as a copy of `input_ids` does."""
    numbers = row["attention_mask"]
    row["labels"] = [label if n else PAD for label, n in zip(row["labels"], numbers, strict=True)]


def _train_boundaries(row: _Row) -> None:
    """Train the first token of every sample but the first."""
    numbers = row["attention_mask"]
    for i in range(1, len(numbers)):
        if numbers[i] > numbers[i - 1]:
            row["labels"][i] = row["input_ids"][i]


def _shift(row: _Row) -> None:
    """Move all labels by one, although the trainer does so."""
    row["labels"] = [*row["labels"][1:], IGNORED]


_SHARDS: tuple[tuple[str, Callable[[Sample], Sample] | None, Callable[[_Row], None] | None], ...] = (
    ("0-correct", None, None),
    ("1-prompts-trained", _prompts_trained, None),
    ("2-ends-untrained", _ends_untrained, None),
    ("3-padding-trained", None, _train_padding),
    ("4-boundaries-trained", None, _train_boundaries),
    ("5-shifted-twice", None, _shift),
)


def _write(folder: Path) -> None:
    rng = random.Random(44)
    for number, (name, change, spoil) in enumerate(_SHARDS):
        samples = chats(rng, _N_CHATS, first=number * _N_CHATS)
        rows = neat_rows(full(best_fit(map(change or _same, samples), _WIDTH), _WIDTH), _WIDTH)
        for row in rows:
            (spoil or _leave)(row)
        write_lines(folder / "packed" / f"{name}.jsonl", rows)
    write_tokenizer(folder / "tokenizer", is_chat=True)
    (folder / "packlint.toml").write_text(_CONFIG, encoding="utf-8")


def _same(sample: Sample) -> Sample:
    return sample


def _leave(row: _Row) -> None:
    """Change nothing."""


SCENARIO = Scenario(
    name="loss-mask-faults",
    title="Faults of the loss mask",
    planted="One shard is correct. In the others prompts are trained, ends of turns are not, padding is, "
    "the first token of each sample is, and all labels are moved by one.",
    write=_write,
    command=("check", "packed"),
    exit_code=1,
    found={
        "TGT001": frozenset({"packed/3-padding-trained.jsonl"}),
        "TGT002": frozenset({"packed/1-prompts-trained.jsonl"}),
        "TGT007": frozenset({"packed/1-prompts-trained.jsonl", "packed/4-boundaries-trained.jsonl"}),
        "TGT009": frozenset({"packed/2-ends-untrained.jsonl"}),
        "TGT010": frozenset({"packed/5-shifted-twice.jsonl"}),
    },
)
