"""A small packed data set for `packlint demo`: made by a seeded generator, with faults planted on purpose."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["SHARDS", "DemoShard", "write_demo"]

WINDOW = 192
N_PACKS = 24
IGNORED = -100
PAD, BEGIN, END, USER, ASSISTANT = range(5)
SPECIALS = ("<pad>", "<s>", "</s>", "<user>", "<assistant>")
_TEXT = (
    "a the one some every no this that why how when where what who tell show name count write read sort "
    "find add copy move open close river stone cloud window bridge garden letter number table paper "
    "engine signal forest island market mirror needle ocean pepper rocket silver ticket velvet winter "
    "yellow answer because before after under over near far small large warm cold early late quick slow "
    "bright dark round flat is are was has can will must may goes comes makes takes gives keeps looks "
    "works and or but so then with for from"
)
WORDS = _TEXT.split()
CONFIG = f"""# What the shards of the demo do not say themselves.
[spec]
max_seq_len = {WINDOW}
vocab_size = {len(SPECIALS) + len(WORDS)}
pad_id = {PAD}
bos_id = {BEGIN}
eos_ids = [{END}]
"""


@dataclass(slots=True)
class Pack:
    """Hold one row under construction."""

    ids: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)


Packs = list[Pack]


@dataclass(frozen=True, slots=True)
class DemoShard:
    """Describe one file of the demo.

    Args:
        name: path inside the folder.
        says: what is wrong with it.
        spoil: plants the faults.
        columns: lays packs out as a producer does.
    """

    name: str
    says: str
    spoil: Callable[[Packs], None]
    columns: Callable[[Packs], dict[str, list[list[int]]]]


def write_demo(folder: Path) -> None:
    """Write all shards, a tokenizer and a packlint.toml."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for seed, shard in enumerate(SHARDS):
        packs = _packs(random.Random(seed))
        shard.spoil(packs)
        file = folder / shard.name
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(shard.columns(packs)), file, row_group_size=8)
    _write_tokenizer(folder / "tokenizer")
    (folder / "packlint.toml").write_text(CONFIG, encoding="utf-8")


def _packs(rng: random.Random) -> Packs:
    """Return correct packs: whole samples, first fit, prompts not trained."""
    packs = [Pack() for _ in range(N_PACKS)]
    for pack in packs:
        while True:
            ids, n_prompt = _sample(rng)
            if len(pack.ids) + len(ids) > WINDOW:
                ids, n_prompt = _sample(rng, WINDOW - len(pack.ids))
            if not ids:
                break
            pack.ids += ids
            pack.labels += [IGNORED] * n_prompt + ids[n_prompt:]
            pack.lengths.append(len(ids))
    return packs


def _sample(rng: random.Random, length: int | None = None) -> tuple[list[int], int]:
    """Return a chat of one turn, of a given length if that is long enough, and the length of its prompt."""
    if length is not None and length < 12:
        return [], 0
    n_words = (rng.randint(16, 70) if length is None else length) - 4
    n_asked = rng.randint(3, min(12, n_words - 3))
    words = [rng.randrange(len(SPECIALS), len(SPECIALS) + len(WORDS)) for _ in range(n_words)]
    prompt = [BEGIN, USER, *words[:n_asked], ASSISTANT]
    return [*prompt, *words[n_asked:], END], len(prompt)


def _nothing(packs: Packs) -> None:
    """Leave a shard as it is."""


def _lose_answers(packs: Packs) -> None:
    """Take some samples out of the loss, and write one pack twice."""
    for pack in (packs[3], packs[11]):
        stop = pack.lengths[0]
        pack.labels[:stop] = [IGNORED] * stop
    packs[17] = packs[5]


def _shift_twice(packs: Packs) -> None:
    """Shift labels, although the trainer shifts them again."""
    for pack in packs:
        pack.labels = [*pack.labels[1:], IGNORED]


def _pad(packs: Packs) -> None:
    """Drop the last sample of each pack and fill up with padding, to a slot more as LLaMA-Factory does."""
    for pack in packs:
        n_kept = len(pack.ids) - pack.lengths.pop()
        n_padding = WINDOW + 1 - n_kept
        pack.ids = pack.ids[:n_kept] + [PAD] * n_padding
        pack.labels = pack.labels[:n_kept] + [IGNORED] * n_padding


def _trl(packs: Packs) -> dict[str, list[list[int]]]:
    return {
        "input_ids": [pack.ids for pack in packs],
        "labels": [pack.labels for pack in packs],
        "seq_lengths": [pack.lengths for pack in packs],
    }


def _llama_factory_plain(packs: Packs) -> dict[str, list[list[int]]]:
    """Positions restart, but an attention mask of ones makes the model ignore them."""
    return {
        "input_ids": [pack.ids for pack in packs],
        "attention_mask": [[1] * len(pack.ids) for pack in packs],
        "position_ids": [_positions(pack) for pack in packs],
        "labels": [pack.labels for pack in packs],
        **{name: [[] for _ in packs] for name in ("images", "videos", "audios")},
    }


def _positions(pack: Pack) -> list[int]:
    restarted = [i for length in pack.lengths for i in range(length)]
    return restarted + [0] * (len(pack.ids) - len(restarted))


def _write_tokenizer(folder: Path) -> None:
    """Write a tokenizer of whole words; plain JSON, so that writing it needs no package."""
    vocabulary = {word: i for i, word in enumerate((*SPECIALS, *WORDS))}
    added = [
        {"id": i, "content": word, "special": True, "normalized": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        for i, word in enumerate(SPECIALS)
    ]
    model: dict[str, Any] = {"type": "WordLevel", "vocab": vocabulary, "unk_token": SPECIALS[PAD]}
    unused = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    splitter = {"type": "WhitespaceSplit"}
    table = {"version": "1.0", **unused, "pre_tokenizer": splitter, "added_tokens": added, "model": model}
    names = {"pad_token": SPECIALS[PAD], "bos_token": SPECIALS[BEGIN], "eos_token": SPECIALS[END]}
    folder.mkdir(exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(table), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(names), encoding="utf-8")


SHARDS = (
    DemoShard("trl/train-00000.parquet", "correct", _nothing, _trl),
    DemoShard(
        "trl/train-00001.parquet",
        "two answers lost their labels, and one pack was written twice",
        _lose_answers,
        _trl,
    ),
    DemoShard(
        "trl/train-00002.parquet",
        "labels were shifted, although the trainer shifts them again",
        _shift_twice,
        _trl,
    ),
    DemoShard(
        "llama-factory/train.parquet",
        "packed without neat_packing: samples see each other; too much padding",
        _pad,
        _llama_factory_plain,
    ),
)
