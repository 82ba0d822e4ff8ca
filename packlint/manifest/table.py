"""The form v1 of a manifest: parsed, checked, and taken apart into fields, conventions and counts.

Its schema is `packlint/reporters/schema/manifest-v1.json`. All keys but `schema` may be left out, so that a
manifest can be written by hand; unknown keys are errors.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packlint.config import spec_from
from packlint.errors import ConfigError, UnreadableError, UsageError
from packlint.model.manifest import FIELDS
from packlint.model.spec import DatasetSpec, Origin
from packlint.readers.source import Source

__all__ = ["FILE_NAME", "SCHEMA", "ManifestTable", "parse_manifest", "read_manifest", "tokenizer_version"]

FILE_NAME = "packlint-manifest.json"
SCHEMA = "packlint/manifest/v1"

_MAX_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class ManifestTable:
    """Hold what a manifest says.

    Args:
        fields: declared values by name of `FIELDS`, those left open left out.
        spec: conventions, with origin `manifest`.
        counts: counts of the whole set.
        shards: counts and `content` by path of the shard, relative to the manifest's folder.
    """

    fields: Mapping[str, Any]
    spec: DatasetSpec
    counts: Mapping[str, int]
    shards: Mapping[str, Mapping[str, Any]]


def read_manifest(source: Source) -> ManifestTable:
    """Return the manifest in a file.

    Raises:
        ConfigError: it cannot be read, is no JSON, or says what packlint does not understand.
    """
    try:
        text = source.read(0, _MAX_BYTES + 1)
    except UnreadableError as error:
        raise ConfigError(f"{source.name}: {error}") from None
    if len(text) > _MAX_BYTES:
        raise ConfigError(f"{source.name}: larger than {_MAX_BYTES >> 20} MiB")
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{source.name}: not valid JSON: {error}") from None
    return parse_manifest(table, source.name)


def parse_manifest(table: object, name: str = FILE_NAME) -> ManifestTable:
    """Return what a parsed manifest says.

    Raises:
        ConfigError: a key is unknown or a value is of the wrong kind; all faults at once.
    """
    from packlint.manifest.schema import validate  # pydantic costs 60 ms: only where there is a manifest

    plain = validate(table, name)
    fields = {field: plain[field] for field in FIELDS if plain[field] is not None}
    spec = {**plain["spec"], "max_seq_len": plain["max_seq_len"]}
    if spec["eos_ids"] is None and spec["bos_id"] is None and plain["boundary_tokens"]:
        spec["eos_ids"] = plain["boundary_tokens"]
    shards = {entry["path"]: entry for entry in plain["shards"]}
    return ManifestTable(
        fields=fields,
        spec=spec_from(spec, Origin.MANIFEST, name),
        counts=_known(plain["measured"]),
        shards={path: _known(entry) for path, entry in shards.items()},
    )


def tokenizer_version(path: str) -> str:
    """Return a fingerprint of a tokenizer: the SHA-256 of its `tokenizer.json`.

    Raises:
        UsageError: the file is not there.
    """
    file = Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
    try:
        return f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
    except OSError as error:
        raise UsageError(f"tokenizer {path}: cannot be read: {error.strerror}") from None


def _known(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None and key != "path"}
