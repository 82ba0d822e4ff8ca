"""Print lint time over bare decode time, tokens per second, and peak memory.

    python -m tests.benchmarks parquet     40 M tokens, zstd, four columns: lint / decode
    python -m tests.benchmarks megatron    200 M tokens, memory-mapped: lint / numpy.sum
    python -m tests.benchmarks memory      peak memory of `packlint check` on both
    python -m tests.benchmarks roles       17 M tokens of packed chats: who speaks, and lint / decode
    python -m tests.benchmarks drift       two sets of 5 M lengths; observation of packs / decode
    python -m tests.benchmarks matching    a million samples against their packs: time / decode, and memory
    python -m tests.benchmarks reports     all formats: no findings, and 100,000 of them

Data are made once, under `--dir`.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from packlint.config import RunConfig, parse_config
from packlint.engine.plan import plan_shards
from packlint.engine.scan import ShardPlan, scan_part
from packlint.readers import open_shards
from packlint.readers.shard import Part, Settings
from packlint.registry import load_rules
from packlint.rule import Rule
from tests.benchmarks.chat import roles
from tests.benchmarks.data import VOCABULARY, megatron_pair, packed_parquet
from tests.benchmarks.drift import drift
from tests.benchmarks.matching import matching
from tests.benchmarks.reports import reports
from tests.benchmarks.timing import cpu_seconds, drain, quartiles

SPEC = {"vocab_size": VOCABULARY, "eos_ids": [2], "bos_id": 1, "pad_id": 0}


def main() -> None:
    """Run the benchmarks that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "what", choices=["parquet", "megatron", "memory", "rules", "roles", "drift", "matching", "reports"]
    )
    parser.add_argument("--dir", type=Path, default=Path("/tmp/packlint-benchmarks"))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    options.dir.mkdir(parents=True, exist_ok=True)
    benchmarks = {"parquet": parquet, "megatron": megatron, "memory": memory, "rules": by_rule}
    benchmarks |= {"roles": roles, "drift": drift, "matching": matching, "reports": reports}
    benchmarks[options.what](options.dir, options.rounds)


def settings(profile: str, trainer: str, **spec: int) -> RunConfig:
    """Return what a user of the benchmark data would declare."""
    return parse_config({"profile": profile, "trainer": trainer, "spec": {**SPEC, **spec}})


def plan_of(path: Path, config: RunConfig) -> ShardPlan:
    """Return the plan of the one shard at a path."""
    window = config.spec.max_seq_len
    shards, broken = open_shards([str(path)], Settings(max_seq_len=window.value if window else None))
    assert not broken
    return plan_shards(shards, config, config.spec).shards[0]


def parquet(folder: Path, rounds: int) -> None:
    """Time lint and bare decode of each row group, in pairs."""
    plan = plan_of(packed_parquet(folder), settings("sft", "torchtune", max_seq_len=4096))
    rules = load_rules()
    ratios = []
    for _ in range(rounds):
        for part in plan.shard.parts():
            decode = cpu_seconds(partial(drain, plan, part))
            ratios.append(cpu_seconds(partial(scan_part, plan, part, rules)) / decode)
    n_tokens = sum(part.n_rows for part in plan.shard.parts()) * 4096
    print(f"parquet: {n_tokens / 1e6:.1f} M tokens, {len(rules)} rules, {len(ratios)} pairs of CPU times")
    print(f"lint / decode: {quartiles(ratios)}")


def drain_all(plan: ShardPlan, parts: Sequence[Part]) -> None:
    """Decode several parts."""
    for part in parts:
        drain(plan, part)


def scan_all(plan: ShardPlan, parts: Sequence[Part], rules: Sequence[Rule]) -> None:
    """Lint several parts."""
    for part in parts:
        scan_part(plan, part, rules)


def megatron(folder: Path, rounds: int) -> None:
    """Time lint of a memory-mapped pair beside a sum of the same array."""
    path = megatron_pair(folder)
    tokens = np.memmap(path.with_suffix(".bin"), np.uint16, "r")
    rules = load_rules()
    for title, config in (
        ("documents", settings("pretrain", "megatron")),
        ("windows of 4096", settings("pretrain", "megatron", max_seq_len=4096)),
    ):
        plan = plan_of(path, config)
        ratios, rates = [], []
        for _ in range(rounds):
            floor = cpu_seconds(tokens.sum)
            lint = cpu_seconds(partial(scan_all, plan, plan.shard.parts(), rules))
            ratios.append(lint / floor)
            rates.append(tokens.size / lint / 1e6)
        print(
            f"megatron, {title}: {tokens.size / 1e6:.0f} M tokens, {len(rules)} rules: "
            f"lint / numpy.sum median {statistics.median(ratios):.2f} "
            f"({min(ratios):.2f} to {max(ratios):.2f}), {statistics.median(rates):.0f} M tokens per CPU s"
        )


def by_rule(folder: Path, rounds: int) -> None:
    """Print what each rule adds to the scan, in ns per token, on both data sets."""
    for title, plan in (
        ("parquet", plan_of(packed_parquet(folder), settings("sft", "torchtune", max_seq_len=4096))),
        ("megatron", plan_of(megatron_pair(folder), settings("pretrain", "megatron", max_seq_len=4096))),
    ):
        parts = list(plan.shard.parts())[:3]
        n_tokens = sum(part.n_rows for part in parts) * 4096

        def cost(work: Callable[[], object], n_tokens: int = n_tokens) -> float:
            return min(cpu_seconds(work) for _ in range(rounds)) / n_tokens * 1e9

        decode = cost(partial(drain_all, plan, parts))
        floor = cost(partial(scan_all, plan, parts, []))
        print(f"{title}: decode {decode:.2f}, canonical form {floor:.2f} ns per token")
        for rule in load_rules():
            print(f"  {rule.meta.code} {cost(partial(scan_all, plan, parts, [rule])) - floor:+.2f}")
        print(f"  all {cost(partial(scan_all, plan, parts, load_rules())) - floor:+.2f}")


def memory(folder: Path, rounds: int) -> None:
    """Print the peak memory of whole `packlint check` runs."""
    del rounds
    for path in (packed_parquet(folder), megatron_pair(folder)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        packlint = str(Path(sys.executable).with_name("packlint"))
        command = [packlint, "check", str(path), "--jobs", "2", "--quiet", "--eos-id", "2"]
        done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
        assert done.returncode in (0, 1), "the run failed"
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        note = "" if peak > before else " or less"
        print(
            f"{path.name}: {path.stat().st_size / 1e6:.0f} MB index or file, peak {peak / 1024:.0f} MB{note}"
        )


if __name__ == "__main__":
    main()
