"""Compositions on disk: what `packlint drift --save-summary` writes, and `--reference` reads again.

One line of JSON, the same bytes for the same data. A build can be compared with an earlier one whose data is
gone. The file may come from anyone: its size is bounded, and all in it is checked.
"""

from __future__ import annotations

import json
from pathlib import Path

from packlint.errors import UsageError
from packlint.summaries.composition import SCHEMA, Composition

__all__ = ["is_composition", "read_composition", "write_composition"]

_MAX_BYTES = 1 << 28
_HEAD = f'{{"schema":"{SCHEMA}"'


def write_composition(composition: Composition, path: Path) -> None:
    """Write a composition.

    Raises:
        UsageError: the file cannot be written.
    """
    text = json.dumps(composition.to_dict(), ensure_ascii=True, separators=(",", ":"))
    try:
        path.write_text(text + "\n", encoding="ascii")
    except OSError as error:
        raise UsageError(f"{path.name}: cannot be written: {error.strerror}") from None


def is_composition(path: Path) -> bool:
    """Tell whether a file begins as one that was written here, of this version or another."""
    head = _HEAD.rpartition("/")[0].encode()
    try:
        with path.open("rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def read_composition(path: Path) -> Composition:
    """Return a composition.

    Raises:
        UsageError: it cannot be read, or is none.
    """
    try:
        n_bytes = path.stat().st_size
        if n_bytes > _MAX_BYTES:
            raise UsageError(f"{path.name}: {n_bytes:,} bytes; a summary has at most {_MAX_BYTES:,}")
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
    except OSError as error:
        raise UsageError(f"{path.name}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise UsageError(f"{path.name}: nested too deeply for a summary") from None
    except ValueError as error:  # no JSON, no UTF-8, or a number of thousands of digits
        raise UsageError(f"{path.name}: no JSON: {error}") from None
    return Composition.from_dict(data, path.name)


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")
