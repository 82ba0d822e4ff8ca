"""All built-in chat formats by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from packlint.chat.chat_format import ChatFormat
from packlint.chat.text_formats import TEXT_FORMATS
from packlint.chat.token_formats import TOKEN_FORMATS

__all__ = ["FORMATS"]

FORMATS: Mapping[str, ChatFormat] = MappingProxyType(
    {chat.name: chat for chat in (*TOKEN_FORMATS, *TEXT_FORMATS)}
)
