"""What manifests declare of the shards of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packlint.model.manifest import Manifest
from packlint.model.spec import DatasetSpec

__all__ = ["NO_MANIFESTS", "Declarations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declarations:
    """Say what manifests declare of the shards of a run.

    Args:
        manifests: each with the shards that it stands for.
        specs: conventions by name of the shard, for those that a manifest stands for.
        missing: message by name of each manifest that lists shards which are not there.
    """

    manifests: tuple[Manifest, ...] = ()
    specs: Mapping[str, DatasetSpec] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


NO_MANIFESTS = Declarations()
