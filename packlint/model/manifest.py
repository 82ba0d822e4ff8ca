"""What was declared beside the shards, as rules see it; the file itself is read by `packlint.manifest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["FIELDS", "Manifest"]

FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "tokenizer": "tokenizer version",
        "max_seq_len": "sequence length",
        "boundary_tokens": "boundary token",
        "packing_algorithm": "packing algorithm",
        "cross_document_attention": "whether documents may see each other",
        "attention_mask_type": "attention mask type",
        "loss_mask_rule": "loss mask rule",
        "padding_fraction": "padding ratio",
        "samples_per_pack": "mean samples per pack",
        "distribution_change": "change of the domain or language distribution",
    }
)
"""What a manifest should declare: name in the file, and in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Hold one manifest and what it stands for in this run.

    Args:
        name: where it lies, as the report shows it.
        fields: declared values by name of `FIELDS`; those that nobody declared are left out.
        counts: declared `n_packs`, `n_segments`, `n_tokens`, `n_padding`, `n_targets` of the whole set.
        listed: declared counts and `content` of each shard, by index in this run.
        shards: indices of the shards of this run that it stands for, listed or not.
        lists_shards: it lists its shards at all.
        is_whole: all shards that it stands for are in this run.
        tokenizer: version of the tokenizer of this run, or empty.
    """

    name: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    listed: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    shards: frozenset[int] = frozenset()
    lists_shards: bool = False
    is_whole: bool = True
    tokenizer: str = ""

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Names of `FIELDS` that it says nothing of, in their order."""
        return tuple(name for name in FIELDS if name not in self.fields)
