"""Packed chats: what it costs to know who speaks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from packlint.chat.declared import find_chat
from packlint.config import parse_config
from packlint.engine.plan import plan_shards
from packlint.engine.scan import ShardPlan, scan_part
from packlint.finding import Hits, Severity
from packlint.model.batch import PackBatch
from packlint.model.markers import end_of_turn_spec
from packlint.model.needs import Need
from packlint.readers import open_shards
from packlint.readers.canonical import build
from packlint.readers.shard import BLOCK_TOKENS, Part, Settings
from packlint.registry import load_rules
from packlint.rule import PackRule, Rule, RuleMeta, Totals
from tests.benchmarks.timing import cpu_seconds, drain, quartiles

__all__ = ["roles"]

_PACK, _N_PACKS, _ROW_GROUP = 4096, 4096, 512
_VOCABULARY = 151_669
_START, _END, _NEWLINE = 151_644, 151_645, 198
_NAMES = {"system": 8948, "user": 872, "assistant": 77_091}
_MEDIAN_TURN, _SPREAD = 150, 0.9
"""Tokens per turn: about what public chat sets have with a vocabulary of 150 thousand."""


class WhoSpeaks(PackRule):
    """Ask for roles and expected targets, and for nothing else."""

    meta = RuleMeta(code="XXX001", name="who-speaks", severity=Severity.INFO, since="0.0.0")

    def check(self, batch: PackBatch) -> Hits:
        """Return no hits."""
        assert batch.roles is not None
        assert batch.expected is not None
        return Hits.none()

    def message(self, totals: Totals) -> str:
        """Say nothing, as nothing is found."""
        return ""


def roles(folder: Path, rounds: int) -> None:
    """Time what it costs to know who speaks: by itself, and as a part of lint / decode."""
    plan = _plan(_packed_chats(folder))
    _print_costs(plan, rounds)
    every = load_rules()
    without = [rule for rule in every if Need.ROLES not in rule.meta.needs]
    rule_sets: dict[str, Sequence[Rule]] = {
        "without roles": without,
        "roles and expected targets asked for": [*without, WhoSpeaks()],
        "all rules": every,
    }
    ratios: dict[str, list[float]] = {title: [] for title in rule_sets}
    for part in list(plan.shard.parts()) * rounds:
        decode = cpu_seconds(partial(drain, plan, part))
        for title, rules in rule_sets.items():
            ratios[title].append(cpu_seconds(partial(scan_part, plan, part, rules)) / decode)
    for title, rules in rule_sets.items():
        print(f"lint / decode, {title} ({len(rules)} rules): {quartiles(ratios[title])}")


def _plan(path: Path) -> ShardPlan:
    markers = {name: [_START, name_id] for name, name_id in _NAMES.items()}
    config = parse_config(
        {
            "profile": {"extends": "sft", "targets": "assistant"},
            "trainer": "torchtune",
            "spec": {"max_seq_len": _PACK, "vocab_size": _VOCABULARY, "pad_id": 0},
            "chat": {
                "markers": {**markers, "end": [_END], "separator": [_NEWLINE]},
                "separator_is_due": True,
            },
        }
    )
    chat = find_chat(config.chat, None)[0]
    declared = config.spec.or_else(end_of_turn_spec(chat))
    shards, _ = open_shards([str(path)], Settings(max_seq_len=_PACK))
    return plan_shards(shards, config, declared, chat).shards[0]


def _print_costs(plan: ShardPlan, rounds: int) -> None:
    decode, found, wanted, turns = [], [], [], 0
    for part in list(plan.shard.parts()) * rounds:
        start = time.process_time()
        batches = _batches(plan, part)
        decode.append(time.process_time() - start)
        _ = [batch.token_range for batch in batches]  # other rules ask for it in any case
        start = time.process_time()
        for batch in batches:
            assert batch.roles is not None
            turns += len(batch.roles.turns)
        found.append(time.process_time() - start)
        start = time.process_time()
        _ = [batch.expected for batch in batches]
        wanted.append(time.process_time() - start)
    n_tokens = _N_PACKS * _PACK
    print(f"chats: {n_tokens / 1e6:.1f} M tokens, {n_tokens * rounds / turns:.0f} tokens per turn")
    for title, times in (
        ("decode and canonical form", decode),
        ("roles", found),
        ("expected targets", wanted),
    ):
        share = statistics.median(t / d for t, d in zip(times, decode, strict=True))
        cost = statistics.median(times) / (_ROW_GROUP * _PACK) * 1e9
        print(f"{title}: {cost:.2f} ns per token, {share:.3f} of decode")


def _batches(plan: ShardPlan, part: Part) -> list[PackBatch]:
    rows = plan.shard.rows(part, plan.roles, BLOCK_TOKENS)
    return [batch for batch in (build(raw, plan.reading)[0] for raw in rows) if batch is not None]


def _packed_chats(folder: Path) -> Path:
    path = folder / "chats.parquet"
    if path.exists():
        return path
    rng = np.random.default_rng(2)
    writer = None
    for _ in range(_N_PACKS // _ROW_GROUP):
        table = _table(rng, _ROW_GROUP)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return path


def _table(rng: np.random.Generator, n_packs: int) -> pa.Table:
    ids = np.minimum(rng.zipf(1.2, n_packs * _PACK) + 9, 100_000).reshape(n_packs, _PACK).astype(np.int32)
    labels = np.full(ids.shape, -100, np.int64)
    positions = np.zeros(ids.shape, np.int64)
    lengths = [_fill(rng, ids[pack], labels[pack], positions[pack]) for pack in range(n_packs)]
    offsets: Any = pa.array(np.arange(0, n_packs * _PACK + 1, _PACK, dtype=np.int32))
    columns: dict[str, Any] = {"tokens": ids, "labels": labels, "input_pos": positions}
    arrays = {
        name: pa.ListArray.from_arrays(offsets, pa.array(values.reshape(-1)))
        for name, values in columns.items()
    }
    return pa.table({**arrays, "seq_lens": pa.array(lengths, pa.list_(pa.int64()))})


def _fill(
    rng: np.random.Generator,
    ids: np.ndarray[tuple[int], np.dtype[np.int32]],
    labels: np.ndarray[tuple[int], np.dtype[np.int64]],
    positions: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> list[int]:
    """Write chats of a few rounds into one pack, and return their lengths."""
    place, lengths = 0, []
    while place < _PACK - 200:
        start = place
        for name in ["system"] + ["user", "assistant"] * int(rng.integers(1, 5)):
            length = int(np.clip(rng.lognormal(np.log(_MEDIAN_TURN), _SPREAD), 8, 2000))
            stop = min(place + 3 + length, _PACK - 2)
            if stop <= place + 8:
                break
            ids[place : place + 3] = _START, _NAMES[name], _NEWLINE
            ids[stop], ids[stop + 1] = _END, _NEWLINE
            if name == "assistant":
                labels[place + 3 : stop + 1] = ids[place + 3 : stop + 1]
            place = stop + 2
        positions[start:place] = np.arange(place - start)
        lengths.append(place - start)
    if place < _PACK:
        ids[place:] = 0
        positions[place:] = np.arange(lengths[-1], lengths[-1] + _PACK - place)
        lengths.append(_PACK - place)
    return lengths
