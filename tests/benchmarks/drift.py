"""Drift of two sets of 5 M samples, and what it costs to observe packs."""

from __future__ import annotations

import statistics
import time
from functools import partial
from pathlib import Path

import numpy as np

from packlint.config import parse_config
from packlint.engine.plan import plan_shards
from packlint.engine.scan import ShardPlan
from packlint.model.arrays import Int64Array
from packlint.model.batch import PackBatch
from packlint.readers import open_shards
from packlint.readers.canonical import build
from packlint.readers.shard import BLOCK_TOKENS, Part, Settings
from packlint.summaries.composition import Composition
from packlint.summaries.drift.tables import drift_table
from tests.benchmarks.data import packed_parquet
from tests.benchmarks.timing import cpu_seconds, drain

__all__ = ["drift"]

_N_SAMPLES = 5_000_000
_N_PARTS = 4


def drift(folder: Path, rounds: int) -> None:
    """Time the comparison of two columns of lengths, and the observation of packs beside their decode."""
    rng = np.random.default_rng(0)
    sides = [np.maximum(rng.lognormal(mean, 1.2, _N_SAMPLES), 1).astype(np.int64) for mean in (6.0, 6.03)]
    times = [_compare(*sides) for _ in range(rounds)]
    print(f"drift: two sets of {_N_SAMPLES / 1e6:.0f} M lengths: {statistics.median(times):.2f} s")
    shards, _ = open_shards([str(packed_parquet(folder))], Settings())
    config = parse_config({"profile": "sft", "trainer": "torchtune", "spec": {"eos_ids": [2], "pad_id": 0}})
    plan = plan_shards(shards, config, config.spec).shards[0]
    ratios, costs = [], []
    for part in list(plan.shard.parts())[:_N_PARTS] * rounds:
        decode = cpu_seconds(partial(drain, plan, part))
        batches = _batches(plan, part)
        for batch in batches:  # rules ask for these in any case
            _ = batch.token_range, batch.targets_per_segment, batch.outside_per_segment
        observed = cpu_seconds(partial(_observe, batches))
        ratios.append(observed / decode)
        costs.append(observed / sum(batch.n_tokens for batch in batches) * 1e9)
    print(
        f"observation of packs: {statistics.median(costs):.2f} ns per token,"
        f" {statistics.median(ratios):.3f} of decode"
    )


def _compare(reference: Int64Array, packed: Int64Array) -> float:
    """Count both, compare them, and return the time by the clock."""
    start = time.perf_counter()
    sides = [Composition(), Composition()]
    for side, lengths in zip(sides, (reference, packed), strict=True):
        side.add_samples(lengths)
    drift_table(*sides, reference_name="reference", packed_name="packed")
    return time.perf_counter() - start


def _batches(plan: ShardPlan, part: Part) -> list[PackBatch]:
    rows = plan.shard.rows(part, plan.roles, BLOCK_TOKENS)
    return [batch for batch in (build(raw, plan.reading)[0] for raw in rows) if batch is not None]


def _observe(batches: list[PackBatch]) -> None:
    composition = Composition()
    for batch in batches:
        composition.observe(batch)
