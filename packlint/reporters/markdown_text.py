r"""Untrusted strings in Markdown: shown as they are, never as markup, links, mentions or HTML."""

from __future__ import annotations

import re

from packlint.reporters.untrusted import clipped

__all__ = ["code", "prose", "table"]

_MARKUP = re.compile(r"[\\`*_{}\[\]<>|~#$&]")
_MENTION = re.compile(r"@(?=\w)")
_LINK = re.compile(r"(?i)(:)(?=//)|(?<=\bwww)(\.)")


def prose(text: str, most: int = 500) -> str:
    """Return a string as text within a line or a table cell.

    Args:
        text: anything.
        most: characters to keep.
    """
    shown = _MARKUP.sub(r"\\\g<0>", clipped(text, most))
    shown = _LINK.sub(r"\\\g<0>", shown)
    return _MENTION.sub("@&#8203;", shown)


def code(text: str, most: int = 300) -> str:
    """Return a string as code within a line or a table cell; a pipe would end the cell, so it is spelled."""
    shown = clipped(text, most).replace("|", "\\x7c")
    runs = [len(run) for run in re.findall("`+", shown)]
    fence = "`" * (max(runs, default=0) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a table of finished cells."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
