"""The shape of the configuration file; all faults are reported at once."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, StrictBool, StrictInt, ValidationError

from packlint.errors import ConfigError

__all__ = ["validate"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class IgnoreEntry(_Table):
    """Turn a rule off, with a reason."""

    rule: str
    reason: str = ""


class SpecTable(_Table):
    """What packlint could not read from the shards; declared values win and are checked."""

    max_seq_len: PositiveInt | None = None
    vocab_size: PositiveInt | None = None
    token_dtype: str | None = None
    pad_id: StrictInt | None = None
    bos_id: StrictInt | None = None
    eos_ids: list[StrictInt] | None = None
    end_of_turn_ids: list[StrictInt] | None = None
    max_sample_len: PositiveInt | None = None
    ignore_index: StrictInt | None = None
    label_alignment: Literal["unshifted", "preshifted"] | None = None
    packed: StrictBool | None = None
    weighted: StrictBool | None = None


Ids = list[StrictInt]
MarkerValue = str | Ids | list[str | Ids]
"""A text, one sequence of ids, or alternatives."""


class MarkPair(_Table):
    """What begins and ends a part of a turn."""

    start: MarkerValue
    stop: MarkerValue


class MarkersTable(_Table):
    """Markers of one's own chat format."""

    system: MarkerValue | None = None
    user: MarkerValue
    assistant: MarkerValue
    tool: MarkerValue | None = None
    begin: MarkerValue | None = None
    end: MarkerValue | None = None
    separator: MarkerValue | None = None
    thinking: MarkPair | None = None
    tool_call: MarkPair | None = None
    tool_result: MarkPair | None = None
    end_as_text: list[Ids] | None = None


class TrainOnTable(_Table):
    """Which parts of answers are meant to be targets; left out: either way is right."""

    thinking: StrictBool | None = None
    tool_calls: StrictBool | None = None


class ChatTable(_Table):
    """How chats are written; by default the tokenizer's chat template tells."""

    format: str | None = None
    markers: MarkersTable | None = None
    ends_at_next_turn: StrictBool = False
    separator_is_due: StrictBool = False
    train_on: TrainOnTable = Field(default_factory=TrainOnTable)


class ConfigFile(_Table):
    """The whole file."""

    profile: str | dict[str, Any] | None = None
    trainer: str | None = None
    trainer_contract: dict[str, Any] = {}
    tokenizer: str | None = None
    manifest: str | None = None
    reference: str | list[str] = []
    by: str | list[str] = []
    fail_on: Literal["error", "warning", "info"] = "error"
    select: list[str] = ["ALL"]
    ignore: list[str | IgnoreEntry] = []
    spec: SpecTable = Field(default_factory=SpecTable)
    chat: ChatTable = Field(default_factory=ChatTable)
    rules: dict[str, dict[str, Any]] = {}
    columns: dict[str, str] = {}


_TABLES: dict[tuple[str, ...], type[_Table]] = {
    ("spec",): SpecTable,
    ("chat",): ChatTable,
    ("chat", "markers"): MarkersTable,
    ("chat", "train_on"): TrainOnTable,
}


def validate(table: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Return the table with defaults filled in.

    Raises:
        ConfigError: naming every wrong key and value.
    """
    try:
        return ConfigFile.model_validate(dict(table)).model_dump()
    except ValidationError as error:
        lines = [_explain(entry) for entry in error.errors()]
        raise ConfigError(f"{source}: " + "; ".join(lines)) from None


def _explain(entry: Any) -> str:
    path = [str(part) for part in entry["loc"]]
    where = ".".join(path)
    if entry["type"] == "extra_forbidden":
        table = _TABLES.get(tuple(path[:-1]), ConfigFile)
        close = difflib.get_close_matches(path[-1], table.model_fields, n=1)
        return f"unknown key {where}" + (f", did you mean {close[0]}?" if close else "")
    return f"{where}: {entry['msg'][0].lower()}{entry['msg'][1:]}, got {entry['input']!r}"
