"""Trainers that read Megatron's indexed datasets or were made from Megatron-LM.

`shuffles`: GPTDataset maps samples through a shuffled index (megatron/core/datasets/gpt_dataset.py), as does
NeoX (megatron/data/gpt2_dataset.py); Megatron-Bridge shuffles each epoch (data/packing/gpt_sft.py);
SFTDataset keeps the order of its rows, as does `single`, the default sampler
(training/datasets/data_samplers.py).
"""

from __future__ import annotations

from packlint.model.contract import (
    BoundarySource,
    BoundaryTargets,
    CutPolicy,
    LabelAlignment,
    TrainerContract,
)

__all__ = ["MEGATRON", "megatron", "option_order"]

_OPTIONS = ("reset_position_ids", "reset_attention_mask", "eod_mask_loss")
_GPT_DATASET = "NVIDIA/Megatron-LM megatron/core/datasets/gpt_dataset.py @ d98e8a64dd (2026-08-22)"


def option_order(option: str) -> tuple[int, str]:
    """Sort options as row names list them; options that are not Megatron's go last, by name."""
    return (_OPTIONS.index(option) if option in _OPTIONS else len(_OPTIONS), option)


def megatron(
    *, reset_position_ids: bool = False, reset_attention_mask: bool = False, eod_mask_loss: bool = False
) -> TrainerContract:
    """Return the contract of Megatron-LM's GPTDataset under these options.

    Only `reset_attention_mask` keeps documents apart. `eod_mask_loss` takes the loss off where the *input* is
    the end token, which is the boundary target; the end token itself is still learnt. Positions that restart
    isolate nothing. A pad id that is also a special token is replaced by one that no data holds, so end
    tokens keep their loss (unless `allow_ambiguous_pad_tokens`).
    """
    chosen = [reset_position_ids, reset_attention_mask, eod_mask_loss]
    names = [name for name, on in zip(_OPTIONS, chosen, strict=True) if on]
    return TrainerContract(
        name="megatron-reset" if all(chosen) else "+".join(["megatron", *names]),
        title=f"Megatron-LM GPTDataset, {', '.join(names) or 'defaults: no isolation'}",
        isolates_by=(BoundarySource.BOUNDARY_TOKENS,) if reset_attention_mask else (),
        label_alignment=LabelAlignment.PRESHIFTED,
        reads_loss=False,
        boundary_targets=BoundaryTargets.MASKED if eod_mask_loss else BoundaryTargets.TRAINED,
        cut_policy=CutPolicy.WINDOWS,
        scans_for_end_token=any(chosen),
        is_stream=True,
        shuffles=True,
        source=_GPT_DATASET,
    )


MEGATRON: tuple[TrainerContract, ...] = (
    *(
        megatron(reset_position_ids=positions, reset_attention_mask=mask, eod_mask_loss=loss)
        for positions in (False, True)
        for mask in (False, True)
        for loss in (False, True)
    ),
    TrainerContract(
        name="megatron+inter_document_masking",
        title="Megatron-LM GPTDataset, inter_document_masking: true document lengths, no scan",
        isolates_by=(BoundarySource.CU_SEQLENS, BoundarySource.DOCUMENT_INDEX),
        label_alignment=LabelAlignment.PRESHIFTED,
        reads_loss=False,
        cut_policy=CutPolicy.WINDOWS,
        is_stream=True,
        shuffles=True,
        source=_GPT_DATASET,
    ),
    TrainerContract(
        name="megatron-sft",
        title="Megatron-LM SFTDataset rows: cu_seqlens, loss off where the label is the pad id",
        isolates_by=(BoundarySource.CU_SEQLENS,),
        label_alignment=LabelAlignment.PRESHIFTED,
        masks_padding_by_id=True,
        shuffles=False,
        source="NVIDIA/Megatron-LM megatron/training/datasets/sft_dataset.py @ d98e8a64dd (2026-08-22)",
    ),
    TrainerContract(
        name="megatron-bridge",
        title="Megatron-Bridge and NeMo 2 packed fine-tuning (.idx.parquet, .npy), answer_only_loss",
        isolates_by=(BoundarySource.CU_SEQLENS,),
        label_alignment=LabelAlignment.PRESHIFTED,
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        reads_padding_segments=True,
        extra_slots_per_segment=1,
        shuffles=True,
        source="NVIDIA-NeMo/Megatron-Bridge src/megatron/bridge/data/packing/gpt_sft.py"
        " @ 067f987df (2026-08-22)",
    ),
    TrainerContract(
        name="neox",
        title="GPT-NeoX, one text dataset or a text and a label dataset",
        label_alignment=LabelAlignment.UNSHIFTED,
        cut_policy=CutPolicy.WINDOWS,
        is_stream=True,
        shuffles=True,
        source="EleutherAI/gpt-neox megatron/{training,utils}.py, megatron/data/gpt2_dataset.py"
        " @ ea7aefd8 (2026-05-19)",
    ),
    TrainerContract(
        name="pai-megatron",
        title="Pai-Megatron-Patch idxmap fine-tuning sets, reset_attention_mask on (packed sequences)",
        isolates_by=(BoundarySource.CU_SEQLENS, BoundarySource.BOUNDARY_TOKENS),
        label_alignment=LabelAlignment.PRESHIFTED,
        boundary_targets=BoundaryTargets.TRAINED,
        masks_padding_by_id=True,
        reads_padding_segments=True,
        source="alibaba/Pai-Megatron-Patch megatron_patch/data/utils.py @ a098ca5 (2025-12-15)",
    ),
)
