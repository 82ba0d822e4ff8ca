"""The terminal that a command writes to: its width, colour and encoding."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any, TextIO, TypeVar

import rich_click as click

from packlint.reporters.paper import Paper

__all__ = ["color_option", "paper_for", "wants_color", "write"]

F = TypeVar("F", bound=Callable[..., Any])

_MIN_WIDTH, _MAX_WIDTH, _PLAIN_WIDTH = 40, 200, 100
_EXIT_PIPE = 141


def color_option(command: F) -> F:
    """Add `--color`."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Colour; auto follows the terminal, NO_COLOR and FORCE_COLOR.",
    )(command)


def wants_color(color: str, stream: TextIO) -> bool:
    """Tell whether to colour: the option wins, then NO_COLOR, then FORCE_COLOR."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paper_for(color: str, width: int | None = None) -> Paper:
    """Return a sheet that fits standard output."""
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    return Paper(width=width or _width(), color=wants_color(color, sys.stdout), unicode=unicode)


def write(text: str) -> None:
    """Write to standard output; leave quietly when nobody reads it any more."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except UnicodeEncodeError:
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_EXIT_PIPE) from None


def _width() -> int:
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return _PLAIN_WIDTH
    columns = shutil.get_terminal_size((_PLAIN_WIDTH, 24)).columns
    return max(_MIN_WIDTH, min(_MAX_WIDTH, columns))
