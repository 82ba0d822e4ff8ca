"""One pack, token by token: segments, targets, padding and faults, told apart without colour too.

segment 1 · tokens 3:6 · 3 tokens · 2 targets · ✗ ISO001
│ 1 21 2
│   ▔▔ ▔       targets
│      ▲       places of findings
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.text import Text

from packlint.model.batch import PackBatch
from packlint.reporters.paper import Paper
from packlint.reporters.signs import count

__all__ = ["Cells", "Fault", "draw_tokens"]

_SEGMENT_STYLES = ("green", "magenta", "blue", "yellow")
_FAULT_STYLE = "bold red"
_MOST_TOKENS = {"segment": 240, "padding": 24, "nothing": 24}
_HEAD_FRACTION = 0.6
_NEWLINE = "\\n"
_AROUND_FAULT = 8
_MOST_FAULTS_UNFOLDED = 10


@dataclass(frozen=True, slots=True)
class Fault:
    """Name a place of a finding: tokens `[start, stop)` of the pack."""

    code: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Say what to draw for each token of a pack.

    Args:
        words: `str[token]`, ids or pieces of text, made visible.
        gap: what stands between two words.
        faults: places of findings.
        full: fold nothing.
    """

    words: Sequence[str]
    gap: str
    faults: Sequence[Fault] = ()
    full: bool = False


@dataclass(frozen=True, slots=True)
class _Block:
    kind: str
    number: int
    start: int
    stop: int


@dataclass(slots=True)
class _Line:
    """Three lines under construction: tokens, the marks of targets, the marks of faults."""

    tokens: Text = field(default_factory=Text)
    targets: Text = field(default_factory=Text)
    faults: Text = field(default_factory=Text)

    def fits(self, word: str, gap: str, room: int) -> bool:
        """Tell whether a word still fits; an empty line takes any."""
        return not self.tokens.plain or self.tokens.cell_len + len(gap) + cell_len(word) <= room

    def add(self, word: str, style: str, gap: str, target: str, fault: str) -> None:
        """Add a word with the marks below it; a line does not begin with a space."""
        before = gap if self.tokens.plain else ""
        if not self.tokens.plain:
            word = word.lstrip(" ") or word
        self.tokens.append(before).append(word, style)
        width = cell_len(word)
        for line, mark, mark_style in ((self.targets, target, "bold"), (self.faults, fault, _FAULT_STYLE)):
            line.append(" " * cell_len(before)).append(mark * width, mark_style)


def draw_tokens(paper: Paper, batch: PackBatch, cells: Cells) -> None:
    """Draw the blocks of a batch that holds one pack."""
    for block in _blocks(batch):
        paper.blank()
        style = _style(block)
        whole = sorted({f.code for f in cells.faults if f.start <= block.start and f.stop >= block.stop})
        found = f" {paper.glyphs.dot} {paper.glyphs.error} {' '.join(whole)}" if whole else ""
        paper.line((_title(batch, block, paper), style), (found, _FAULT_STYLE), indent=2)
        for line in _lines(paper, batch, block, cells):
            gutter = paper.glyphs.bar if block.kind == "segment" else paper.glyphs.padding
            for text in (line.tokens, line.targets, line.faults):
                if text.plain.strip():
                    paper.raw(Text("  ").append(gutter, style).append(" ").append_text(text))


def _blocks(batch: PackBatch) -> list[_Block]:
    """Return segments, padding and what is neither, in order."""
    segments = zip(batch.segments.starts.tolist(), batch.segments.stops.tolist(), strict=True)
    blocks = [_Block("segment", i, a, b) for i, (a, b) in enumerate(segments)]
    runs = zip(batch.padding.starts.tolist(), batch.padding.stops.tolist(), strict=True)
    blocks += [_Block("padding", -1, a, b) for a, b in runs]
    blocks.sort(key=lambda block: block.start)
    return list(_with_rest(blocks, batch.n_tokens))


def _with_rest(blocks: Sequence[_Block], n_tokens: int) -> Iterator[_Block]:
    place = 0
    for block in blocks:
        if block.start > place:
            yield _Block("nothing", -1, place, block.start)
        yield block
        place = max(place, block.stop)
    if place < n_tokens:
        yield _Block("nothing", -1, place, n_tokens)


def _style(block: _Block) -> str:
    return _SEGMENT_STYLES[block.number % len(_SEGMENT_STYLES)] if block.kind == "segment" else "dim"


def _title(batch: PackBatch, block: _Block, paper: Paper) -> str:
    name = {"segment": f"segment {block.number}", "padding": "padding", "nothing": "in no segment"}[
        block.kind
    ]
    parts = [name, f"tokens {block.start}:{block.stop}", count(block.stop - block.start, "token")]
    if block.kind == "segment" and batch.loss_weight is not None:
        parts.append(count(int(batch.targets_per_segment[block.number]), "target"))
        if outside := int(batch.outside_per_segment[block.number]):
            parts.append(f"{count(outside, 'target')} outside the pack")
    return f" {paper.glyphs.dot} ".join(parts)


def _lines(paper: Paper, batch: PackBatch, block: _Block, cells: Cells) -> Iterator[_Line]:
    room = paper.width - 4
    line = _Line()
    place = block.start
    for start, stop in _shown(block, cells):
        if start > place:
            fold = f"{paper.glyphs.ellipsis} {start - place:,} tokens {paper.glyphs.ellipsis}"
            if not line.fits(fold, " ", room):
                yield line
                line = _Line()
            line.add(fold, "dim", " ", " ", " ")
        for i in range(start, stop):
            word = cells.words[i] if cell_len(cells.words[i]) <= room else cells.words[i][: room // 2]
            if not line.fits(word, cells.gap, room):
                yield line
                line = _Line()
            target, fault = _marks(paper, batch, block, i, cells)
            line.add(word, _style(block) if fault == " " else _FAULT_STYLE, cells.gap, target, fault)
            if word.endswith(_NEWLINE):
                yield line
                line = _Line()
        place = stop
    if line.tokens.plain:
        yield line


def _marks(paper: Paper, batch: PackBatch, block: _Block, i: int, cells: Cells) -> tuple[str, str]:
    """Return the marks under a token; a fault of the whole block stands in its title instead."""
    near = (f for f in cells.faults if f.start <= i < f.stop)
    is_faulty = any(f.start > block.start or f.stop < block.stop for f in near)
    is_target = batch.is_target is not None and bool(batch.is_target[i])
    return paper.glyphs.target if is_target else " ", paper.glyphs.fault if is_faulty else " "


def _shown(block: _Block, cells: Cells) -> list[tuple[int, int]]:
    """Return the token ranges to draw: all, or head, tail and the neighbourhood of faults."""
    most = _MOST_TOKENS[block.kind]
    if cells.full or block.stop - block.start <= most:
        return [(block.start, block.stop)]
    head = int(most * _HEAD_FRACTION)
    wanted = [(block.start, block.start + head), (block.stop - (most - head), block.stop)]
    near = [f for f in cells.faults if block.start < f.stop and f.start < block.stop]
    inner = [f for f in near if f.start > block.start or f.stop < block.stop]
    for fault in inner[:_MOST_FAULTS_UNFOLDED]:
        stop = min(fault.stop, fault.start + _AROUND_FAULT)
        edges = fault.start - _AROUND_FAULT, stop + _AROUND_FAULT
        wanted.append((max(block.start, edges[0]), min(block.stop, edges[1])))
    return _merged(sorted(wanted))


def _merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that touch or leave out less than the fold itself would take."""
    merged: list[tuple[int, int]] = []
    for start, stop in ranges:
        if merged and start <= merged[-1][1] + 4:
            merged[-1] = merged[-1][0], max(stop, merged[-1][1])
        else:
            merged.append((start, stop))
    return merged
