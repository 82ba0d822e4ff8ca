"""The packs of a rule's example, drawn with their columns aligned.

slot          0     1     2 │   3     4     5
input_ids     1    11     2 │   1    21     2
labels     -100    11     2 │   1    21     2
seq_lens      3             │   3
found                       │   ▲
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from packlint.reporters.paper import Paper

__all__ = ["draw_example"]

_TOLD_APART = ("config", "layout", "manifest")
_SHARDS = "shards"
_IGNORED = -100
_SEGMENT_STYLES = ("green", "magenta", "blue", "yellow")
_MAX_PACKS = 4
_SLOTS, _FAULTS = "slot", "found"


def draw_example(
    paper: Paper, example: Mapping[str, Any], places: Sequence[tuple[int, int, int]] = ()
) -> None:
    """Draw the packs of an example, then the settings that it is checked with.

    Args:
        paper: where to draw.
        example: columns by name, and settings.
        places: pack, start and stop of each place of the fault.
    """
    columns = {name: rows for name, rows in example.items() if name not in (*_TOLD_APART, _SHARDS)}
    n_packs = len(columns.get("input_ids", []))
    for pack in range(min(n_packs, _MAX_PACKS)):
        if pack:
            paper.blank()
        if n_packs > 1:
            paper.line((f"pack {pack}", "dim"), indent=2)
        row = {name: rows[pack] for name, rows in columns.items() if pack < len(rows)}
        _draw_pack(paper, row, [(start, stop) for number, start, stop in places if number == pack])
    if n_packs > _MAX_PACKS:
        paper.line(f"{paper.glyphs.ellipsis} {n_packs - _MAX_PACKS} packs more", indent=2)
    if _SHARDS in example:
        rows = ", ".join(f"shard {i}: {n}" for i, n in enumerate(example[_SHARDS]))
        paper.hang((_SHARDS, "dim"), (f"packs in {rows}", "dim"), indent=2, column=10)
    for name in _TOLD_APART:
        settings = ", ".join(f"{key} = {_toml(value)}" for key, value in example.get(name, {}).items())
        if settings:
            paper.hang((name, "dim"), (paper.show(settings), "dim"), indent=2, column=10)


@dataclass(frozen=True, slots=True)
class _Grid:
    """Lay cells under one another.

    Args:
        name_width: columns of the names.
        width: columns of a cell.
        starts: slots before which a bar stands.
    """

    name_width: int
    width: int
    starts: Sequence[int]

    def line(self, paper: Paper, name: str, cells: Sequence[str], first: int, stop: int) -> Text:
        """Return the cells of slots `[first, stop)`; segments differ in colour."""
        is_aside = name in (_SLOTS, _FAULTS)
        text = Text("  ").append(name.ljust(self.name_width), "dim" if is_aside else "bold")
        for i in range(first, stop):
            if i in self.starts and i > first:
                text.append(f" {paper.glyphs.bar}", "dim")
            segment = sum(1 for start in self.starts if start <= i)
            style = _SEGMENT_STYLES[segment % len(_SEGMENT_STYLES)]
            if is_aside or cells[i] == str(_IGNORED):
                style = "bold red" if name == _FAULTS else "dim"
            text.append(cells[i].rjust(self.width), style)
        return text


def _draw_pack(paper: Paper, row: Mapping[str, Any], places: Sequence[tuple[int, int]]) -> None:
    n_tokens = len(row["input_ids"])
    starts = _segment_starts(row, n_tokens)
    cells = {name: _cells(name, values, n_tokens, starts) for name, values in row.items()}
    drawn = {_SLOTS: [str(i) for i in range(n_tokens)]}
    drawn |= {name: column for name, column in cells.items() if column is not None}
    if any(start < stop for start, stop in places):
        is_faulty = [any(start <= i < stop for start, stop in places) for i in range(n_tokens)]
        drawn[_FAULTS] = [paper.glyphs.fault if faulty else "" for faulty in is_faulty]
    width = max((len(cell) for column in drawn.values() for cell in column), default=1) + 1
    grid = _Grid(max(map(len, (*row, *drawn))) + 2, width, starts)
    per_line = max(4, (paper.width - 2 - grid.name_width - 2 * len(starts)) // width)
    for first in range(0, n_tokens, per_line):
        for name, column in drawn.items():
            paper.raw(grid.line(paper, name, column, first, min(n_tokens, first + per_line)))
    for name, values in row.items():
        if cells[name] is None:
            paper.hang((name, "bold"), paper.show(_shape(values)), indent=2, column=grid.name_width)


def _segment_starts(row: Mapping[str, Any], n_tokens: int) -> list[int]:
    """Return where segments begin, by the plainest record that the example has."""
    if "seq_lens" in row:
        ends = [0]
        for length in row["seq_lens"]:
            ends.append(ends[-1] + int(length))
        return [end for end in ends[1:] if 0 < end < n_tokens]
    if "cu_seqlens" in row:
        return [int(offset) for offset in row["cu_seqlens"] if 0 < offset < n_tokens]
    for name in ("segment_ids", "attention_mask"):
        values = row.get(name)
        if values is not None and len(values) == n_tokens:
            return [i for i in range(1, n_tokens) if values[i] != values[i - 1]]
    return []


def _cells(name: str, values: Any, n_tokens: int, starts: Sequence[int]) -> list[str] | None:
    """Return one cell per token, or none for a column that cannot be laid under the tokens."""
    if not isinstance(values, list | tuple):
        return None
    if name in ("seq_lens", "cu_seqlens"):
        places = [0, *starts]
        if name == "cu_seqlens" or len(values) > len(places) or sum(values) > n_tokens:
            return None
        cells = [""] * n_tokens
        for place, value in zip(places, values, strict=False):
            cells[place] = _number(value)
        return cells
    if len(values) == n_tokens and not any(isinstance(v, list | tuple) for v in values):
        return [_number(value) for value in values]
    return None


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _shape(values: Any) -> str:
    if isinstance(values, list | tuple) and values and isinstance(values[0], list | tuple):
        rows = ["".join("1" if cell else "." for cell in row) for row in values]
        return " ".join(rows)
    return json.dumps(values, default=str)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(v)}" for key, v in value.items()) + " }"
    return json.dumps(value, default=str)
