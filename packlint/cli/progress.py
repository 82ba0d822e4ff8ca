"""A progress bar on standard error: shards, tokens per second, time left."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from packlint.engine.plan import Plan
from packlint.engine.tally import ShardResult

__all__ = ["ScanProgress", "wants_progress"]


def wants_progress(quiet: bool) -> bool:
    """Tell whether someone is there to look at it."""
    return not quiet and sys.stderr.isatty() and not os.environ.get("CI")


class ScanProgress:
    """Show how far the scan is; does nothing where `enabled` is false."""

    def __init__(self, *, enabled: bool, color: bool) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f} parts"),
            TextColumn("{task.fields[speed]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True, no_color=not color),
            transient=True,
            disable=not enabled,
        )
        self._task: TaskID | None = None
        self._n_tokens = 0

    def __enter__(self) -> ScanProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, plan: Plan) -> None:
        """Take note of how much there is to scan."""
        n_parts = sum(len(entry.shard.parts()) for entry in plan.shards)
        self._task = self._bar.add_task(f"{len(plan.shards)} shards", total=n_parts, speed="")

    def advance(self, result: ShardResult) -> None:
        """Count one part more."""
        if self._task is None:
            return
        self._n_tokens += result.counts["n_tokens"]
        elapsed = self._bar.tasks[0].elapsed or 0.0
        speed = f"{self._n_tokens / elapsed / 1e6:,.1f} M tokens/s" if elapsed else ""
        self._bar.update(self._task, advance=1, speed=speed)
