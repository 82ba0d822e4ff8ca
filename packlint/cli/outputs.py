"""`--output FORMAT[=FILE]` and `--output-dir DIR`: which formats go where."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from packlint.errors import UsageError
from packlint.reporters import REPORTERS, USUAL_FILES

__all__ = ["Output", "parse_outputs", "save"]


@dataclass(frozen=True, slots=True)
class Output:
    """Name a format and the file that it goes to; no file is standard output."""

    format: str
    file: str | None = None


def parse_outputs(values: Sequence[str], folder: str | None = None) -> tuple[Output, ...]:
    """Return the outputs; the terminal report is added where nothing else takes standard output.

    Args:
        values: what each `--output` says.
        folder: what `--output-dir` says; the folder is made.

    Raises:
        UsageError: an unknown format, two outputs on standard output, or two in one file.
    """
    outputs = [_parse(value) for value in values]
    _check_standard_output([output.format for output in outputs if output.file is None])
    if folder is not None:
        outputs += _usual_outputs(folder)
    files = [os.path.normpath(output.file) for output in outputs if output.file is not None]
    if len(set(files)) < len(files):
        raise UsageError("two outputs go to the same file")
    if not any(output.file is None and output.format != "github" for output in outputs):
        outputs.append(Output("terminal"))
    # Annotations come last in a log: a host shows them apart, and people read the report.
    return tuple(sorted(outputs, key=lambda output: output.format == "github"))


def _check_standard_output(formats: Sequence[str]) -> None:
    """Refuse two outputs that would mix; annotations may follow the terminal report in a log."""
    if len(formats) > 1 and sorted(formats) != ["github", "terminal"]:
        raise UsageError(
            f"--output {formats[0]} and --output {formats[1]} both go to standard output; give one a file"
        )


def _usual_outputs(folder: str) -> list[Output]:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--output-dir {folder}: {error.strerror}") from None
    return [Output(name, str(Path(folder) / file)) for name, file in USUAL_FILES.items()]


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
