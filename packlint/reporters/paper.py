"""A sheet of text of one width, with or without colour: the only place where reporters draw with rich.

Nothing is ever parsed as markup. Untrusted strings go through `Paper.show`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from packlint.reporters.untrusted import visible

__all__ = ["ASCII", "UNICODE", "Glyphs", "Paper", "Piece"]

Piece = str | tuple[str, str] | Text
"""Text, text with a style, or a finished `Text`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyphs:
    """Name the signs that a report uses."""

    clean: str
    error: str
    warning: str
    info: str
    dot: str
    ellipsis: str
    bar: str
    padding: str
    target: str
    fault: str
    cut_open: str
    cut_close: str
    rule: str


UNICODE = Glyphs(
    clean="✓",
    error="✗",
    warning="!",
    info="i",
    dot="·",
    ellipsis="…",
    bar="│",
    padding="·",
    target="▔",
    fault="▲",
    cut_open="»",
    cut_close="«",
    rule="─",
)
ASCII = Glyphs(
    clean="ok",
    error="x",
    warning="!",
    info="i",
    dot="-",
    ellipsis="...",
    bar="|",
    padding=".",
    target="^",
    fault="!",
    cut_open=">>",
    cut_close="<<",
    rule="-",
)


@dataclass(slots=True)
class Paper:
    """Collect lines.

    Args:
        width: columns.
        color: whether to colour; no meaning hangs on it.
        unicode: whether more than ASCII can be shown.
    """

    width: int = 100
    color: bool = False
    unicode: bool = True
    _lines: list[Text] = field(default_factory=list, repr=False)

    @property
    def glyphs(self) -> Glyphs:
        """The signs to use."""
        return UNICODE if self.unicode else ASCII

    def show(self, text: str) -> str:
        """Return an untrusted string with nothing left in it that a terminal obeys."""
        return visible(text, unicode=self.unicode)

    def blank(self) -> None:
        """End a block; two blank lines never follow each other."""
        if self._lines and self._lines[-1].plain:
            self._lines.append(Text())

    def line(self, *pieces: Piece, indent: int = 0) -> None:
        """Write a paragraph; further lines are indented like the first."""
        self.hang("", *pieces, indent=indent, column=0)

    def hang(self, lead: Piece, *pieces: Piece, indent: int = 0, column: int = 0) -> None:
        """Write a lead and, from `column` on, a paragraph that hangs beside it.

        A lead that does not fit its column gets a line of its own.
        """
        first = _text(lead)
        body = _text(*pieces)
        margin = indent + column
        if column and len(first.plain.rstrip()) >= column:
            self._lines.extend(self._wrapped(first, indent))
            first = Text()
        wrapped = self._wrapped(body, margin) or [Text()]
        if first.plain:
            head = Text(" " * indent).append_text(first)
            head.append(" " * max(0, margin - head.cell_len))
            head.append_text(wrapped[0][margin:] if wrapped[0].plain else Text())
            wrapped[0] = head
        self._lines.extend(wrapped)

    def unbroken(self, *pieces: Piece, indent: int = 0) -> None:
        """Write a line that is to be copied: never wrapped, whatever the width."""
        self._lines.append(Text(" " * indent).append_text(_text(*pieces)))

    def raw(self, line: Text) -> None:
        """Write a line that was laid out already."""
        self._lines.append(line)

    def text(self) -> str:
        """Return all lines, the last one ended."""
        target = io.StringIO()
        console = Console(
            file=target,
            width=self.width,
            force_terminal=self.color,
            color_system="standard" if self.color else None,
            no_color=not self.color,
            legacy_windows=False,
            markup=False,
            highlight=False,
            emoji=False,
            _environ={},
        )
        for line in self._lines:
            line.rstrip()
            console.print(line, soft_wrap=True)
        return target.getvalue()

    def _wrapped(self, body: Text, margin: int) -> list[Text]:
        room = max(16, self.width - margin)
        console = Console(file=io.StringIO(), width=room, legacy_windows=False, _environ={})
        lines = []
        for part in body.wrap(console, room):
            part.rstrip()
            lines.append(Text(" " * margin).append_text(part))
        return lines


def _text(*pieces: Piece) -> Text:
    text = Text()
    for piece in pieces:
        if isinstance(piece, Text):
            text.append_text(piece)
        elif isinstance(piece, tuple):
            text.append(piece[0], piece[1])
        else:
            text.append(piece)
    return text
