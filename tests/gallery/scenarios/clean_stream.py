"""A stream of documents for pretraining, as Megatron reads it; nothing is wrong."""

from __future__ import annotations

import random
from pathlib import Path

from tests.gallery import texts
from tests.gallery.packing import write_megatron
from tests.gallery.samples import Sample, document
from tests.gallery.scenario import Scenario
from tests.gallery.tokenizer import write_tokenizer

_WINDOW, _N_SHARDS, _N_DOCUMENTS = 512, 2, 60
_CONFIG = f"""profile = "pretrain"
tokenizer = "tokenizer"
ignore = [{{ rule = "SMP006", reason = "public-domain text; what must go is taken out before tokenizing" }}]

[spec]
max_seq_len = {_WINDOW}
"""


def _write(folder: Path) -> None:
    rng = random.Random(11)
    for shard in range(_N_SHARDS):
        documents = [_document(rng, shard * _N_DOCUMENTS + i) for i in range(_N_DOCUMENTS)]
        write_megatron(folder / "stream" / f"part-{shard}_text_document", [d.ids for d in documents])
    write_tokenizer(folder / "tokenizer", is_chat=False)
    (folder / "packlint.toml").write_text(_CONFIG, encoding="utf-8")


def _document(rng: random.Random, number: int) -> Sample:
    n = int(rng.paretovariate(1.2))
    if rng.random() < 0.3:
        return document(number, texts.code(rng, min(n, 8)), domain="code")
    return document(number, texts.prose(rng, min(4 * n, 60)), domain="prose")


SCENARIO = Scenario(
    name="clean-pretraining-stream",
    title="Clean pretraining stream",
    planted="Nothing: prose and code in two Megatron pairs, an end token after every document.",
    write=_write,
    command=("check", "stream"),
    before=(
        (
            "manifest",
            "stream",
            "--packing-algorithm",
            "concatenate, then cut into windows (Megatron-LM GPTDataset)",
            "--distribution-change",
            "none",
        ),
    ),
    exit_code=0,
)
