"""The shape of a manifest; all faults are reported at once."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    StrictInt,
    ValidationError,
)

from packlint.config_schema import SpecTable
from packlint.errors import ConfigError

__all__ = ["validate"]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _SpecEntry(SpecTable):
    """Conventions, as in `[spec]`; the row length stands among the fields."""

    max_seq_len: None = None


class _Tool(_Table):
    name: str
    version: str


class _Counts(_Table):
    n_packs: NonNegativeInt | None = None
    n_segments: NonNegativeInt | None = None
    n_tokens: NonNegativeInt | None = None
    n_padding: NonNegativeInt | None = None
    n_targets: NonNegativeInt | None = None


def _inside(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/") or "\\" in path or "\0" in path:
        raise ValueError("must be a path below the manifest's folder, parted by /")
    return path


class _Shard(_Counts):
    path: Annotated[str, AfterValidator(_inside)]
    content: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None


class _ManifestFile(_Table):
    schema_: Literal["packlint/manifest/v1"] = Field(alias="schema")
    tool: _Tool | None = None
    tokenizer: str | None = None
    max_seq_len: PositiveInt | None = None
    boundary_tokens: list[StrictInt] | None = None
    packing_algorithm: str | None = None
    cross_document_attention: bool | None = None
    attention_mask_type: str | None = None
    loss_mask_rule: str | None = None
    padding_fraction: Annotated[float, Field(ge=0, le=1)] | None = None
    samples_per_pack: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    distribution_change: str | None = None
    spec: _SpecEntry = Field(default_factory=_SpecEntry)
    measured: _Counts = Field(default_factory=_Counts)
    shards: list[_Shard] = []


def validate(table: object, name: str) -> dict[str, Any]:
    """Return the table with defaults filled in.

    Raises:
        ConfigError: naming every wrong key and value.
    """
    try:
        return _ManifestFile.model_validate(table).model_dump()
    except ValidationError as error:
        lines = [_explain(entry) for entry in error.errors()]
        raise ConfigError(f"{name}: " + "; ".join(lines)) from None


def _explain(entry: Any) -> str:
    path = [str(part) for part in entry["loc"]]
    where = ".".join(path) or "the file"
    if entry["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in _ManifestFile.model_fields.items()]
        close = difflib.get_close_matches(path[-1], known, n=1)
        return f"unknown key {where}" + (f", did you mean {close[0]}?" if close else "")
    return f"{where}: {entry['msg'][0].lower()}{entry['msg'][1:]}"
