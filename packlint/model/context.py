"""What is known of the shard that a batch comes from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from packlint.model.contract import TrainerContract
from packlint.model.markers import ChatMarkers
from packlint.model.spec import DatasetSpec, Policy

__all__ = ["MaskKind", "PaddingEvidence", "ShardContext", "Unit"]


class Unit(StrEnum):
    """What one row of the shard is.

    `pair`: a chosen and a rejected sample, side by side; each is a sequence of its own for the trainer.
    """

    PACK = "pack"
    SAMPLE = "sample"
    DOCUMENT = "document"
    PAIR = "pair"


class PaddingEvidence(StrEnum):
    """How padding was known.

    `structure`: a mask, length, segment id or sidecar says so, or the format cannot hold padding.
    `declared_id`: a trailing run of the known pad id; likely, not certain.
    `unknown`: nothing tells padding from tokens.
    """

    STRUCTURE = "structure"
    DECLARED_ID = "declared_id"
    UNKNOWN = "unknown"


class MaskKind(StrEnum):
    """What the shard stores of the attention mask."""

    NONE = "none"
    BINARY = "binary"
    NUMBERED = "numbered"
    DENSE = "dense"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardContext:
    """State what is known of the shard that a batch comes from.

    Args:
        name: path relative to the inputs, as the report shows it.
        index: place of the shard among all shards sorted by name.
        unit: what one row is.
        spec: conventions, each with its origin.
        contract: how the trainer reads it; none when no trainer is known.
        policy: what was wanted.
        has_sample_ids: segments can be led back to source samples.
        has_manifest: a manifest declares how the shard was packed.
        has_rival: another shard of the run may hold the same content.
        chat: how a chat is written in ids; none when no chat format is known.
        no_chat: why none is known, where something was looked at; or empty.
        shares_prompts: both sides of a pair go on from one stored prompt, in which they cannot differ.
    """

    name: str
    index: int
    unit: Unit
    spec: DatasetSpec
    contract: TrainerContract | None
    policy: Policy
    has_sample_ids: bool = False
    has_manifest: bool = False
    has_rival: bool = True
    chat: ChatMarkers | None = None
    no_chat: str = ""
    shares_prompts: bool = False
