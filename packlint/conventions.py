"""What a run is told of its data beside the data: configuration and tokenizer → conventions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from packlint.config import RunConfig
from packlint.model.markers import ChatMarkers, end_of_turn_spec
from packlint.model.spec import DatasetSpec
from packlint.readers.shard import Settings

__all__ = ["Conventions", "conventions_of", "reader_settings"]


@dataclass(frozen=True, slots=True, eq=False)
class Conventions:
    """Hold what a run is told.

    Args:
        tokenizer: a `packlint.chat.tokenizer.Tokenizer`, or none.
        chat: how a chat is written in ids, or none.
        no_chat: why nobody can tell how, or empty.
        spec: ids and lengths, as the configuration says, then the chat format, then the tokenizer.
    """

    tokenizer: Any
    chat: ChatMarkers | None
    no_chat: str
    spec: DatasetSpec


def conventions_of(config: RunConfig) -> Conventions:
    """Return what a configuration says, and the tokenizer that it names.

    Raises:
        ConfigError: `[chat]` makes no sense.
        UsageError: the tokenizer cannot be read.
    """
    tokenizer = None
    if config.tokenizer is not None:
        from packlint.chat.tokenizer import load_tokenizer  # the `tokenizers` package is an extra

        tokenizer = load_tokenizer(config.tokenizer)
    chat, no_chat = _chat(config, tokenizer)
    of_tokenizer = tokenizer.spec if tokenizer else DatasetSpec()
    spec = config.spec.or_else(end_of_turn_spec(chat)).or_else(of_tokenizer)
    return Conventions(tokenizer, chat, no_chat, spec)


def _chat(config: RunConfig, tokenizer: Any) -> tuple[ChatMarkers | None, str]:
    if tokenizer is None and not (config.chat.get("format") or config.chat.get("markers")):
        return None, ""
    from packlint.chat.declared import find_chat

    chat, why = find_chat(config.chat, tokenizer)
    return chat, "" if chat else why


def reader_settings(config: RunConfig, manifest: DatasetSpec | None = None) -> Settings:
    """Return what readers are told of the user's declarations, and after them of a manifest's."""
    spec = config.spec.or_else(manifest or DatasetSpec())
    return Settings(
        columns=config.columns,
        max_seq_len=spec.max_seq_len.value if spec.max_seq_len else None,
        token_dtype=spec.token_dtype.value if spec.token_dtype else None,
        eos_ids=spec.eos_ids.value if spec.eos_ids else (),
        bos_id=spec.bos_id.value if spec.bos_id else None,
    )
