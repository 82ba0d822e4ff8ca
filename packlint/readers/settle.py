"""Observations + what was declared → the `Reading` of a shard, each value with its origin."""

from __future__ import annotations

from dataclasses import replace

from packlint.model.batch import MaskKind, ShardContext, Unit
from packlint.model.contract import BoundarySource, LabelAlignment, TrainerContract
from packlint.model.labels import OFFSETS
from packlint.model.markers import ChatMarkers
from packlint.model.spec import DatasetSpec, Known, Origin, Policy
from packlint.readers.observe import Observations
from packlint.readers.reading import Reading
from packlint.readers.shard import Layout, PaddingMark, Role

__all__ = ["detected_spec", "settle"]

_MIN_LABELS = 3
_MIN_SHARE = 0.8
_MAX_RIVAL_SHARE = 0.5
_MIN_ENDS = 8
_MIN_END_SHARE = 0.98
_MAX_STRAY_ENDS = 0.5
_MIN_ROWS = 2


def settle(
    *,
    name: str,
    index: int,
    layout: Layout,
    declared: DatasetSpec,
    seen: Observations,
    contract: TrainerContract | None,
    policy: Policy,
    chat: ChatMarkers | None = None,
) -> Reading:
    """Return how the shard is read.

    Args:
        name: name of the shard in the report.
        index: its place among all shards.
        layout: its columns.
        declared: what config, tokenizer and format say.
        seen: what a few rows of shards of this layout show.
        contract: the trainer's contract, or none.
        policy: what was wanted.
        chat: how a chat is written in ids, or none.
    """
    spec = declared.or_else(detected_spec(layout, seen))
    layout = _with_lengths(_with_nothing(layout, seen), seen)
    context = ShardContext(
        name=name,
        index=index,
        unit=layout.unit,
        spec=spec,
        contract=contract,
        policy=policy,
        has_sample_ids=Role.SAMPLE_IDS in layout.columns,
        chat=None if chat is None else _with_text_ends(chat, spec),
        shares_prompts=layout.pairs is not None and bool(layout.pairs.prompt),
    )
    return Reading(
        layout=layout,
        context=context,
        mask_kind=_mask_kind(layout, seen, contract),
        positions_restart=seen.n_restarts > 0,
    )


def _with_text_ends(chat: ChatMarkers, spec: DatasetSpec) -> ChatMarkers:
    """Let the tokens that end and begin a text end turns too: a packer adds them around a chat."""
    eos_ids = spec.eos_ids.value if spec.eos_ids else ()
    return chat.with_text_ends(eos_ids, spec.bos_id.value if spec.bos_id else None)


def detected_spec(layout: Layout, seen: Observations) -> DatasetSpec:
    """Return what a few rows tell; nothing that is less than plain is claimed."""
    return DatasetSpec(
        label_alignment=_alignment(layout, seen),
        eos_ids=_end_ids(seen),
        pad_id=_pad_id(seen),
        max_seq_len=None if layout.unit is Unit.PAIR else _row_length(seen),
    )


def _with_nothing(layout: Layout, seen: Observations) -> Layout:
    """Settle which segment id means padding, where the producer is not known or may not pad at all."""
    low = seen.min_segment_id
    if low is None:
        return layout
    nothing = layout.nothing
    if layout.trainer is None and (low < 0 or seen.n_zero_based):
        nothing = -1  # ids count from 0, so 0 is the first sample
    padding = layout.padding
    if padding is PaddingMark.UNKNOWN and low == nothing:
        padding = PaddingMark.SEGMENT_ID
    elif padding is PaddingMark.SEGMENT_ID and nothing == -1 < low and layout.trainer is None:
        padding = PaddingMark.UNKNOWN
    return replace(layout, nothing=nothing, padding=padding)


def _with_lengths(layout: Layout, seen: Observations) -> Layout:
    """Settle whether lengths count the padding, where the producer is not known but a mask tells."""
    if layout.trainer is None and seen.n_lengths_leave_padding > seen.n_lengths_cover_padding:
        return replace(layout, lengths_cover_padding=False)
    return layout


def _alignment(layout: Layout, seen: Observations) -> Known[LabelAlignment] | None:
    if not seen.has_loss:
        return None
    here, after = seen.matches[OFFSETS.index(0)], seen.matches[OFFSETS.index(1)]
    n = seen.n_live
    if n >= _MIN_LABELS:
        for value, match, rival, which in (
            (LabelAlignment.UNSHIFTED, here, after, "their own token"),
            (LabelAlignment.PRESHIFTED, after, here, "the next token"),
        ):
            if match / n >= _MIN_SHARE and rival / n <= _MAX_RIVAL_SHARE:
                return Known(value, Origin.DETECTED, f"live labels equal {which}")
    return Known(layout.alignment, Origin.FORMAT, f"what {layout.producer} writes")


def _end_ids(seen: Observations) -> Known[tuple[int, ...]] | None:
    """Detect the end id: it ends all segments and occurs nowhere else; or see that there is none."""
    if seen.n_ends < _MIN_ENDS:
        return None
    token, count = max(seen.last_ids.items(), key=lambda item: (item[1], -item[0]))
    share = count / seen.n_ends
    if share >= _MIN_END_SHARE and seen.id_counts[token] <= count + seen.n_rows:
        why = f"id {token} ends the segments and stands nowhere else inside them"
        return Known((token,), Origin.DETECTED, why)
    if share <= _MAX_STRAY_ENDS and seen.n_ends >= 2 * _MIN_ENDS:
        return Known((), Origin.DETECTED, "no id ends the segments: their last tokens differ")
    return None


def _pad_id(seen: Observations) -> Known[int] | None:
    if not seen.tail_ids:
        return None
    token, count = max(seen.tail_ids.items(), key=lambda item: (item[1], -item[0]))
    if count < sum(seen.tail_ids.values()):
        return None
    return Known(token, Origin.DETECTED, "fills the tails of packs at position 0")


def _row_length(seen: Observations) -> Known[int] | None:
    if len(seen.row_lengths) != 1 or seen.n_rows < _MIN_ROWS:
        return None
    length = next(iter(seen.row_lengths))
    return Known(length, Origin.DETECTED, f"all packs seen have {length} slots")


def _mask_kind(layout: Layout, seen: Observations, contract: TrainerContract | None) -> MaskKind:
    if Role.DENSE_MASK in layout.columns:
        return MaskKind.DENSE
    if Role.ATTENTION_MASK not in layout.columns or seen.mask_values is None:
        return MaskKind.NONE
    only_the_mask = contract is not None and contract.isolates_by == (BoundarySource.ATTENTION_MASK,)
    return MaskKind.NUMBERED if only_the_mask or seen.mask_values[1] > 1 else MaskKind.BINARY
