"""Declared values against measured ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from packlint.model.manifest import Manifest
from packlint.model.spec import TargetPolicy
from packlint.summaries.figures import COUNTS, MASK_TYPES, Figures, ShardFigures

__all__ = ["Contradiction", "Tolerances", "contradictions"]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Report one declared value that does not hold.

    Args:
        name: the value, as the manifest calls it.
        says: what is declared and what was measured, in words.
        shard: index of the shard that it is about, or none for all.
    """

    name: str
    says: str
    shard: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerances:
    """Say how far a declared value may be off.

    Args:
        padding: absolute difference of the padding fraction.
        samples: difference of the mean samples per pack, relative to the measured one.
        boundary: share of boundaries at which the declared token must stand.
    """

    padding: float
    samples: float
    boundary: float


def contradictions(manifest: Manifest, measured: ShardFigures, tolerances: Tolerances) -> list[Contradiction]:
    """Return all declared values that do not hold, fields first, then shard by shard.

    Figures of the whole set are compared only if the whole set is here.
    """
    figures = measured.of(sorted(manifest.shards))
    found = [*_fields(manifest, figures, tolerances)]
    if manifest.is_whole:
        found += _totals(manifest, figures, tolerances)
    for shard in sorted(manifest.shards):
        found += _shard(manifest, measured, shard)
    return found


def _fields(manifest: Manifest, figures: Figures, tolerances: Tolerances) -> Iterator[Contradiction]:
    """Compare what holds for every shard by itself."""
    declared = manifest.fields
    length, n_packs = declared.get("max_seq_len"), figures.counts["n_packs"]
    is_padded_to_less = (
        figures.shortest == figures.longest and figures.counts["n_padding"] > 0 and n_packs > 1
    )
    if length is not None and figures.longest > length:
        says = f"max_seq_len {length:,} (the longest pack has {figures.longest:,} slots)"
        yield Contradiction("max_seq_len", says)
    elif length is not None and is_padded_to_less and figures.longest < length:
        says = f"max_seq_len {length:,} (all packs are padded to {figures.longest:,} slots)"
        yield Contradiction("max_seq_len", says)
    share, tokens = figures.boundary_fraction, declared.get("boundary_tokens")
    if tokens and share is not None and share < tolerances.boundary:
        ids = ", ".join(map(str, tokens))
        yield Contradiction(
            "boundary_tokens", f"boundary token {ids} (stands at {100 * share:.3g} % of the boundaries)"
        )
    kind, said = figures.attention_mask_type, declared.get("attention_mask_type")
    if kind is not None and said in MASK_TYPES and said != kind:
        yield Contradiction("attention_mask_type", f"attention mask {said} (the trainer builds {kind})")
    sees, may = figures.cross_document_attention, declared.get("cross_document_attention")
    if sees is not None and may is not None and sees != may:
        fact = "see each other" if sees else "are kept apart"
        yield Contradiction("cross_document_attention", f"cross_document_attention {may} (samples {fact})")
    rule, trains_all = declared.get("loss_mask_rule"), figures.trains_all
    if rule in set(TargetPolicy) and trains_all is not None and trains_all != (rule == TargetPolicy.ALL):
        fact = "every token is a target" if trains_all else "real tokens are left out"
        yield Contradiction("loss_mask_rule", f"loss mask rule {rule} ({fact})")
    version = declared.get("tokenizer")
    if version is not None and manifest.tokenizer and version != manifest.tokenizer:
        yield Contradiction("tokenizer", f"tokenizer {version} (the one given is {manifest.tokenizer})")


def _totals(manifest: Manifest, figures: Figures, tolerances: Tolerances) -> Iterator[Contradiction]:
    """Compare figures of the whole set."""
    declared, padding = manifest.fields.get("padding_fraction"), figures.padding_fraction
    if declared is not None and padding is not None and abs(declared - padding) > tolerances.padding:
        yield Contradiction("padding_fraction", f"padding_fraction {declared:.4g} (measured {padding:.4g})")
    declared, mean = manifest.fields.get("samples_per_pack"), figures.samples_per_pack
    if declared is not None and mean is not None and abs(declared - mean) > tolerances.samples * mean:
        yield Contradiction("samples_per_pack", f"samples_per_pack {declared:.4g} (measured {mean:.4g})")
    for name in COUNTS:
        declared, count = manifest.counts.get(name), figures.counts[name]
        if declared is not None and declared != count:
            yield Contradiction(name, f"{name} {declared:,} (counted {count:,})")


def _shard(manifest: Manifest, measured: ShardFigures, shard: int) -> Iterator[Contradiction]:
    if shard not in manifest.listed:
        if manifest.lists_shards:
            yield Contradiction("shards", "a shard is not listed", shard)
        return
    declared, entry = manifest.listed[shard], measured.entry(shard)
    differing = [name for name in (*COUNTS, "content") if name in declared and declared[name] != entry[name]]
    if differing == ["content"]:
        yield Contradiction("content", "a shard holds other tokens, or in another order", shard)
    elif differing:
        name = differing[0]
        says = f"{name} of a shard {declared[name]:,} (counted {entry[name]:,})"
        yield Contradiction(name, says, shard)
