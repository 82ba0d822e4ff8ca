"""The progress bar, and the command on a real terminal."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from rich.console import Console

from packlint.cli.progress import ScanProgress, wants_progress
from packlint.engine.plan import Plan
from packlint.engine.tally import ShardResult

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def plan(n_shards: int, n_parts: int) -> Plan:
    shard = SimpleNamespace(shard=SimpleNamespace(parts=lambda: range(n_parts)))
    return cast(Plan, SimpleNamespace(shards=(shard,) * n_shards))


def result(n_tokens: int) -> ShardResult:
    return cast(ShardResult, SimpleNamespace(counts=Counter(n_tokens=n_tokens)))


def shown(progress: ScanProgress, console: Console) -> str:
    """Return the bar as it stands."""
    bar: Any = progress._bar
    with console.capture() as capture:
        console.print(bar.get_renderable())
    return ESCAPES.sub("", capture.get()).rstrip("\n")


def terminal(width: int, *, color: bool = False) -> Console:
    return Console(
        file=io.StringIO(),
        force_terminal=True,
        width=width,
        no_color=not color,
        legacy_windows=False,
        _environ={},
    )


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_one_line_with_share_rate_and_time_left(width: int) -> None:
    console, now = terminal(width), [0.0]
    progress = ScanProgress(enabled=True, color=False, console=console)
    bar: Any = progress._bar
    bar.get_time = bar.tasks[0]._get_time = lambda: now[0]
    assert "looking at the shards" in shown(progress, console)

    progress.begin(plan(33_333, 3))
    for _ in range(20_000):
        now[0] += 0.5
        progress.advance(result(617 * 10**6))
    line = shown(progress, console)

    assert "\n" not in line
    assert len(line) <= width
    assert line.startswith("33,333 shards ")
    assert line.rstrip().endswith(" 20% 1,234.0 M tokens/s 11:06:40 left")


def test_one_shard_is_no_shards(capsys: pytest.CaptureFixture[str]) -> None:
    console = terminal(80)
    progress = ScanProgress(enabled=True, color=False, console=console)
    progress.begin(plan(1, 1))

    assert shown(progress, console).startswith("1 shard ")
    progress.advance(result(0))
    assert "100%" in shown(progress, console)
    assert "left" not in shown(progress, console)


def test_no_shard_at_all_is_no_error() -> None:
    console = terminal(80)
    progress = ScanProgress(enabled=True, color=False, console=console)
    progress.begin(plan(0, 0))

    assert "0 shards" in shown(progress, console)


def test_nothing_is_written_where_nobody_looks() -> None:
    console = terminal(80)
    with ScanProgress(enabled=False, color=True, console=console) as progress:
        progress.begin(plan(2, 2))
        progress.advance(result(5))

    assert cast(io.StringIO, console.file).getvalue() == ""


def test_a_dumb_terminal_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_progress(quiet=False)
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_progress(quiet=False)


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are for Unix")
def test_on_a_terminal(demo: Path) -> None:
    """Run the command with both streams on a terminal."""
    import pty
    from fcntl import ioctl
    from struct import pack
    from termios import TIOCSWINSZ

    width = 60
    ours, theirs = pty.openpty()
    ioctl(theirs, TIOCSWINSZ, pack("HHHH", 50, width, 0, 0))
    hidden = ("CI", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    command = [str(Path(sys.executable).with_name("packlint")), "check", "trl", "--profile", "sft"]
    done = subprocess.Popen(
        command, cwd=demo, env={**env, "TERM": "xterm", "PYTHONUTF8": "1"}, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    text = _read(ours)
    lines = ESCAPES.sub("", text).replace("\r\n", "\n").split("\n")

    assert done.wait() == 1
    assert "\x1b[" in text
    assert "looking at the shards" in text, "the bar"
    start = next(i for i, line in enumerate(lines) if "✗ " in line)
    assert all(len(line) <= width for line in lines[start + 1 :] if not line.startswith("  packlint "))
    assert max(map(len, lines[start + 1 :])) > width - 10


def _read(stream: int) -> str:
    """Return all that is written to a terminal until nobody has it open."""
    chunks = []
    try:
        while chunk := os.read(stream, 65_536):
            chunks.append(chunk)
    except OSError:  # Linux says so instead of an end
        pass
    finally:
        os.close(stream)
    return b"".join(chunks).decode()
