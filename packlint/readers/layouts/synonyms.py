"""Known names of each role, most specific first; the first is packlint's own."""

from __future__ import annotations

from collections.abc import Mapping

from packlint.readers.layouts.kinds import ColumnKind, Element
from packlint.readers.shard import Role

__all__ = ["LOOSE_NAMES", "MINUS_ONE_NAMES", "ROLE_NAMES", "SYNONYMS", "TRL_MASKS", "fits"]

SYNONYMS: Mapping[Role, tuple[str, ...]] = {
    Role.INPUT_IDS: ("input_ids", "tokens", "token_ids", "inputs", "text"),
    Role.LABELS: ("labels", "label_ids", "targets"),
    Role.LOSS_MASK: (
        "loss_mask",
        "loss_weight",
        "loss_weights",
        "loss_scale",
        "label_mask",
        "labels_mask",
        "completion_mask",
        "assistant_masks",
        "assistant_mask",
    ),
    Role.LABEL_SEGMENT_IDS: (
        "label_segment_ids",
        "targets_segmentation",
        "targets_segment_ids",
    ),
    Role.SEQ_LENS: ("seq_lens", "seq_lengths", "packed_seq_lengths", "doc_lens"),
    Role.CU_SEQLENS: (
        "cu_seqlens",
        "cu_seqlens_q",
        "cu_seq_lens",
        "cu_seq_lens_q",
        "cumulative_len",
    ),
    Role.SEGMENT_STARTS: ("segment_starts", "seq_start_id"),
    Role.DOCUMENT_STARTS: ("document_starts",),
    Role.SEGMENT_IDS: (
        "segment_ids",
        "inputs_segmentation",
        "inputs_segment_ids",
        "segmentation",
        "seq_idx",
        "sequence_id",
    ),
    Role.ATTENTION_MASK: ("attention_mask",),
    Role.DENSE_MASK: ("dense_mask", "attention_mask"),
    Role.POSITION_IDS: (
        "position_ids",
        "input_pos",
        "positions",
        "inputs_position",
        "inputs_positions",
    ),
    Role.SAMPLE_IDS: ("sample_ids", "sample_id", "document_ids", "doc_ids", "document_id", "doc_id", "id"),
}

ROLE_NAMES = frozenset(name for names in SYNONYMS.values() for name in names)

TRL_MASKS = ("completion_mask", "assistant_masks")
"""Loss masks of TRL before 1.0, whose collator trains where both are 1."""

MINUS_ONE_NAMES = frozenset({"seq_idx", "sequence_id"})
"""Segment ids that count from 0, so that only -1 can mean padding (transformers, llm-foundry)."""

LOOSE_NAMES = frozenset({"text", "tokens", "inputs", "targets", *SYNONYMS[Role.SAMPLE_IDS]})
"""Names that often hold something else; of another kind they are simply not ours, rather than damaged."""

_WHOLE = frozenset({Element.INT})
_FLAGS = frozenset({Element.INT, Element.BOOL})
_WEIGHTS = frozenset({Element.INT, Element.BOOL, Element.FLOAT})
_ELEMENTS: Mapping[Role, frozenset[Element]] = {
    Role.LOSS_MASK: _WEIGHTS,
    Role.ATTENTION_MASK: _FLAGS,
    Role.DENSE_MASK: _FLAGS,
}
_AXES: Mapping[Role, frozenset[int]] = {
    Role.DENSE_MASK: frozenset({2, 3}),
    Role.SAMPLE_IDS: frozenset({0, 1}),
}


def fits(role: Role, kind: ColumnKind) -> bool:
    """Tell whether a column of this kind can play the role."""
    if kind.ndim not in _AXES.get(role, {1}):
        return False
    # A list column whose every row is empty has no element type of its own.
    return kind.element in _ELEMENTS.get(role, _WHOLE) or (kind.element is Element.NULL and kind.ndim > 0)
