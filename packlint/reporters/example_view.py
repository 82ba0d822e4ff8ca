"""The packs of a rule's example, drawn with their columns aligned.

    slot          0     1     2 │   3     4     5
    input_ids     1    11     2 │   1    21     2
    labels     -100    11     2 │   1    21     2
    seq_lens      3             │   3
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text

from packlint.reporters.paper import Paper

__all__ = ["draw_example"]

_TOLD_APART = ("config", "layout")
_IGNORED = -100
_SEGMENT_STYLES = ("green", "magenta", "blue", "yellow")
_MAX_PACKS = 4


def draw_example(paper: Paper, example: Mapping[str, Any]) -> None:
    """Draw the packs of an example, then the settings that it is checked with."""
    columns = {name: rows for name, rows in example.items() if name not in _TOLD_APART}
    n_packs = len(columns.get("input_ids", []))
    for pack in range(min(n_packs, _MAX_PACKS)):
        if pack:
            paper.blank()
        _draw_pack(paper, {name: rows[pack] for name, rows in columns.items() if pack < len(rows)}, pack, n_packs)
    if n_packs > _MAX_PACKS:
        paper.line(f"{paper.glyphs.ellipsis} {n_packs - _MAX_PACKS} packs more", indent=2)
    for name in _TOLD_APART:
        for key, value in example.get(name, {}).items():
            paper.hang(name, f"{key} = {_toml(value)}", indent=2, column=8)


def _draw_pack(paper: Paper, row: Mapping[str, Any], pack: int, n_packs: int) -> None:
    n_tokens = len(row["input_ids"])
    starts = _segment_starts(row, n_tokens)
    name_width = max(len(name) for name in (*row, "slot")) + 2
    cells = {name: _cells(name, values, n_tokens, starts) for name, values in row.items()}
    drawn = {"slot": [str(i) for i in range(n_tokens)], **{n: c for n, c in cells.items() if c is not None}}
    width = max((len(cell) for line in drawn.values() for cell in line), default=1) + 1
    per_line = max(4, (paper.width - 2 - name_width - 2 * len(starts)) // width)
    if n_packs > 1:
        paper.line((f"pack {pack}", "dim"), indent=2)
    for first in range(0, n_tokens, per_line):
        stop = min(n_tokens, first + per_line)
        for name, line in drawn.items():
            paper.raw(_line(paper, name.ljust(name_width), line, (first, stop), width, starts))
    for name, values in row.items():
        if cells[name] is None:
            paper.hang(name, paper.show(_shape(values)), indent=2, column=name_width)


def _line(
    paper: Paper, name: str, line: Sequence[str], span: tuple[int, int], width: int, starts: Sequence[int]
) -> Text:
    first, stop = span
    is_slot = name.startswith("slot")
    text = Text("  ").append(name, "dim" if is_slot else "bold")
    for i in range(first, stop):
        if i in starts and i > first:
            text.append(f" {paper.glyphs.bar}", "dim")
        segment = sum(1 for start in starts if start <= i)
        ignored = line[i] == str(_IGNORED)
        style = "dim" if is_slot or ignored else _SEGMENT_STYLES[segment % len(_SEGMENT_STYLES)]
        text.append(line[i].rjust(width), style)
    return text


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
