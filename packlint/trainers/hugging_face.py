"""Trainers that hand batches to a model of Hugging Face transformers by its own collators.

`shuffles`: `Trainer._get_train_sampler` draws rows at random (transformers/trainer.py @ 5.24.0; streamed data
sets are read as they stand), which TRL and Unsloth inherit; open-instruct passes `shuffle=True`
(open_instruct/finetune.py @ e6c3044aa). For batches as the model gets them the loop around it decides.
"""

from __future__ import annotations

from packlint.model.contract import BoundarySource, BoundaryTargets, CutPolicy, TrainerContract

__all__ = ["HUGGING_FACE"]

_TRL = "huggingface/trl trl/trainer/sft_trainer.py, trl/data_utils.py"
_ATTENTION = "transformers/masking_utils.py, modeling_flash_attention_utils.py @ 5.24.0"

HUGGING_FACE: tuple[TrainerContract, ...] = (
    TrainerContract(
        name="trl",
        title="TRL 1.7 and later, packing bfd or bfd_split: loss from labels, mask columns ignored",
        isolates_by=(BoundarySource.SEQ_LENS,),
        reads_mask_columns=False,
        boundary_targets=BoundaryTargets.MASKED,
        reads_padding_segments=True,
        shuffles=True,
        source=f"{_TRL} @ v1.7.0 to v1.9.0 and f2cd57710 (2026-07-24)",
    ),
    TrainerContract(
        name="trl-0",
        title="TRL 0.24 to 1.6, packing bfd: completion_mask and assistant_masks honoured",
        isolates_by=(BoundarySource.SEQ_LENS,),
        boundary_targets=BoundaryTargets.MASKED,
        reads_padding_segments=True,
        shuffles=True,
        source=f"{_TRL} @ v0.24.0 to v1.6.0",
    ),
    TrainerContract(
        name="trl-0-early",
        title="TRL 0.20 to 0.23, packing bfd: mask columns honoured, boundary targets trained",
        isolates_by=(BoundarySource.SEQ_LENS,),
        reads_padding_segments=True,
        shuffles=True,
        source=f"{_TRL} @ v0.20.0 to v0.23.0",
    ),
    TrainerContract(
        name="trl-ffd",
        title="TRL 0.19, packing ffd: boundaries in a position_ids column",
        isolates_by=(BoundarySource.POSITION_IDS,),
        reads_padding_segments=True,
        shuffles=True,
        source=f"{_TRL} @ v0.19.0 and v0.19.1",
    ),
    TrainerContract(
        name="trl-wrapped",
        title="TRL, packing wrapped: one stream cut every max_length tokens, no isolation",
        cut_policy=CutPolicy.WINDOWS,
        shuffles=True,
        source=f"{_TRL} @ v1.9.0",
    ),
    TrainerContract(
        name="trl-dpo",
        title="TRL DPO 0.12 and later, rows of a pair: each side a sequence of its own, loss on completions",
        isolates_by=(BoundarySource.ROWS,),
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        packs_at_read=True,
        shuffles=True,
        source="huggingface/trl trl/trainer/dpo_trainer.py @ v0.12.0 to v1.9.0 and f2cd57710 (2026-07-24)",
    ),
    TrainerContract(
        name="trl-orpo",
        title="TRL DPO before 0.12, ORPO and CPO, rows of a pair: each side a sequence, loss from labels",
        isolates_by=(BoundarySource.ROWS,),
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        packs_at_read=True,
        prompt_slack_tokens=1,
        shuffles=True,
        source="huggingface/trl trl/trainer/dpo_trainer.py @ v0.11.4,"
        " trl/experimental/{orpo/orpo,cpo/cpo}_trainer.py @ f2cd57710 (2026-07-24)",
    ),
    TrainerContract(
        name="trl-reward",
        title="TRL reward model, rows of a pair: each side a sequence of its own, scored and not predicted",
        isolates_by=(BoundarySource.ROWS,),
        reads_loss=False,
        predicts_tokens=False,
        boundary_targets=BoundaryTargets.IMPOSSIBLE,
        packs_at_read=True,
        shuffles=True,
        source="huggingface/trl trl/trainer/reward_trainer.py @ v0.11.4 to v1.9.0",
    ),
    TrainerContract(
        name="transformers",
        title="transformers causal models on batches as stored: positions count only without attention_mask",
        isolates_by=(BoundarySource.DENSE_MASK, BoundarySource.POSITION_IDS),
        mask_overrides_positions=True,
        reads_padding_segments=True,
        source=f"huggingface/transformers {_ATTENTION}",
    ),
    TrainerContract(
        name="transformers-flattening",
        title="batches of DataCollatorWithFlattening or TRL's padding-free collator, as the model gets them",
        isolates_by=(BoundarySource.CU_SEQLENS, BoundarySource.POSITION_IDS),
        boundary_targets=BoundaryTargets.MASKED,
        reads_padding_segments=True,
        source=f"huggingface/transformers transformers/data/data_collator.py, {_ATTENTION}",
    ),
    TrainerContract(
        name="transformers-flattening-rows",
        title="rows of one sample, flattened by DataCollatorWithFlattening, which makes new positions",
        isolates_by=(BoundarySource.ROWS,),
        boundary_targets=BoundaryTargets.MASKED,
        packs_at_read=True,
        source="huggingface/transformers transformers/data/data_collator.py @ 5.24.0",
    ),
    TrainerContract(
        name="unsloth",
        title="Unsloth with TRL packing: seq_lengths; boundary targets masked in the forward pass",
        isolates_by=(BoundarySource.SEQ_LENS, BoundarySource.POSITION_IDS),
        boundary_targets=BoundaryTargets.MASKED,
        reads_padding_segments=True,
        shuffles=True,
        source="unslothai/unsloth unsloth/utils/packing.py @ 015bdef0d9 (2026-08-22)",
    ),
    TrainerContract(
        name="open-instruct",
        title="open-instruct fine-tuning with packing: rows of one sample, flattened with seq_idx",
        isolates_by=(BoundarySource.CU_SEQLENS, BoundarySource.ROWS),
        boundary_targets=BoundaryTargets.MASKED,
        packs_at_read=True,
        shuffles=True,
        source="allenai/open-instruct open_instruct/padding_free_collator.py @ e6c3044aa (2026-08-20)",
    ),
)
