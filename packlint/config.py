"""packlint.toml or [tool.packlint]: parsed, checked, and turned into plain settings.

Unknown keys are errors with a suggestion. Values given on the command line win.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from packlint.errors import ConfigError
from packlint.model.contract import LabelAlignment
from packlint.model.spec import DatasetSpec, Known, Origin, Policy, TargetPolicy

__all__ = [
    "Ignore",
    "RunConfig",
    "find_config",
    "find_config_file",
    "parse_config",
    "policy_from",
    "spec_from",
]

FILE_NAME = "packlint.toml"


@dataclass(frozen=True, slots=True)
class Ignore:
    """Turn rules off, with the reason that the report shows.

    Args:
        rule: a code or prefix.
        reason: why.
    """

    rule: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """Hold what the user declared.

    Args:
        profile: name of a profile, or none to infer one.
        policy: values that replace those of the profile.
        trainer: name of a trainer contract, or none to take the format's own.
        trainer_contract: a contract written in the config; used by the trainer `declared`.
        tokenizer: tokenizer file or folder, or none.
        manifest: manifest of all shards, or none to look beside and above them.
        reference: the unpacked samples that the packs were made from: paths.
        by: metadata columns to read.
        fail_on: lowest severity that fails the run.
        select: codes or prefixes of the rules to run.
        ignore: rules that are off, with reasons.
        spec: declared conventions.
        chat: how chats are written: a format by name, or markers.
        rules: options and severity by rule code.
        columns: stored column by canonical name.
        source: where this was read, or empty.
    """

    profile: str | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    trainer: str | None = None
    trainer_contract: Mapping[str, Any] = field(default_factory=dict)
    tokenizer: str | None = None
    manifest: str | None = None
    reference: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    fail_on: str = "error"
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[Ignore, ...] = ()
    spec: DatasetSpec = field(default_factory=DatasetSpec)
    chat: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    source: str = ""


def find_config(start: Path) -> RunConfig:
    """Return the nearest configuration at or above a folder; an empty one when there is none.

    Raises:
        ConfigError: the file is not valid.
    """
    path = find_config_file(start)
    return read_config(path) if path else RunConfig()


def find_config_file(start: Path) -> Path | None:
    """Return the nearest configuration file at or above a folder.

    Raises:
        ConfigError: a pyproject.toml on the way is not valid.
    """
    for folder in (start, *start.parents):
        path = folder / FILE_NAME
        if path.is_file():
            return path
        project = folder / "pyproject.toml"
        if project.is_file() and "packlint" in _load(project).get("tool", {}):
            return project
    return None


def read_config(path: Path) -> RunConfig:
    """Return the configuration of one file.

    Raises:
        ConfigError: the file cannot be read or is not valid.
    """
    table, source = _load(path), path.name
    if path.name == "pyproject.toml":
        table, source = table.get("tool", {}).get("packlint", {}), f"{path.name} [tool.packlint]"
    config = parse_config(table, source)
    tokenizer, manifest = (
        None if file is None else str(path.parent / file) for file in (config.tokenizer, config.manifest)
    )
    reference = tuple(file if "://" in file else str(path.parent / file) for file in config.reference)
    return replace(config, tokenizer=tokenizer, manifest=manifest, reference=reference)


def parse_config(table: Mapping[str, Any], source: str = "configuration") -> RunConfig:
    """Return settings from a parsed table.

    Raises:
        ConfigError: a key is unknown or a value is of the wrong type; all faults at once.
    """
    from packlint.config_schema import validate  # pydantic costs 60 ms: only when there is something to check

    plain = validate(table, source)
    profile = plain["profile"]
    return RunConfig(
        profile=profile.get("extends") if isinstance(profile, dict) else profile,
        policy={k: v for k, v in profile.items() if k != "extends"} if isinstance(profile, dict) else {},
        trainer=plain["trainer"] or ("declared" if plain["trainer_contract"] else None),
        trainer_contract=plain["trainer_contract"],
        tokenizer=plain["tokenizer"],
        manifest=plain["manifest"],
        reference=_several(plain["reference"]),
        by=_several(plain["by"]),
        fail_on=plain["fail_on"],
        select=tuple(plain["select"]),
        ignore=tuple(Ignore(e) if isinstance(e, str) else Ignore(**e) for e in plain["ignore"]),
        spec=spec_from(plain["spec"], Origin.CONFIG),
        chat=plain["chat"],
        rules=plain["rules"],
        columns=plain["columns"],
        source=source,
    )


def _several(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def spec_from(values: Mapping[str, Any], origin: Origin, why: str = "") -> DatasetSpec:
    """Return a spec whose values all have one origin."""
    known: dict[str, Any] = {}
    for name, value in values.items():
        if value is None:
            continue
        if name == "label_alignment":
            value = LabelAlignment(value)
        known[name] = Known(tuple(value) if isinstance(value, list) else value, origin, why)
    return DatasetSpec(**known)


def policy_from(name: str, table: Mapping[str, Any], changes: Mapping[str, Any]) -> Policy:
    """Return the policy of a profile table, with the user's changes.

    Raises:
        ConfigError: an unknown key.
    """
    values = {**table.get("policy", {}), **changes}
    known = {f.name for f in fields(Policy)} - {"name", "off", "severities"}
    for key in values:
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known))}"
            raise ConfigError(f"profile {name}: unknown policy {key}{hint}")
    if "targets" in values:
        values["targets"] = _target_policy(name, values["targets"])
    severities = {
        code: entry["severity"] for code, entry in table.get("rules", {}).items() if "severity" in entry
    }
    return Policy(
        name=name,
        off=frozenset(code for code, severity in severities.items() if severity == "off"),
        severities={code: severity for code, severity in severities.items() if severity != "off"},
        **values,
    )


def _target_policy(profile: str, value: str) -> TargetPolicy:
    try:
        return TargetPolicy(value)
    except ValueError:
        allowed = ", ".join(TargetPolicy)
        raise ConfigError(f"profile {profile}: targets = {value!r}; allowed are {allowed}") from None


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path.name}: not valid TOML: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: cannot be read: {error}") from None
