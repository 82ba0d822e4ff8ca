"""Conversations packed for fine-tuning, as TRL writes them; nothing is wrong."""

from __future__ import annotations

import random
from pathlib import Path

from tests.gallery.packing import best_fit, reference_rows, trl_rows, write_lines
from tests.gallery.samples import chats
from tests.gallery.scenario import Scenario
from tests.gallery.tokenizer import write_tokenizer

_WIDTH, _N_SHARDS, _N_CHATS = 512, 2, 100
_CONFIG = f"""profile = "sft"
tokenizer = "tokenizer"

[spec]
max_seq_len = {_WIDTH}
"""


def _write(folder: Path) -> None:
    rng = random.Random(22)
    for shard in range(_N_SHARDS):
        samples = chats(rng, _N_CHATS, first=shard * _N_CHATS)
        write_lines(folder / "tokenized" / f"chats-{shard}.jsonl", reference_rows(samples))
        packs = best_fit(samples, _WIDTH)
        rng.shuffle(packs)
        write_lines(folder / "packed" / f"train-{shard:05d}.jsonl", trl_rows(packs))
    write_tokenizer(folder / "tokenizer", is_chat=True)
    (folder / "packlint.toml").write_text(_CONFIG, encoding="utf-8")


SCENARIO = Scenario(
    name="clean-sft",
    title="Clean fine-tuning packs",
    planted="Nothing: conversations in ChatML, packed whole by TRL's best fit, and what they were before.",
    write=_write,
    command=("check", "packed", "--reference", "tokenized"),
    before=(("manifest", "packed", "--packing-algorithm", "bfd, TRL 1.16", "--distribution-change", "none"),),
    exit_code=0,
)
