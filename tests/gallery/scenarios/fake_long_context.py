"""Rows of 32,768 slots, made of short documents: long to the kernel, short to the model."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tests.gallery import texts
from tests.gallery.packing import best_fit, full, trl_rows, write_lines
from tests.gallery.samples import Part, Sample
from tests.gallery.scenario import WHOLE, Scenario
from tests.gallery.tokenizer import END, encode, write_tokenizer

_WIDTH, _N_SHARDS, _N_ROWS = 32_768, 2, 4
_N_SENTENCES = 600
_CONFIG = f"""profile = "long-context"
tokenizer = "tokenizer"

[spec]
max_seq_len = {_WIDTH}
"""


def _write(folder: Path) -> None:
    rng = random.Random(66)
    spoken = [tuple(encode(" " + texts.prose(rng, 1))) for _ in range(_N_SENTENCES)]
    for shard in range(_N_SHARDS):
        samples = list(_documents(rng, spoken, shard * 10_000))
        packs = full(best_fit(samples, _WIDTH), _WIDTH)
        rng.shuffle(packs)
        rows = trl_rows(packs)
        for row in rows:
            del row["labels"]  # all of a text is trained
        write_lines(folder / "packed" / f"train-{shard:05d}.jsonl", rows)
    write_tokenizer(folder / "tokenizer", is_chat=False)
    (folder / "packlint.toml").write_text(_CONFIG, encoding="utf-8")


def _documents(rng: random.Random, spoken: list[tuple[int, ...]], first: int) -> Iterator[Sample]:
    """Yield documents of 200 to 4,000 tokens, and one of 9,000, until some rows are full."""
    room = _N_ROWS * _WIDTH + _WIDTH // 4
    for number in range(first, first + 10_000):
        length = 9_000 if number == first else min(4_000, int(200 * rng.paretovariate(1.3)))
        if length > room:
            return
        room -= length
        ids: list[int] = []
        while len(ids) < length - 1:
            ids += rng.choice(spoken)
        yield Sample(number, (Part("text", (*ids[: length - 1], END), True),), "prose", "en")


SCENARIO = Scenario(
    name="fake-long-context",
    title="Fake long context",
    planted="Rows of 32,768 tokens for continued pretraining, stitched from documents of some hundred.",
    write=_write,
    command=("check", "packed"),
    before=(("manifest", "packed", "--packing-algorithm", "bfd, TRL 1.16", "--distribution-change", "none"),),
    exit_code=1,
    found=dict.fromkeys(("CTX001", "CTX002", "FIL006"), WHOLE),
)
