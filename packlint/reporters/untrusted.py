"""File names, decoded text and messages come from anyone: show every character, obey none."""

from __future__ import annotations

__all__ = ["clipped", "visible"]

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, *, unicode: bool = True) -> str:
    r"""Return the text with control, bidi and other invisible characters written out.

    `\x1b` cannot start an escape sequence and `\u202e` cannot turn a line around once they are spelled.

    Args:
        text: anything.
        unicode: whether the terminal can show more than ASCII.
    """
    if text.isprintable() and (unicode or text.isascii()):
        return text
    return "".join(c if _is_plain(c, unicode) else _spelled(c) for c in text)


def clipped(text: str, most: int) -> str:
    """Return the text made visible, and cut with an ellipsis where it is longer than `most` characters."""
    shown = visible(text[: most + 1])
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _is_plain(character: str, unicode: bool) -> bool:
    return character.isprintable() and (unicode or character.isascii())


def _spelled(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
