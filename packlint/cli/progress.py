"""A progress bar on standard error: shards, tokens per second, time left."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Column
from rich.text import Text

from packlint.engine.plan import Plan
from packlint.engine.tally import ShardResult
from packlint.reporters.signs import count

__all__ = ["ScanProgress", "wants_progress"]

_LOOKING = "looking at the shards"
_MIN_WIDTH = 40
"""Below this many columns a bar would break into two lines."""


def wants_progress(quiet: bool) -> bool:
    """Tell whether someone is there to look at it."""
    if quiet or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return False
    return sys.stderr.isatty()


class ScanProgress:
    """Show how far the scan is; does nothing where `enabled` is false."""

    def __init__(self, *, enabled: bool, color: bool, console: Console | None = None) -> None:
        console = console or Console(stderr=True, no_color=not color)
        self._bar = Progress(
            TextColumn("{task.description}", table_column=Column(no_wrap=True)),
            BarColumn(bar_width=None, table_column=Column(ratio=1, max_width=40)),
            _Told("share"),
            _Told("speed"),
            _Left(),
            console=console,
            transient=True,
            disable=not enabled or console.width < _MIN_WIDTH,
        )
        self._task = self._bar.add_task(_LOOKING, total=None, share="", speed="")
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
        self._bar.reset(
            self._task, description=count(len(plan.shards), "shard"), total=n_parts, share="0%", speed=""
        )

    def advance(self, result: ShardResult) -> None:
        """Count one part more."""
        self._n_tokens += result.counts["n_tokens"]
        self._bar.update(self._task, advance=1)
        task = self._bar.tasks[self._task]
        elapsed = task.elapsed or 0.0
        speed = f"{self._n_tokens / elapsed / 1e6:,.1f} M tokens/s" if elapsed else ""
        self._bar.update(self._task, share=f"{int(task.percentage)}%", speed=speed)


class _Told(ProgressColumn):
    """Show what `ScanProgress` says under one name."""

    def __init__(self, name: str) -> None:
        self._name = name
        super().__init__(table_column=Column(no_wrap=True, justify="right"))

    def render(self, task: Task) -> Text:
        """Return it as it is."""
        return Text(task.fields[self._name])


class _Left(ProgressColumn):
    """Show the time left, from the speed of the last half minute."""

    max_refresh = 0.5

    def __init__(self) -> None:
        super().__init__(table_column=Column(no_wrap=True, justify="right"))

    def render(self, task: Task) -> Text:
        """Return hours, minutes and seconds; nothing while nobody knows."""
        if task.time_remaining is None or task.finished:
            return Text("")
        minutes, seconds = divmod(int(task.time_remaining), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
        return Text(f"{clock} left")
