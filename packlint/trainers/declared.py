"""A trainer contract spelled out in the configuration, for trainers that the table does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from difflib import get_close_matches
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from packlint.errors import ConfigError
from packlint.model.contract import (
    BoundarySource,
    BoundaryTargets,
    BoundaryToken,
    CutPolicy,
    LabelAlignment,
    TrainerContract,
)

__all__ = ["declared_contract"]

_TABLE = "[trainer_contract]"
_NAMED_BY_US = ("name", "title", "source")
_KEYS = tuple(field.name for field in fields(TrainerContract) if field.name not in _NAMED_BY_US)
_ENUMS: Mapping[str, type[StrEnum]] = MappingProxyType(
    {
        "label_alignment": LabelAlignment,
        "boundary_targets": BoundaryTargets,
        "cut_policy": CutPolicy,
        "boundary_token": BoundaryToken,
    }
)
_COUNTS = ("extra_slots_per_pack", "extra_slots_per_segment", "prompt_slack_tokens")
_OPEN = ("shuffles",)
"""Flags that may be unknown: none says so, as leaving them out does."""
_SOURCES = tuple(source for source in BoundarySource if source is not BoundarySource.REFERENCE)
"""What a trainer can read; it never sees the reference."""


def declared_contract(options: Mapping[str, object]) -> TrainerContract:
    """Build the contract named `declared` from a `[trainer_contract]` table.

    Args:
        options: field names of `TrainerContract`, but for name, title and source; enums as strings,
            `isolates_by` as a list of strings.

    Raises:
        ConfigError: a key or a value is unknown; the message names the key and what is allowed.
    """
    values: dict[str, Any] = {key: _value(key, value) for key, value in options.items()}
    return TrainerContract(
        name="declared",
        title="the trainer that the configuration declares",
        source=f"configuration, {_TABLE}",
        **values,
    )


def _value(key: str, value: object) -> object:
    if key not in _KEYS:
        near = get_close_matches(key, _KEYS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"{_TABLE} has no key {key!r}{hint} (keys: {', '.join(_KEYS)})")
    if key == "isolates_by":
        return _sources(key, value)
    if key in _ENUMS:
        return _member(key, value, tuple(_ENUMS[key]))
    if key in _COUNTS:
        return _count(key, value)
    if key in _OPEN and value is None:
        return None
    return _flag(key, value)


def _sources(key: str, value: object) -> tuple[StrEnum, ...]:
    if not isinstance(value, list | tuple):
        raise _wrong(key, value, f"a list of: {', '.join(_SOURCES)}")
    sources = tuple(_member(key, item, _SOURCES) for item in value)
    if len(set(sources)) != len(sources):
        raise _wrong(key, value, "a list that names each source once")
    return sources


def _member(key: str, value: object, allowed: tuple[StrEnum, ...]) -> StrEnum:
    for member in allowed:
        if isinstance(value, str) and value == member.value:
            return member
    raise _wrong(key, value, f"one of: {', '.join(allowed)}")


def _count(key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(key, value, "a whole number, 0 or more")
    return value


def _flag(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(key, value, "true or false")
    return value


def _wrong(key: str, value: object, allowed: str) -> ConfigError:
    return ConfigError(f"{_TABLE} {key} = {value!r}: must be {allowed}")
