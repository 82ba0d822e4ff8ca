"""A thread pool over (shard, part): pyarrow decodes and numpy counts without the GIL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice

from packlint.engine.scan import NO_SURVEY, ShardPlan, Survey, scan_part
from packlint.engine.tally import ShardResult
from packlint.readers.shard import BLOCK_TOKENS, Part
from packlint.rule import Rule

__all__ = ["run"]

_Task = tuple[ShardPlan, Part]


def run(
    plans: Sequence[ShardPlan],
    rules: Sequence[Rule],
    *,
    jobs: int = 1,
    block_tokens: int = BLOCK_TOKENS,
    survey: Survey = NO_SURVEY,
    on_progress: Callable[[ShardResult], None] | None = None,
) -> dict[str, ShardResult]:
    """Scan all shards and return their results by name.

    Args:
        plans: what to scan.
        rules: what to look for.
        jobs: threads.
        block_tokens: tokens per batch; the results do not depend on it.
        survey: what is done with every batch besides the rules.
        on_progress: called in this thread after each part, with its result.
    """
    results = {plan.shard.name: ShardResult() for plan in plans}

    def scan(task: _Task) -> tuple[str, ShardResult]:
        plan, part = task
        return plan.shard.name, scan_part(plan, part, rules, block_tokens, survey)

    for name, result in _map(scan, _tasks(plans), jobs):
        results[name].add(result)
        if on_progress is not None:
            on_progress(result)
    return results


def _tasks(plans: Sequence[ShardPlan]) -> Iterator[_Task]:
    for plan in plans:
        for part in plan.shard.parts():
            yield plan, part


def _map(
    scan: Callable[[_Task], tuple[str, ShardResult]], tasks: Iterator[_Task], jobs: int
) -> Iterator[tuple[str, ShardResult]]:
    """Yield results as they come, with at most two parts per thread under way."""
    if jobs <= 1:
        yield from map(scan, tasks)
        return
    with ThreadPoolExecutor(jobs) as pool:
        waiting: set[Future[tuple[str, ShardResult]]] = {
            pool.submit(scan, task) for task in islice(tasks, 2 * jobs)
        }
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            waiting |= {pool.submit(scan, task) for task in islice(tasks, len(done))}
