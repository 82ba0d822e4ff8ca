"""CPU times of pairs, and the bare decode that they are compared with."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from packlint.engine.scan import ShardPlan
from packlint.readers.shard import BLOCK_TOKENS, Part

__all__ = ["cpu_seconds", "drain", "quartiles"]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def drain(plan: ShardPlan, part: Part) -> None:
    """Decode the same columns at the same batch size and do nothing with them."""
    for _ in plan.shard.rows(part, plan.roles, BLOCK_TOKENS):
        pass


def quartiles(ratios: Sequence[float]) -> str:
    """Return the median and the quartiles in words."""
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"median {middle:.3f}, quartiles {low:.3f} to {high:.3f}"
