"""What a trainer does with a shard: the type of one row of the table in `packlint.trainers`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "BoundarySource",
    "BoundaryTargets",
    "BoundaryToken",
    "CutPolicy",
    "LabelAlignment",
    "TrainerContract",
]


class BoundarySource(StrEnum):
    """An independent encoding of where samples begin and end."""

    REFERENCE = "reference"
    SEQ_LENS = "seq_lens"
    CU_SEQLENS = "cu_seqlens"
    DOCUMENT_INDEX = "document_index"
    ROWS = "rows"
    SEGMENT_IDS = "segment_ids"
    ATTENTION_MASK = "attention_mask"
    DENSE_MASK = "dense_mask"
    SAMPLE_IDS = "sample_ids"
    POSITION_IDS = "position_ids"
    BOUNDARY_TOKENS = "boundary_tokens"

    @property
    def is_explicit(self) -> bool:
        """Whether a producer wrote it down, rather than it being read out of positions or tokens."""
        return self not in (BoundarySource.POSITION_IDS, BoundarySource.BOUNDARY_TOKENS)


class LabelAlignment(StrEnum):
    """On which token a stored label or loss mask sits.

    `unshifted`: the value at *j* is about token *j* (the trainer shifts).
    `preshifted`: the value at *i* is about token *i + 1* (the trainer does not shift).
    """

    UNSHIFTED = "unshifted"
    PRESHIFTED = "preshifted"


class BoundaryTargets(StrEnum):
    """What the trainer does with a target that would be predicted from another sample."""

    MASKED = "masked"
    TRAINED = "trained"
    IMPOSSIBLE = "impossible"


class CutPolicy(StrEnum):
    """Whether the packer keeps samples whole.

    `whole`: a segment is a whole sample, or the head of one that filled a pack by itself.
    `fragments`: samples may be cut anywhere and go on in another pack.
    `windows`: the stream of all samples is cut every `max_seq_len` tokens.
    """

    WHOLE = "whole"
    FRAGMENTS = "fragments"
    WINDOWS = "windows"


class BoundaryToken(StrEnum):
    """Which special token the producer puts between samples.

    `loader`: none is stored, because the trainer's loader puts them in when it reads.
    """

    END = "end"
    BEGIN = "begin"
    NONE = "none"
    LOADER = "loader"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerContract:
    """State how one trainer reads a packed shard.

    Args:
        name: what `--trainer` takes.
        title: the program and the versions or options for which this holds.
        isolates_by: sources from which it builds its attention mask, best first; the first one that the
            shard holds decides. Empty: plain causal attention over the whole pack.
        mask_overrides_positions: an all-ones two-dimensional `attention_mask` beside the positions
            switches position-based isolation off.
        label_alignment: where it expects labels and loss masks to sit.
        reads_loss: it reads stored labels or loss masks at all (else every real token is a target).
        predicts_tokens: its loss can ask for these tokens at all; encoder inputs are never predicted.
        reads_mask_columns: it reads a loss mask that stands in a column of its own, without labels.
        boundary_targets: what becomes of a target at the first token of a segment.
        cut_policy: how its packer treats samples that do not fit.
        boundary_token: what its packer puts between samples, if it always does.
        scans_for_end_token: it finds boundaries by scanning for the end token.
        masks_padding_by_id: it takes padding out of the loss by comparing ids with `pad_id`, so that end
            tokens of the same id lose their loss.
        positions_continue: a cut sample goes on counting in its next segment.
        reads_padding_segments: padding that is recorded as segments becomes samples in its mask.
        extra_slots_per_pack: slots by which its packs exceed `max_seq_len`.
        extra_slots_per_segment: slots by which they exceed it for each segment.
        is_stream: the shard is a stream of documents that the trainer packs when it reads.
        packs_at_read: rows on disk are single samples, or pairs; the trainer packs them into batches.
        prompt_slack_tokens: tokens at the end of the prompt in which the sides of a pair may differ, as a
            tokenizer merges them with the answer.
        shuffles: unless told otherwise it reads packs in a random order, so that the stored order trains
            nothing; false where it reads them as they stand; none where nobody knows, or options decide.
        source: where this was read.
    """

    name: str
    title: str
    isolates_by: tuple[BoundarySource, ...] = ()
    mask_overrides_positions: bool = False
    label_alignment: LabelAlignment = LabelAlignment.UNSHIFTED
    reads_loss: bool = True
    reads_mask_columns: bool = True
    predicts_tokens: bool = True
    boundary_targets: BoundaryTargets = BoundaryTargets.TRAINED
    cut_policy: CutPolicy = CutPolicy.WHOLE
    boundary_token: BoundaryToken = BoundaryToken.NONE
    scans_for_end_token: bool = False
    masks_padding_by_id: bool = False
    positions_continue: bool = False
    reads_padding_segments: bool = False
    extra_slots_per_pack: int = 0
    extra_slots_per_segment: int = 0
    is_stream: bool = False
    packs_at_read: bool = False
    prompt_slack_tokens: int = 0
    shuffles: bool | None = None
    source: str = ""
