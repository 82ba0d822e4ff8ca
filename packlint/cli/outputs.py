"""`--output FORMAT[=FILE]`: which formats go where."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packlint.errors import UsageError
from packlint.reporters import REPORTERS

__all__ = ["Output", "parse_outputs", "save"]


@dataclass(frozen=True, slots=True)
class Output:
    """Name a format and the file that it goes to; no file is standard output."""

    format: str
    file: str | None = None


def parse_outputs(values: Sequence[str]) -> tuple[Output, ...]:
    """Return the outputs; the terminal report is added where nothing else takes standard output.

    Raises:
        UsageError: an unknown format, two outputs on standard output, or two in one file.
    """
    outputs = [_parse(value) for value in values]
    shown = [output.format for output in outputs if output.file is None]
    if len(shown) > 1:
        raise UsageError(
            f"--output {shown[0]} and --output {shown[1]} both go to standard output; give one a file"
        )
    files = [output.file for output in outputs if output.file is not None]
    if len(set(files)) < len(files):
        raise UsageError("two --output name the same file")
    if not shown:
        outputs.append(Output("terminal"))
    return tuple(outputs)


def save(outputs: Sequence[Output], render: Callable[[Output], str]) -> None:
    """Write the outputs that go to files.

    Raises:
        UsageError: a file cannot be written.
    """
    for output in outputs:
        if output.file is None:
            continue
        try:
            Path(output.file).write_text(render(output), encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"--output {output.format}={output.file}: {error.strerror}") from None


def _parse(value: str) -> Output:
    name, has_file, file = value.partition("=")
    if name not in REPORTERS:
        close = difflib.get_close_matches(name, REPORTERS, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(REPORTERS)}"
        raise UsageError(f"--output {value}: unknown format {name}{hint}")
    if has_file and not file:
        raise UsageError(f"--output {value}: the file has no name")
    return Output(name, file or None)
