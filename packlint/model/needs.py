"""What a rule may need, and how a batch answers when it does not have it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from packlint.model.batch import MaskKind, PackBatch, PaddingEvidence, Unit

__all__ = ["Need", "missing", "unmet_needs"]


class Need(StrEnum):
    """Something that must be present or known before a rule can say anything."""

    PACKS = "packs"
    TARGETS = "targets"
    LABEL_IDS = "label_ids"
    WEIGHTS = "weights"
    SEGMENTS = "segments"
    EXPLICIT_BOUNDARIES = "explicit_boundaries"
    POSITION_IDS = "position_ids"
    PADDING = "padding"
    PADDING_STRUCTURE = "padding_structure"
    DENSE_MASK = "dense_mask"
    STORED_MASK = "stored_mask"
    TRAINER = "trainer"
    PAD_ID = "pad_id"
    BOS_ID = "bos_id"
    EOS_IDS = "eos_ids"
    END_IDS = "end_ids"
    VOCAB_SIZE = "vocab_size"
    MAX_SEQ_LEN = "max_seq_len"
    ROLES = "roles"


def _no_chat(batch: PackBatch) -> str:
    why = batch.shard.no_chat
    return f"no chat format is known: {why}" if why else "no chat format is known; give --tokenizer or [chat]"


def _no_packs(batch: PackBatch) -> str:
    if batch.shard.unit is Unit.PAIR:
        return "rows are pairs of samples, not packs: the trainer reads each side as a sequence of its own"
    return "rows are not packs: the trainer packs them when it reads; give [spec] max_seq_len for a stream"


_REASONS: dict[Need, tuple[Callable[[PackBatch], bool], str | Callable[[PackBatch], str]]] = {
    Need.PACKS: (lambda b: b.shard.unit is Unit.PACK, _no_packs),
    Need.TARGETS: (
        lambda b: b.loss_weight is not None,
        "the shard stores no labels and no loss mask",
    ),
    Need.LABEL_IDS: (lambda b: b.label_ids is not None, "the shard stores no label ids"),
    Need.WEIGHTS: (lambda b: b.loss_weight is not None, "the shard stores no loss weights"),
    Need.SEGMENTS: (lambda b: b.segment_source is not None, "nothing records where samples begin"),
    Need.EXPLICIT_BOUNDARIES: (
        lambda b: any(source.is_explicit for source in b.boundaries),
        "no explicit record of boundaries (lengths, offsets, segment ids or a document index)",
    ),
    Need.POSITION_IDS: (lambda b: b.position_ids is not None, "the shard stores no position_ids"),
    Need.PADDING: (
        lambda b: b.padding_evidence is not PaddingEvidence.UNKNOWN,
        "nothing tells padding from tokens; give [spec] pad_id",
    ),
    Need.PADDING_STRUCTURE: (
        lambda b: b.padding_evidence is PaddingEvidence.STRUCTURE,
        "padding is known by its id only, not by a mask, length or segment id",
    ),
    Need.DENSE_MASK: (lambda b: b.dense_mask is not None, "the shard stores no query-by-key mask"),
    Need.STORED_MASK: (
        lambda b: b.mask_kind is not MaskKind.NONE,
        "the shard stores no attention mask",
    ),
    Need.TRAINER: (lambda b: b.shard.contract is not None, "no trainer is known; give --trainer NAME"),
    Need.PAD_ID: (lambda b: b.spec.pad_id is not None, "unknown; give [spec] pad_id or --tokenizer"),
    Need.BOS_ID: (lambda b: b.spec.bos_id is not None, "unknown; give [spec] bos_id or --tokenizer"),
    Need.EOS_IDS: (lambda b: b.spec.eos_ids is not None, "unknown; give [spec] eos_ids or --tokenizer"),
    Need.END_IDS: (
        lambda b: bool(b.spec.end_ids),
        "no end token is known; give [spec] eos_ids or --tokenizer",
    ),
    Need.VOCAB_SIZE: (
        lambda b: b.spec.vocab_size is not None,
        "unknown; give [spec] vocab_size or --tokenizer",
    ),
    Need.MAX_SEQ_LEN: (lambda b: b.spec.max_seq_len is not None, "unknown; give [spec] max_seq_len"),
    Need.ROLES: (lambda b: b.shard.chat is not None, _no_chat),
}


def unmet_needs(batch: PackBatch) -> dict[Need, str]:
    """Return all that the batch does not have, with the reason."""
    return {need: reason for need in Need if (reason := missing(batch, need)) is not None}


def missing(batch: PackBatch, need: Need) -> str | None:
    """Return why the batch cannot answer, or none when it can."""
    present, reason = _REASONS[need]
    if present(batch):
        return None
    return f"{need.value}: {reason if isinstance(reason, str) else reason(batch)}"
