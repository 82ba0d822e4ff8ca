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


class ConfigFile(_Table):
    """The whole file."""

    profile: str | dict[str, Any] | None = None
    trainer: str | None = None
    trainer_contract: dict[str, Any] = {}
    tokenizer: str | None = None
    fail_on: Literal["error", "warning", "info"] = "error"
    select: list[str] = ["ALL"]
    ignore: list[str | IgnoreEntry] = []
    spec: SpecTable = Field(default_factory=SpecTable)
    rules: dict[str, dict[str, Any]] = {}
    columns: dict[str, str] = {}


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
        table = SpecTable if path[0] == "spec" and len(path) > 1 else ConfigFile
        close = difflib.get_close_matches(path[-1], table.model_fields, n=1)
        return f"unknown key {where}" + (f", did you mean {close[0]}?" if close else "")
    return f"{where}: {entry['msg'][0].lower()}{entry['msg'][1:]}, got {entry['input']!r}"
