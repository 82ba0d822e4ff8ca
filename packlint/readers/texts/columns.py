"""Which columns of a table hold text to be tokenized."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from packlint.readers.layouts import ColumnKind, Element

__all__ = ["TextColumns", "TextKind", "find_text"]

_TEXT = ColumnKind(Element.STRING, 0)
_MESSAGES = ColumnKind(Element.STRUCT, 1)
_EXTRAS = ("tools", "chat_template_kwargs")


class TextKind(StrEnum):
    """What a row of text is; each is the name of the column that says so."""

    TEXT = "text"
    MESSAGES = "messages"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Name the columns of text.

    Args:
        kind: what a row is.
        names: its columns.
        is_chat: they hold messages, for a chat template to write.
        extras: columns that a chat template is told beside them.
    """

    kind: TextKind
    names: tuple[str, ...]
    is_chat: bool
    extras: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """Their names in words."""
        return " and ".join(self.names)


def find_text(kinds: Mapping[str, ColumnKind]) -> TextColumns | None:
    """Return the columns of text, the first that there are of: prompt and completion, messages, text."""
    extras = tuple(name for name in _EXTRAS if name in kinds)
    completion = kinds.get("completion")
    if completion in (_TEXT, _MESSAGES) and kinds.get("prompt") == completion:
        return TextColumns(TextKind.PROMPT, ("prompt", "completion"), completion == _MESSAGES, extras)
    if kinds.get("messages") == _MESSAGES:
        return TextColumns(TextKind.MESSAGES, ("messages",), True, extras)
    return TextColumns(TextKind.TEXT, ("text",), False) if kinds.get("text") == _TEXT else None
