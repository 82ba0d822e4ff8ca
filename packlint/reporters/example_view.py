"""The packs of a rule's example, drawn with their columns aligned.

slot          0     1     2 │   3     4     5
input_ids     1    11     2 │   1    21     2
chat       user         end │ asst        end      markers of the chat format, where there is one
labels     -100    11     2 │   1    21     2
seq_lens      3             │   3
found                       │   ▲
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from packlint.reporters.paper import Paper

__all__ = ["draw_example"]

_TOLD_APART = ("config", "layout", "manifest")
_SHARDS, _REFERENCE, _METADATA = "shards", "reference", "metadata"
_IGNORED = -100
_SEGMENT_STYLES = ("green", "magenta", "blue", "yellow")
_MAX_PACKS = 4
_MAX_LINES = 8
_SLOTS, _CHAT, _FAULTS = "slot", "chat", "found"
_MARKER_NAMES = {"system": "sys", "assistant": "asst", "separator": "sep"}
_SPELLING = "end_as_text"
Places = Sequence[tuple[int, int]]


def draw_example(
    paper: Paper, example: Mapping[str, Any], places: Sequence[tuple[int, int, int]] = ()
) -> None:
    """Draw the packs of an example, then the settings that it is checked with.

    Args:
        paper: where to draw.
        example: columns by name, and settings.
        places: pack, start and stop of each place of the fault.
    """
    markers = dict(_markers(example.get("config", {}).get("chat", {}).get("markers", {})))
    if _REFERENCE in example:
        paper.line(("reference", "bold"), (", before packing", "dim"), indent=2)
        _draw_rows(paper, _columns(example[_REFERENCE]), (), markers, "sample")
        paper.blank()
        paper.line(("packs", "bold"), indent=2)
    _draw_rows(paper, _columns(example), places, markers, "pack")
    if _SHARDS in example:
        rows = ", ".join(f"shard {i}: {n}" for i, n in enumerate(example[_SHARDS]))
        paper.hang((_SHARDS, "dim"), (f"packs in {rows}", "dim"), indent=2, column=10)
    for name in _TOLD_APART:
        _settings(paper, name, [f"{key} = {_toml(value)}" for key, value in example.get(name, {}).items()])


def _columns(example: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of an example, those of its metadata among them."""
    columns = {
        name: rows for name, rows in example.items() if isinstance(rows, list | tuple) and name != _SHARDS
    }
    return columns | dict(example.get(_METADATA, {}))


def _draw_rows(
    paper: Paper,
    columns: Mapping[str, Any],
    places: Sequence[tuple[int, int, int]],
    markers: Mapping[tuple[int, ...], str],
    word: str,
) -> None:
    """Draw rows, neighbours that are alike only once."""
    rows = [
        (
            {name: values[number] for name, values in columns.items() if number < len(values)},
            [(start, stop) for pack, start, stop in places if pack == number],
        )
        for number in range(len(columns.get("input_ids", [])))
    ]
    starts = [i for i, row in enumerate(rows) if i == 0 or row != rows[i - 1]]
    for start, stop in list(zip(starts, [*starts[1:], len(rows)], strict=True))[:_MAX_PACKS]:
        if start:
            paper.blank()
        if len(rows) > 1:
            title = f"{word} {start}" if stop - start == 1 else f"{word}s {start} to {stop - 1}, all alike"
            paper.line((title, "dim"), indent=2)
        _draw_pack(paper, *rows[start], markers)
    if len(starts) > _MAX_PACKS:
        paper.line(f"{paper.glyphs.ellipsis} {len(rows) - starts[_MAX_PACKS]} {word}s more", indent=2)


def _settings(paper: Paper, name: str, settings: Sequence[str]) -> None:
    """Write settings on one line, or where they do not fit, on a line each."""
    joined = ", ".join(settings)
    lines = [joined] if len(joined) + 12 <= paper.width else settings
    for number, line in enumerate(lines if joined else ()):
        paper.hang(("" if number else name, "dim"), (paper.show(line), "dim"), indent=2, column=10)


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
        is_aside = name in (_SLOTS, _CHAT, _FAULTS)
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


def _draw_pack(
    paper: Paper, row: Mapping[str, Any], places: Places, markers: Mapping[tuple[int, ...], str]
) -> None:
    n_tokens = len(row["input_ids"])
    starts = _segment_starts(row, n_tokens)
    cells = {name: _cells(name, values, n_tokens, starts) for name, values in row.items()}
    drawn = {_SLOTS: [str(i) for i in range(n_tokens)], "input_ids": []}
    if markers:
        drawn[_CHAT] = _marker_cells(row["input_ids"], markers)
    drawn |= {name: column for name, column in cells.items() if column is not None}
    if any(start < stop for start, stop in places):
        is_faulty = [any(start <= i < stop for start, stop in places) for i in range(n_tokens)]
        drawn[_FAULTS] = [paper.glyphs.fault if faulty else "" for faulty in is_faulty]
    width = max((len(cell) for column in drawn.values() for cell in column), default=1) + 1
    grid = _Grid(max(map(len, (*row, *drawn))) + 2, width, starts)
    n_bars = min(len(starts), paper.width // (2 * width))
    per_line = max(4, (paper.width - 2 - grid.name_width - 2 * n_bars) // width)
    shown = _shown_lines(range(0, n_tokens, per_line), places, per_line)
    for number, first in enumerate(shown):
        skipped = first - (shown[number - 1] + per_line) if number else 0
        if skipped > 0:
            paper.line((f"{paper.glyphs.ellipsis} {skipped:,} slots more", "dim"), indent=2)
        stop = min(n_tokens, first + per_line)
        for name, column in drawn.items():
            if first == 0 or any(column[first:stop]):
                paper.raw(grid.line(paper, name, column, first, stop))
    for name, values in row.items():
        if cells[name] is None or (name == "seq_lens" and len(shown) * per_line < n_tokens):
            paper.hang((name, "bold"), paper.show(_shape(values)), indent=2, column=grid.name_width)


def _shown_lines(lines: Sequence[int], places: Places, per_line: int) -> list[int]:
    """Return the first slots of the lines to draw: of long packs, the ends and the first faults."""
    if len(lines) <= _MAX_LINES:
        return list(lines)
    faulty = {start // per_line * per_line for start, stop in places[:2] if start < stop}
    return sorted({*lines[:2], lines[-1], *faulty})


def _markers(table: Mapping[str, Any]) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield the markers of a chat format that are given as ids, each with a short name."""
    for name, value in table.items():
        if not isinstance(value, list | tuple) or name == _SPELLING:
            continue
        for ids in value if value and isinstance(value[0], list | tuple) else [value]:
            if ids and all(isinstance(i, int) for i in ids):
                yield tuple(ids), _MARKER_NAMES.get(name, name)


def _marker_cells(ids: Sequence[int], markers: Mapping[tuple[int, ...], str]) -> list[str]:
    """Return the name of each marker under its first id; of several that stand there, the longest."""
    cells, at = [""] * len(ids), 0
    while at < len(ids):
        here = [marker for marker in markers if tuple(ids[at : at + len(marker)]) == marker]
        longest = max(here, key=len, default=())
        cells[at] = markers.get(longest, "")
        at += max(1, len(longest))
    return cells


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
    if isinstance(values, list | tuple) and len(values) > 1 and len(set(map(str, values))) == 1:
        return f"{len(values)} times {values[0]}"
    return json.dumps(values, default=str)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(v)}" for key, v in value.items()) + " }"
    return json.dumps(value, default=str)
